/** Everybody by resource and action, for a review of access, with findings about people, keys, roles and rules. */
import { createHash } from 'node:crypto'
import { byText } from '../../base/by-text.ts'
import { timeText } from '../../base/time.ts'
import type { Caller } from '../../decide/caller.ts'
import { isBlocked } from '../../decide/decide.ts'
import { inheritedBy } from '../../decide/policy.ts'
import type { DecisionRecord } from '../../decision-log/decision-record.ts'
import { revisionOf } from '../../policy/policy-files.ts'
import type { Resources } from '../../resources/resource.ts'
import type { ApiKey, Person } from '../../store/directory.ts'
import type { LoadedPolicy } from '../load-policy.ts'
import type { AccessOpened } from './granted-roles.ts'
import { type AccessProgress, ObjectsInMemory } from './objects-in-memory.ts'
import { type ActionOf, CallersReach, leftOutOf, type OfReport } from './of.ts'
import { callersOfToday } from './people-and-keys.ts'

export interface AccessReportQuestion {
  readonly reviewed: LoadedPolicy
  readonly resources: Resources
  readonly opened: AccessOpened
  readonly now: number
  /** The records of the decision log, as often as they are asked for; undefined without a log. */
  readonly records: (() => AsyncIterable<DecisionRecord>) | undefined
  readonly progress: AccessProgress
}

export interface AccessReport {
  readonly at: string
  readonly revision: string
  /** Of who may do what, whatever the objects: a review names the report by it. */
  readonly digest: string
  readonly rows: readonly AccessRow[]
  readonly findings: readonly AccessFinding[]
  readonly leftOut: OfReport['leftOut']
  readonly undecided: readonly (OfReport['undecided'][number] & { readonly subject: string })[]
}

interface AccessFinding {
  readonly code: 'out-with-rules' | 'rule-without-person' | 'key-never-used' | 'role-without-holder' | 'role-never-used'
  /** A person, `key <id>`, or a role. */
  readonly about: string
  readonly message: string
}

/** Throws what the store throws, and ToolError. */
export async function accessReport(question: AccessReportQuestion): Promise<AccessReport> {
  const { reviewed, opened, now, progress } = question
  const people = await opened.directory.people()
  const isOut = ({ id, account }: Person) => account?.disabled === true || isBlocked(reviewed.blocked, id, now)
  const { out = [], working = [] } = Object.groupBy(people, (one) => (isOut(one) ? 'out' : 'working'))
  const all = await callersOfToday(question)
  const ofKeys = all.flatMap(({ caller, key }) => (key === null ? [] : [caller]))
  const callers = all.filter(({ caller }) => !isBlocked(reviewed.blocked, caller.id, now))
  const objects = await ObjectsInMemory.read(question, [reviewed.policy])
  const reach = new CallersReach(question, objects)
  progress.begin('deciding', callers.length)
  const rows: AccessRow[] = []
  const undecided: AccessReport['undecided'][number][] = []
  for (const { caller, key, record } of callers) {
    const found = await reach.of(caller, record)
    const who = { subject: caller.id, key, roles: caller.roles }
    for (const { resource, actions } of found.resources)
      for (const action of actions) rows.push({ resource, ...who, ...action })
    undecided.push(...found.undecided.map((one) => ({ subject: caller.id, ...one })))
    progress.done(1)
  }
  const findings = [
    ...out.flatMap((one) => outWithRules(one, question)),
    ...rulesWithoutPerson([...people, ...ofKeys], question),
    ...(await opened.directory.keys()).flatMap((key) => neverUsed(key, now)),
    ...rolesWithoutHolder([...people, ...ofKeys], question),
    ...(await rolesNeverUsed(working, question)),
  ]
  const at = timeText(now)
  const byPlace = (row: AccessRow) => JSON.stringify([row.resource, row.action, row.subject])
  const sorted = rows
    .map((row) => [byPlace(row), row] as const)
    .toSorted(([a], [b]) => byText(a, b))
    .map(([, row]) => row)
  return {
    at,
    revision: revisionOf(reviewed.files, reviewed.blockedFile),
    digest: digestOfLines(sorted.map(reviewedLine)),
    rows: sorted,
    findings,
    leftOut: leftOutOf(question.resources),
    undecided,
  }
}

/** The lines of rules about these subjects. */
function linesAbout({ reviewed: { policy } }: AccessReportQuestion, subjects: ReadonlySet<string>): readonly string[] {
  return policy.rules.filter(({ subject }) => subjects.has(subject)).map(({ line }) => `policy.csv:${line}`)
}

function rolesOf({ reviewed: { policy } }: AccessReportQuestion, roles: readonly string[]): ReadonlySet<string> {
  return new Set(roles.filter((role) => policy.roles.has(role)).flatMap((role) => [...inheritedBy(policy, role)]))
}

