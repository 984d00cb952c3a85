/** Explains a decision record by today's policy files, for the time of the record, and compares both answers. */
import { CATALOGUE, type ProblemCode, stageOf } from '../../base/problems/catalogue.ts'
import { parseTime } from '../../base/time.ts'
import { type DecisionRecord, MASKED, parseMembers, unusableMember } from '../../decision-log/decision-record.ts'
import { revisionOf } from '../../policy/policy-files.ts'
import { quote } from '../../present/quote.ts'
import type { Resources } from '../../resources/resource.ts'
import { forwardedRoutes } from '../../resources/routing/match-route.ts'
import { type LoadedPolicy, ToolError } from '../load-policy.ts'
import { explain } from './explain.ts'
import type { ExplainedAnswer, Explanation, RecordComparison } from './explanation.ts'
import {
  type AskingCaller,
  type KnownObject,
  type KnownRequest,
  type MatchedRequest,
  problem,
  unaccepted,
} from './request.ts'

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

export function explainRecord(
  record: ExplainableRecord,
  { reviewed, resources, now = timeOf(record), named = 'these files' }: ReviewedAt,
): Explanation {
  refuseMasked(record)
  refuseCut(record)
  const request = requestOf(record, resources)
  const known = request.kind === 'route' ? objectOf(record, request) : ({ kind: 'any', id: record.objectId } as const)
  const path = record.route ?? '(not in the record)'
  const attributes = record.facts?.attributes
  const [caller, assumed] = [callerOf(record), conditionsOf(record)]
  const explained = explain({ reviewed, resources, caller, path, request, known, attributes, assumed, now })
  const explanation = asRecorded(record, explained)
  const notes = [...explanation.notes, ...goneRelations(record, reviewed, request)]
  return { ...explanation, notes, record: compareRecord(record, explanation, named) }
}

/**
 * Explains it by the policy that decided it, and says what the present policy would answer, if it is another one.
 * `present`: a sentence, if it can't be read.
 */
