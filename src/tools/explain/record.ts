/**
 * Explains a decision record by policy files, for the time of the record, and compares both answers. Under other files
 * than those that decided, only what the record holds is known, and the request is decided again as a replay does.
 */
import { type Again, decideAgain } from '../../analysis/replay/decide-again.ts'
import { AnswerMissing, recordedConditions, recordedRelations } from '../../analysis/replay/recorded.ts'
import { CATALOGUE, type ProblemCode, stageOf } from '../../base/problems/catalogue.ts'
import { parseTime } from '../../base/time.ts'
import { type DecisionRecord, MASKED, parseMembers, unusableMember } from '../../decision-log/decision-record.ts'
import { revisionOf } from '../../policy/policy-files.ts'
import { quote } from '../../present/quote.ts'
import type { Resources } from '../../resources/resource.ts'
import { forwardedRoutes } from '../../resources/routing/match-route.ts'
import { type LoadedPolicy, ToolError } from '../load-policy.ts'
import { replayPolicyOf } from '../replay/replay.ts'
import { compareRecord, isByPolicy } from './compare-record.ts'
import { explain } from './explain.ts'
import type { ExplainedAnswer, Explanation } from './explanation.ts'
import {
  type AskingCaller,
  type KnownObject,
  type KnownRequest,
  type MatchedRequest,
  problem,
  unaccepted,
} from './request.ts'

const REQUIRED = ['status', 'revision', 'method'] as const

export type ExplainableRecord = Partial<DecisionRecord> & Pick<DecisionRecord, (typeof REQUIRED)[number]>

/**
 * The first decision record among the lines of a log, which may also hold lines of other programs. Throws ToolError;
 * `source` is the file's name in its message.
 */
export async function readRecord(lines: AsyncIterable<string>, source: string): Promise<ExplainableRecord> {
  for await (const line of lines) {
    const members = parseMembers(line)
    if (members?.record !== 'decision') continue
    const unusable = unusableMember(members, REQUIRED)
    if (unusable === undefined) return members as unknown as ExplainableRecord
    throw new ToolError(
      `the decision record has no usable \`${unusable}\`: give a line of the log as the server wrote it`,
    )
  }
  throw new ToolError(`${source} holds no decision record: give a line of the server's log with "record":"decision"`)
}

/** The policy looked at the new object only for these answers, so only these records know its relations. */
const DECIDED: readonly (string | undefined)[] = [
  undefined,
  'forbidden',
  'credentials-missing',
  'field-forbidden',
  'step-up-required',
]

interface ReviewedAt {
  readonly reviewed: LoadedPolicy
  readonly resources: Resources
  /**
   * The time for which the request is decided, in milliseconds since the epoch; undefined for the time of the record.
   */
  readonly now: number | undefined
  /** What the comparison with the record calls the policy files. */
  readonly named?: string
}

export async function explainRecord(
  written: ExplainableRecord,
  { reviewed, resources, now = timeOf(written), named = 'these files' }: ReviewedAt,
): Promise<Explanation> {
  refuseMasked(written)
  refuseCut(written)
  const record = recordAt(written, now)
  const isOwn = record.revision === revisionOf(reviewed.files, reviewed.blockedFile)
  const request = requestOf(record, resources)
  const known = request.kind === 'route' ? objectOf(record, request) : ({ kind: 'any', id: record.objectId } as const)
  const path = record.route ?? '(not in the record)'
  const attributes = record.facts?.attributes
  const [caller, assumed] = [callerOf(record), conditionsOf(record, reviewed)]
  const asked = { reviewed, resources, caller, path, request, known, attributes, assumed, now }
  const explained = asRecorded(
    record,
    explain(isOwn ? asked : { ...asked, known: asFarAsHeld(record, known, reviewed, request) }),
  )
  const isAsked = request.kind === 'route' && !record.forwarded
  const again = isAsked ? await decideAgain(replayPolicyOf(reviewed, resources), record) : undefined
  const explanation = again ? asDecidedAgain(explained, again) : explained
  const notes = [...explanation.notes, ...goneRelations(record, reviewed, request)]
  return { ...explanation, notes, record: compareRecord(record, explanation, { again, files: named }) }
}

/**
 * Explains it by the policy that decided it, and says what the present policy would answer, if it is another one.
 * `present`: a sentence, if it can't be read.
 */
export async function explainPast(
  record: ExplainableRecord,
  { reviewed, present, resources }: Omit<ReviewedAt, 'now' | 'named'> & { readonly present: LoadedPolicy | string },
): Promise<Explanation> {
  const past = await explainRecord(record, { reviewed, resources, now: undefined, named: 'the files of that version' })
  if (typeof present === 'string') {
    return { ...past, notes: [...past.notes, `what the present policy would answer is not known: ${present}`] }
  }
  const revision = revisionOf(present.files, present.blockedFile)
  if (revision === past.revision) return explainRecord(record, { reviewed, resources, now: undefined })
  const named = `the present files (revision ${revision})`
  const today = await explainRecord(record, { reviewed: present, resources, now: undefined, named })
  const why = today.record?.sameOutcome === false ? `, because ${today.reason}` : ''
  return { ...past, notes: [...past.notes, `${today.record?.verdict}${why}`] }
}

