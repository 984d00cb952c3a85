/**
 * Writes a decision record as a line of the log. Callers choose much of a record's content, so a line is bounded: parts
 * that would be too long are omitted, and the record says so (`cut`). Also writes a record as a line for people.
 */
import { randomFillSync } from 'node:crypto'
import { printable } from '../present/quote.ts'
import { type AskedRecord, cutName, type DecisionRecord, isOfRequest } from './decision-record.ts'

/** In characters, of a record or of one question in it. */
const LONGEST = 64 * 1024

/** In characters, of the questions of a batch that are kept whole. */
const LONGEST_BATCH = 512 * 1024

/** Line ends of other readers than JSON's (U+0085, U+2028, U+2029), and codes that a terminal obeys (C1 controls). */
const LOUD = /[\u007f-\u009f\u2028\u2029]/g

/** In characters; a commitment fits in the place of a salt and the shortest part. */
const SALT_LENGTH = 32
const SALTS_BYTES = (2 * SALT_LENGTH * 3) / 4

/** A call for random bytes costs as much as the line, so one is for many. */
const SALTS = Buffer.alloc(128 * SALTS_BYTES)
let usedSalts = SALTS.length

/** JSON, without the end of the line. What is personal comes last, in two parts with their seals (sealed-line.ts). */
export function recordLine(record: DecisionRecord): string {
  const { facts, asked, address, subject, credential, signedIn } = record
  const open = JSON.stringify(openPart(record))
  const who = JSON.stringify({ address, subject, credential, signedIn } satisfies MembersOf<Who>)
  const knownMembers: MembersOf<Known> = {
    parent: record.parent,
    objectId: record.objectId,
    searched: record.searched,
    expanded: record.expanded,
    along: record.along,
    migrated: record.migrated,
    arguments: record.arguments,
    facts,
  }
  const known = JSON.stringify(knownMembers)
  // Only the facts of a single decision can be long: all lists of other objects have a bound of their number.
  const isCut = facts !== undefined && open.length + who.length + known.length > LONGEST
  const questions = asked ? `,"asked":[${askedTexts(asked).join(',')}]` : ''
  const told = `${commaBefore(isCut ? JSON.stringify({ ...knownMembers, facts: undefined }) : known)}${questions}`
  if (usedSalts === SALTS.length) {
    randomFillSync(SALTS)
    usedSalts = 0
  }
  const salts = SALTS.toString('base64url', usedSalts, usedSalts + SALTS_BYTES)
  usedSalts += SALTS_BYTES
  const sealed = who === '{}' ? '' : `,"sealed":"${salts.slice(0, SALT_LENGTH)}"${commaBefore(who)}`
  const sealedFacts = told === '' ? '' : `,"sealedFacts":"${salts.slice(SALT_LENGTH)}"${told}`
  return quiet(`${open.slice(0, -1)}${isCut ? ',"cut":true' : ''}${sealed}${sealedFacts}}`)
}

// ---- The three parts of a line. Each names all its members: to copy a record's remaining members took longer than to
// write the line.

type Who = 'address' | 'subject' | 'credential' | 'signedIn'
type Known = 'parent' | 'objectId' | 'searched' | 'expanded' | 'along' | 'migrated' | 'arguments' | 'facts'
/** Only lines have them. */
type OfLine = 'asked' | 'cut' | 'sealed' | 'sealedFacts' | 'erased' | 'erasedFacts'

type MembersOf<Name extends keyof DecisionRecord> = { readonly [N in Name]-?: DecisionRecord[N] | undefined }

function openPart(record: DecisionRecord): MembersOf<Exclude<keyof DecisionRecord, Who | Known | OfLine>> {
  const part = {
    record: 'decision',
    time: record.time,
    requestId: record.requestId,
    traceId: record.traceId,
    batch: record.batch,
    instance: record.instance,
    revision: record.revision,
    method: record.method,
    forwarded: record.forwarded,
    route: record.route,
    resource: record.resource,
    action: record.action,
    roles: record.roles,
    rolesLost: record.rolesLost,
    grants: record.grants,
    breakGlass: record.breakGlass,
    authentication: record.authentication,
    reason: record.reason,
    outcome: record.outcome,
    problem: record.problem,
    relations: record.relations,
    rules: record.rules,
    fieldsRefused: record.fieldsRefused,
    can: record.can,
    aggregate: record.aggregate,
    version: record.version,
    settings: record.settings,
    previous: record.previous,
    delivered: record.delivered,
    followed: record.followed,
    lost: record.lost,
    status: record.status,
    microseconds: record.microseconds,
    repeated: record.repeated,
    write: record.write,
  }
  return part
}

/** The members of an object, to be added to another one. */
function commaBefore(json: string): string {
  return json === '{}' ? '' : `,${json.slice(1, -1)}`
}