export function explainPast(
  record: ExplainableRecord,
  { reviewed, present, resources }: Omit<ReviewedAt, 'now' | 'named'> & { readonly present: LoadedPolicy | string },
): Explanation {
  const past = explainRecord(record, { reviewed, resources, now: undefined, named: 'the files of that version' })
  if (typeof present === 'string') {
    return { ...past, notes: [...past.notes, `what the present policy would answer is not known: ${present}`] }
  }
  const revision = revisionOf(present.files, present.blockedFile)
  if (revision === past.revision) return explainRecord(record, { reviewed, resources, now: undefined })
  const named = `the present files (revision ${revision})`
  const today = explainRecord(record, { reviewed: present, resources, now: undefined, named })
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

function callerOf({ authentication, subject, roles = [] }: ExplainableRecord): AskingCaller {
  return authentication === 'caller' ? { kind: 'caller', subject, roles } : { kind: 'anonymous' }
}

function conditionsOf({ facts }: ExplainableRecord): KnownRequest {
  return { conditions: { holds: new Map(Object.entries(facts?.conditions ?? {})), from: 'the record' } }
}

function requestOf(record: ExplainableRecord, resources: Resources): MatchedRequest {
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

function recorded({ status, problem: code }: ExplainableRecord): ExplainedAnswer {
  return { status, code: isProblemCode(code) ? code : null, headers: {} }
}

function isProblemCode(code: string | undefined): code is ProblemCode {
  return code !== undefined && Object.hasOwn(CATALOGUE, code)
}

function objectOf(
  record: ExplainableRecord,
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
  return relations ? { kind: 'relations', from: 'the record', id, holding: new Set(relations) } : { kind: 'any', id }
}

/** Notes about relations that held then but that ownership.yaml no longer declares. */
function goneRelations(
  { relations = [] }: ExplainableRecord,
  { policy }: LoadedPolicy,
  request: MatchedRequest,
): readonly string[] {
  if (request.kind !== 'route') return []
  const declared = policy.ownership.get(request.route.resource)?.relations
  const gone = relations.filter((name) => !declared?.has(name))
  return gone.map((name) => `ownership.yaml no longer declares the relation ${quote(name)}, which held then`)
}

// ---- Adds the facts of a record, other than relations, to an explanation: refused fields, the query, the proposed
// object.

function asRecorded(record: ExplainableRecord, explanation: Explanation): Explanation {
  return withLater(record, withQuery(record, withProposal(record, withFields(record, explanation))))
}

/** The policy may allow the action but not some fields of the body; the record names them. */
function withFields(record: ExplainableRecord, explanation: Explanation): Explanation {
  const writable = new Set(explanation.cases.flatMap(({ fields }) => fields?.writable ?? []))
  const refused = (record.fieldsRefused ?? []).filter((field) => !writable.has(field))
  if (explanation.outcome !== 'allow' || refused.length === 0 || record.problem === 'invalid-query') return explanation
  const reason = `the action is allowed, but the body may not change ${refused.map(quote).join(', ')}`
  return { ...explanation, outcome: 'deny', reason, answer: refusal(record, 'field-forbidden') }
}

/** The policy allowed the stored object and refused the proposed one: that refusal doesn't conceal the object. */
function withProposal(record: ExplainableRecord, explanation: Explanation): Explanation {
  const { facts, problem: then } = record
  const wasRefused = facts?.proposed !== undefined && (then === 'forbidden' || then === 'credentials-missing')
  if (!wasRefused || explanation.answer?.code !== 'object-not-found') return explanation
  return { ...explanation, answer: refusal(record, 'forbidden') }
}

/** The policy may allow the list but not this filter or order. */
function withQuery(record: ExplainableRecord, explanation: Explanation): Explanation {
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
function withLater(record: ExplainableRecord, explanation: Explanation): Explanation {
  const { problem: code, status } = record
  const stage = code === undefined || isByPolicy(record) ? 'policy' : stageOf(code)
  if (explanation.outcome === 'deny' || explanation.stage === 'request' || stage === undefined || stage === 'policy') {
    return explanation
  }
  const reason = `the policy allows it (${explanation.reason}); the recorded answer is ${quote(code)}`
  return { ...explanation, reason, answer: { status, code: code as ProblemCode, headers: {} } }
}

/** Whether the policy gave the recorded answer. It refuses a query only because of its fields. */
function isByPolicy({ problem: code, fieldsRefused = [] }: ExplainableRecord): boolean {
  if (code === 'invalid-query') return fieldsRefused.length > 0
  return code === undefined || stageOf(code) === 'policy'
}

function refusal({ authentication }: ExplainableRecord, code: 'forbidden' | 'field-forbidden'): ExplainedAnswer {
  return problem(authentication === 'anonymous' ? 'credentials-missing' : code)
}

// ---- Compares the recorded answer with the answer of policy files. It can't compare other answers (limits, bodies,
// tokens).

interface RecordVerdict {
  readonly sameOutcome: boolean | null
  readonly verdict: string
}

/** `files`: what the verdict calls the policy files. */
function compareRecord(record: ExplainableRecord, now: Explanation, files: string): RecordComparison {
  const { requestId = null, revision, status, problem = null, rules = [] } = record
  const places = now.rules.map(({ place }) => place)
  return {
    requestId,
    revision,
    sameRevision: revision === now.revision,
    status,
    problem,
    rules,
    sameRules: rules.join() === places.join(),
    ...(ofGateway(record, now, files) ?? verdictOf(record, now, files)),
  }
}

/** A gateway's answer has another status than its client's would. */
function ofGateway(
  { forwarded, problem }: ExplainableRecord,
  { outcome }: Explanation,
  files: string,
): RecordVerdict | undefined {
  if (!forwarded || problem !== undefined || outcome !== 'allow') return undefined
  return { sameOutcome: true, verdict: `with ${files} the gateway may let the request pass, too` }
}

function verdictOf(record: ExplainableRecord, now: Explanation, files: string): RecordVerdict {
  if (now.stage === 'request' && now.request.route === null && record.route === undefined) return incomparable(record)
  if (record.authentication === 'rejected') return incomparable(record)
  if (!isByPolicy(record)) return refusedBefore(record, now, files) ?? incomparable(record)
  if (now.answer === null) return { sameOutcome: null, verdict: `with ${files} the answer depends on the object` }
  const fields = record.problem === 'invalid-query' ? [] : (record.fieldsRefused ?? [])
  if (fields.length > 0 && now.outcome === 'allow') return writableNow(record, now, files)
  if (differsByBody(record, now.answer)) return withOrWithoutBody(record, now, files)
  if (now.answer.status !== record.status || now.answer.code !== (record.problem ?? null)) {
    return different(record, now.answer, files)
  }
  return (
    mayHaveWritten(record, now, files) ?? {
      sameOutcome: true,
      verdict: `${files} give the same answer: ${record.status}`,
    }
  )
}

/** The recorded refusal came after the policy had allowed the request, and the policy refuses the request now. */
function refusedBefore(
  record: ExplainableRecord,
  { outcome, answer }: Explanation,
  files: string,
): RecordVerdict | undefined {
  const isLater = record.problem !== undefined && stageOf(record.problem) === 'after'
  return isLater && outcome === 'deny' && answer ? different(record, answer, files) : undefined
}

function incomparable({ problem, status }: ExplainableRecord): RecordVerdict {
  const what = quote(problem ?? status)
  return { sameOutcome: null, verdict: `the policy did not decide this answer (${what}), so it can't be compared` }
}

function different({ status, problem }: ExplainableRecord, now: ExplainedAnswer, files: string): RecordVerdict {
  const [then, by] = now.status === status ? [`${status} ${problem}`, `${status} ${now.code}`] : [status, now.status]
  return { sameOutcome: false, verdict: `${files} give another answer: ${by} instead of ${then}` }
}

/** The answer to a write shows the new object, and the record doesn't show how the new object relates to the caller. */
function differsByBody({ problem, status }: ExplainableRecord, now: ExplainedAnswer): boolean {
  return (
    problem === undefined && status !== now.status && [status, now.status].every((one) => one === 200 || one === 204)
  )
}

function withOrWithoutBody(record: ExplainableRecord, now: Explanation, files: string): RecordVerdict {
  const verdict = `${files} allow it too; whether the answer has a body depends on the object after the write`
  return mayHaveWritten(record, now, files) ?? { sameOutcome: record.revision === now.revision || null, verdict }
}

/**
 * The policy now allows all refused fields on the stored object; the record doesn't show the relations after the write.
 */
function writableNow(record: ExplainableRecord, now: Explanation, files: string): RecordVerdict {
  if (record.revision === now.revision) return { sameOutcome: true, verdict: `${files} give the same answer` }
  return {
    sameOutcome: null,
    verdict: `${files} allow these fields, unless the write changes the relations of the caller to the object`,
  }
}

/** A record of an allowed write doesn't name the fields; under other rules some of them may be refused. */
function mayHaveWritten(record: ExplainableRecord, now: Explanation, files: string): RecordVerdict | undefined {
  const refused = now.cases.flatMap(({ fields }) => fields?.notWritable ?? [])
  if (record.problem !== undefined || record.revision === now.revision || refused.length === 0) return undefined
  const verdict =
    `${files} allow it too, but not for the fields ${refused.join(', ')}, and the record does not say which ` +
    'fields were written'
  return { sameOutcome: null, verdict }
}

// ---- Reads the decision record to explain: a line of the server's log, possibly written by an older version.

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
