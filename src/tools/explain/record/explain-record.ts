/** Explains a decision record by today's policy files, for the time of the record, and compares both answers. */
import { CATALOGUE, type ProblemCode } from '../../../base/problems/catalogue.ts'
import { parseTime } from '../../../base/time.ts'
import { MASKED } from '../../../decision-log/decision-record.ts'
import { revisionOf } from '../../../policy/policy-files.ts'
import { quote } from '../../../present/quote.ts'
import type { Resources } from '../../../resources/resource.ts'
import { forwardedRoutes } from '../../../resources/routing/match-route.ts'
import { type LoadedPolicy, ToolError } from '../../load-policy.ts'
import { explain } from '../explain.ts'
import type { ExplainedAnswer, Explanation } from '../explanation.ts'
import { problem, unaccepted } from '../finding.ts'
import type { AskingCaller, KnownObject, KnownRequest, MatchedRequest } from '../question.ts'
import { asRecorded } from './as-recorded.ts'
import { compareRecord } from './compare-record.ts'
import type { ExplainableRecord } from './read-record.ts'

/** The policy looked at the new object only for these answers, so only these records know its relations. */
const DECIDED: readonly (string | undefined)[] = [
  undefined,
  'forbidden',
  'credentials-missing',
  'field-forbidden',
  'step-up-required',
]

interface Files {
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
  { reviewed, resources, now = timeOf(record), named = 'these files' }: Files,
): Explanation {
  refuseMasked(record)
  refuseCut(record)
  const request = requestOf(record, resources)
  const known = request.kind === 'route' ? objectOf(record, request) : ({ kind: 'any', id: record.objectId } as const)
  const path = record.route ?? '(not in the record)'
  const attributes = record.facts?.attributes
  const [caller, told] = [callerOf(record), toldBy(record)]
  const explained = explain({ reviewed, resources, caller, path, request, known, attributes, told, now })
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
  { reviewed, present, resources }: Omit<Files, 'now' | 'named'> & { readonly present: LoadedPolicy | string },
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

function toldBy({ facts }: ExplainableRecord): KnownRequest {
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