/** Many questions may share their facts, which are then written once. */
function askedTexts(asked: readonly AskedRecord[]): readonly string[] {
  const written = new Map<string, number>()
  let left = LONGEST_BATCH
  return asked.map((one, place) => {
    const text = left > 0 ? askedText(one, place, written) : undefined
    const kept = text !== undefined && text.length <= LONGEST ? text : JSON.stringify(brief(one))
    left -= kept.length
    return kept
  })
}

function askedText({ facts, ...rest }: AskedRecord, place: number, written: Map<string, number>): string {
  const text = JSON.stringify(rest)
  if (!facts) return text
  const own = JSON.stringify(facts)
  const first = written.getOrInsert(own, place)
  return `${text.slice(0, -1)},${first === place ? `"facts":${own}` : `"factsOf":${first}`}}`
}

/** What an auditor needs at least of a question whose record would be too long. */
function brief({ subjectType, subject, resource, objectId, action, decision, reason }: AskedRecord): AskedRecord {
  return {
    subjectType: shortName(subjectType),
    subject: shortName(subject),
    resource: shortName(resource),
    objectId: shortName(objectId),
    action: shortName(action),
    decision,
    reason,
    cut: true,
  }
}

function shortName(name: string | undefined): string | undefined {
  return name === undefined ? undefined : cutName(name)
}

const RECORD = /^\{"record":"decision",.*\}$/

/** The record of a write with its number in the outbox; `line` is a line of recordLine, or a damaged one. */
export function withSequence(line: string, sequence: number): string {
  if (!RECORD.test(line)) return quiet(`{"damaged":${JSON.stringify(line)},"write":${sequence}}`)
  return `${line.slice(0, -1)},"write":${sequence}}`
}

/** Such a character occurs only inside a JSON string, where its escape means the same. */
function quiet(json: string): string {
  // Most records are in ASCII, where only U+007F must be escaped; this check takes a fifth of the time of the search.
  if (Buffer.byteLength(json) === json.length && !json.includes('\u007f')) return json
  return json.replace(LOUD, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** A decision record as a line for people. */
export function recordText(record: DecisionRecord): string {
  if (!isOfRequest(record)) return deedText(record)
  const {
    time,
    status,
    outcome,
    method,
    route = '(no route)',
    parent,
    objectId,
    problem,
    rules = [],
    relations = [],
  } = record
  const parts = [
    time,
    `${status}`,
    outcome.padEnd('refused'.length),
    method.padEnd('OPTIONS'.length),
    route,
    ...(parent === undefined ? [] : [`in ${parent.objectId}`]),
    ...(objectId === undefined ? [] : [objectId]),
    whoOf(record),
    ...(problem === undefined ? [] : [problem]),
    ...(relations.length === 0 ? [] : [relations.join('+')]),
    ...(record.fieldsRefused ? [`fields refused: ${record.fieldsRefused.join(', ')}`] : []),
    rules.length === 0 ? 'no rule' : rules.join(' '),
    record.requestId,
  ]
  return printable(parts.join('  '))
}

function deedText(record: DecisionRecord): string {
  const { time, status, outcome, method, action = '', arguments: typed = [], subject, requestId } = record
  const { resource, version, previous, revision, delivered, followed, lost, problem, reason } = record
  const parts = [
    time,
    `${status}`,
    outcome.padEnd('refused'.length),
    method.padEnd('OPTIONS'.length),
    [action, ...typed].join(' '),
    ...(resource === undefined ? [] : [resource]),
    ...(subject === undefined ? [] : [subject]),
    ...(version === undefined ? [] : [`version ${version}`]),
    ...(previous === undefined ? [] : [`${previous} -> ${revision}`]),
    ...(delivered
      ? [`${delivered.events} events up to ${delivered.last} to ${delivered.subscription} (${delivered.to})`]
      : []),
    ...(followed ? [`ended: ${followed.end}`, `${followed.events} events in ${followed.seconds} s`] : []),
    ...(problem === undefined ? [] : [problem]),
    ...(reason === undefined ? [] : [reason]),
    ...(lost === undefined ? [] : [`${lost} records`]),
    requestId,
  ]
  return printable(parts.join('  '))
}

function whoOf(record: DecisionRecord): string {
  const { authentication, subject, roles = [], rolesLost = [], credential, breakGlass } = record
  const by = credential === undefined ? '' : ` by ${credential}`
  if (authentication === 'rejected')
    return subject === undefined ? 'bad credentials' : `${subject} (credential refused)${by}`
  const lost = rolesLost.length === 0 ? '' : `, without ${rolesLost.join(', ')}, which must stay apart`
  const glass = breakGlass === undefined ? '' : `, by break-glass ${breakGlass}`
  return subject === undefined ? 'anonymous' : `${subject} (${roles.join(', ') || 'no role'}${lost}${glass})${by}`
}