function refuseMasked({ subject, roles = [] }: ExplainableRecord): void {
  const hidden = subject === MASKED ? 'subject' : roles.includes(MASKED) ? 'roles' : undefined
  if (hidden === undefined) return
  throw new ToolError(
    `masks.yaml hides the ${hidden} of the record: explain METHOD and PATH with --role and --subject instead`,
  )
}

function refuseCut({ cut }: ExplainableRecord): void {
  if (!cut) return
  throw new ToolError(
    'the record was too long to hold its facts: explain METHOD and PATH with --role and --subject instead',
  )
}

function timeOf({ time = '' }: ExplainableRecord): number {
  const recorded = parseTime(time)
  if (recorded !== undefined) return recorded
  throw new ToolError('the decision record has no usable `time`: give the time with --at')
}

function callerOf({ authentication, subject, roles = [] }: DecisionRecord): AskingCaller {
  return authentication === 'caller' ? { kind: 'caller', subject, roles } : { kind: 'anonymous' }
}

/** What the record holds of the conditions of these files. */
function conditionsOf(record: DecisionRecord, { policy }: LoadedPolicy): KnownRequest {
  const { authentication, subject: id = '', roles = [], rolesLost: recordRoles, credential } = record
  const caller = authentication === 'caller' ? { id, roles, recordRoles, claims: {}, credential } : undefined
  const holding = recordedConditions(record, { caller })
  const held = [...policy.conditions.values()].flatMap((one): [string, boolean][] => {
    try {
      return [[one.name, holding(one)]]
    } catch (error) {
      if (error instanceof AnswerMissing) return []
      throw error
    }
  })
  return { conditions: { holds: new Map(held), from: 'the record' } }
}

/**
 * The record as if its request had come at this time; the answers to conditions count only for the time of the record.
 */
function recordAt(record: ExplainableRecord, now: number): DecisionRecord {
  const whole = {
    requestId: '',
    outcome: 'allowed',
    microseconds: 0,
    ...record,
    time: new Date(now).toISOString(),
  } as const
  if (parseTime(record.time ?? '') === now || !record.facts) return whole
  const { conditions: _, ...facts } = record.facts
  return { ...whole, facts }
}

function requestOf(record: DecisionRecord, resources: Resources): MatchedRequest {
  const { method, authentication } = record
  const routes = record.forwarded ? forwardedRoutes(resources) : resources.routes
  if (authentication === 'rejected' || authentication === 'failed') {
    return unaccepted(method, recorded(record), 'the credentials were not accepted, so the policy was not asked')
  }
  if (record.route === undefined) {
    return unaccepted(method, recorded(record), 'no route matched the request, so the policy was not asked')
  }
  const route = routes.find(({ path }) => path === record.route)
  if (!route) return unaccepted(method, problem('route-not-found'), `no schema has the path ${quote(record.route)} now`)
  const found = [...route.endpoints].find(([accepted]) => accepted === method)
  const allow = { Allow: route.allow }
  if (!found) return unaccepted(method, problem('method-not-allowed', allow), `the path accepts ${route.allow}`)
  return { kind: 'route', method: found[0], route, endpoint: found[1], id: record.objectId }
}

function recorded({ status, problem: code }: DecisionRecord): ExplainedAnswer {
  return { status, code: isProblemCode(code) ? code : null, headers: {} }
}

function isProblemCode(code: string | undefined): code is ProblemCode {
  return code !== undefined && Object.hasOwn(CATALOGUE, code)
}

function objectOf(
  record: DecisionRecord,
  { endpoint, route }: Extract<MatchedRequest, { kind: 'route' }>,
): KnownObject {
  const { relations, objectId: id, problem: code } = record
  // The gateway's application has the object.
  if (record.forwarded) return { kind: 'any', id }
  const isAboutObject = endpoint.operation === 'create' ? DECIDED.includes(code) : route.kind !== 'collection'
  if (!isAboutObject) return { kind: 'any', id: undefined }
  // An object that is concealed was looked at; one that doesn't exist wasn't.
  if (code === 'object-not-found' && record.facts?.object === undefined) {
    return { kind: 'object', id: id ?? '', object: undefined, record: undefined, related: () => undefined }
  }
  const wasRead = (record.facts?.object ?? record.facts?.proposed) !== undefined || (relations?.length ?? 0) > 0
  if (!relations || !wasRead) return { kind: 'any', id }
  return { kind: 'relations', from: 'the record', id, holding: new Set(relations) }
}

/**
 * The relations of other files than those that decided: the record holds the answers to some, and for the others the values
 * that they compare, as far as the object was looked at.
 */