function outWithRules({ id, roles, account }: Person, question: AccessReportQuestion): readonly AccessFinding[] {
  const lines = linesAbout(question, new Set([`user:${id}`, ...rolesOf(question, roles)]))
  if (lines.length === 0) return []
  const state = account?.disabled ? 'disabled' : 'blocked'
  return [{ code: 'out-with-rules', about: id, message: `${id} is ${state}, and still has ${rulesText(lines)}` }]
}

const SHOWN = 3

function rulesText(lines: readonly string[]): string {
  const more = lines.length > SHOWN ? ` and ${lines.length - SHOWN} more` : ''
  return `the rules ${lines.slice(0, SHOWN).join(', ')}${more}`
}

type HolderOfRoles = Pick<Caller, 'id' | 'roles'>

function rulesWithoutPerson(
  holders: readonly HolderOfRoles[],
  question: AccessReportQuestion,
): readonly AccessFinding[] {
  const known = new Set(holders.map(({ id }) => `user:${id}`))
  const named = new Set(question.reviewed.policy.rules.map(({ subject }) => subject))
  const missing = [...named].filter((subject) => subject.startsWith('user:') && !known.has(subject))
  return missing.map((subject) => {
    const message = `no person and no working key is ${subject}, which ${rulesText(linesAbout(question, new Set([subject])))} name`
    return { code: 'rule-without-person', about: subject.slice('user:'.length), message }
  })
}

function neverUsed(
  { id, name, revokedAt, expiresAt, lastUsedAt, createdAt }: ApiKey,
  now: number,
): readonly AccessFinding[] {
  if (revokedAt !== null || expiresAt <= now || lastUsedAt !== null) return []
  const message = `the key ${id} (${name}) was made on ${timeText(createdAt)} and never used`
  return [{ code: 'key-never-used', about: `key ${id}`, message }]
}

function rolesWithoutHolder(
  holders: readonly HolderOfRoles[],
  question: AccessReportQuestion,
): readonly AccessFinding[] {
  const roles = holders.flatMap(({ roles }) => roles)
  const held = rolesOf(question, roles)
  const open = [...question.reviewed.policy.roles.keys()].filter((role) => !held.has(role))
  return open.map((role) => {
    const message = `no person and no working key has the role ${role}, nor a role that inherits it`
    return { code: 'role-without-holder', about: role, message }
  })
}

/** Where the log has a record of another revision with the role, the role may have been used. */
async function rolesNeverUsed(
  people: readonly Person[],
  question: AccessReportQuestion,
): Promise<readonly AccessFinding[]> {
  const { records, reviewed } = question
  if (!records) return []
  const revision = revisionOf(reviewed.files, reviewed.blockedFile)
  const roles = [...reviewed.policy.roles.keys()]
  const linesOf = new Map(roles.map((role) => [role, new Set(linesAbout(question, rolesOf(question, [role])))]))
  const used = new Set<string>()
  for await (const { subject, outcome, rules = [], roles: held = [], revision: then } of records()) {
    if (subject === undefined || outcome !== 'allowed') continue
    for (const role of then === revision ? roles : held) {
      const lines = linesOf.get(role)
      if (then !== revision || rules.some((line) => lines?.has(line))) used.add(JSON.stringify([subject, role]))
    }
  }
  return people.flatMap(({ id, roles: held }) => {
    const unused = held.filter((role) => (linesOf.get(role)?.size ?? 0) > 0 && !used.has(JSON.stringify([id, role])))
    return unused.map((role): AccessFinding => {
      const message = `${id} has the role ${role}, and the decision log has no request that one of its rules allowed`
      return { code: 'role-never-used', about: id, message }
    })
  })
}

// ---- What a review looks at of each row, and the digest that names the report by it.

/** Of a report of access: what one caller can do with the objects of a resource. */
export interface AccessRow extends Omit<ActionOf, 'ids'> {
  readonly resource: string
  readonly subject: string
  readonly key: string | null
  readonly roles: readonly string[]
}

/** What is reviewed of a row: who may do what, and not on how many objects. */
export interface ReviewedLine extends Pick<AccessRow, 'resource' | 'action' | 'subject' | 'key' | 'roles' | 'when'> {
  readonly fields: readonly string[]
}

export function reviewedLine({ resource, action, subject, key, roles, when, fields }: AccessRow): ReviewedLine {
  const names = [...new Set(fields.flatMap((group) => group.names))].toSorted()
  return { resource, action, subject, key, roles, when, fields: names }
}

/** SHA-256, in hex, of a JSON array a line. The console makes the same of the report that it shows. */
export function digestOfLines(lines: readonly ReviewedLine[]): string {
  const hash = createHash('sha256')
  for (const { resource, action, subject, key, roles, when, fields } of lines)
    hash.update(`${JSON.stringify([resource, action, subject, key, roles, when, fields])}\n`)
  return hash.digest('hex')
}