function asFarAsHeld(
  record: DecisionRecord,
  known: KnownObject,
  { policy }: LoadedPolicy,
  request: MatchedRequest,
): KnownObject {
  if (known.kind !== 'relations' || request.kind !== 'route') return known
  const { resource, kind } = request.route
  const relations = [...(policy.ownership.get(resource)?.relations.values() ?? [])]
  const held = recordedRelations(record, relations, { isOwnRecord: kind === 'caller' })
  const names = (wanted: boolean | null) => new Set([...held].flatMap(([name, one]) => (one === wanted ? [name] : [])))
  return { ...known, holding: names(true), unknown: names(null) }
}

/** Notes about relations that held then but that ownership.yaml no longer declares. */
function goneRelations(
  { relations = [] }: DecisionRecord,
  { policy }: LoadedPolicy,
  request: MatchedRequest,
): readonly string[] {
  if (request.kind !== 'route') return []
  const declared = policy.ownership.get(request.route.resource)?.relations
  const gone = relations.filter((name) => !declared?.has(name))
  return gone.map((name) => `ownership.yaml no longer declares the relation ${quote(name)}, which held then`)
}

/** An explanation knows neither the relations after a write nor the credential: what they decide is decided again. */
function asDecidedAgain(explanation: Explanation, again: Again): Explanation {
  if (again.kind !== 'refused' || explanation.stage === 'request') return explanation
  const { fieldsRefused, problem: code } = again
  const answer = explanation.answer?.code === code ? explanation.answer : problem(code)
  if (explanation.outcome === 'deny') return { ...explanation, answer }
  const reason =
    fieldsRefused.length > 0
      ? `the action is allowed, but the request may not name ${fieldsRefused.map(quote).join(', ')}`
      : 'the object, as the write would leave it, is refused'
  return { ...explanation, outcome: 'deny', reason, answer }
}

// ---- Adds the facts of a record, other than relations, to an explanation: refused fields, the query, the proposed
// object.

function asRecorded(record: DecisionRecord, explanation: Explanation): Explanation {
  return withLater(record, withQuery(record, withProposal(record, withFields(record, explanation))))
}

/** The policy may allow the action but not some fields of the body; the record names them. */
function withFields(record: DecisionRecord, explanation: Explanation): Explanation {
  const writable = new Set(explanation.cases.flatMap(({ fields }) => fields?.writable ?? []))
  const refused = (record.fieldsRefused ?? []).filter((field) => !writable.has(field))
  if (explanation.outcome !== 'allow' || refused.length === 0 || record.problem === 'invalid-query') return explanation
  const reason = `the action is allowed, but the body may not change ${refused.map(quote).join(', ')}`
  return { ...explanation, outcome: 'deny', reason, answer: refusal(record, 'field-forbidden') }
}

/** The policy allowed the stored object and refused the proposed one: that refusal doesn't conceal the object. */
function withProposal(record: DecisionRecord, explanation: Explanation): Explanation {
  const { facts, problem: then } = record
  const wasRefused = facts?.proposed !== undefined && (then === 'forbidden' || then === 'credentials-missing')
  if (!wasRefused || explanation.answer?.code !== 'object-not-found') return explanation
  return { ...explanation, answer: refusal(record, 'forbidden') }
}

/** The policy may allow the list but not this filter or order. */
function withQuery(record: DecisionRecord, explanation: Explanation): Explanation {
  const { queried = [], selected = [] } = record.facts ?? {}
  if (!isByPolicy(record)) return explanation
  // All cases have the same queryable fields.
  const queryable = explanation.cases.find(({ fields }) => fields)?.fields?.queryable
  const refused = queryable ? queried.filter((field) => !queryable.includes(field)) : []
  const shown = new Set(explanation.cases.flatMap(({ fields }) => fields?.shown ?? []))
  const unshown = queryable ? selected.filter((field) => !shown.has(field)) : []
  if (explanation.outcome !== 'allow' || refused.length + unshown.length === 0) return explanation
  const reason =
    refused.length > 0
      ? `the list is allowed, but filtering or sorting by ${refused.map(quote).join(', ')} is not: ` +
        'each line about the list must grant these fields'
      : `the list is allowed, but does not show ${unshown.map(quote).join(', ')}`
  return { ...explanation, outcome: 'deny', reason, answer: problem('invalid-query') }
}

/**
 * The policy allows the request, but something else refused it: the body, a precondition, the stored data, or a limit.
 */
function withLater(record: DecisionRecord, explanation: Explanation): Explanation {
  const { problem: code, status } = record
  const stage = code === undefined || isByPolicy(record) ? 'policy' : stageOf(code)
  if (explanation.outcome === 'deny' || explanation.stage === 'request' || stage === undefined || stage === 'policy') {
    return explanation
  }
  const reason = `the policy allows it (${explanation.reason}); the recorded answer is ${quote(code)}`
  return { ...explanation, reason, answer: { status, code: code as ProblemCode, headers: {} } }
}

function refusal({ authentication }: DecisionRecord, code: 'forbidden' | 'field-forbidden'): ExplainedAnswer {
  return problem(authentication === 'anonymous' ? 'credentials-missing' : code)
}
