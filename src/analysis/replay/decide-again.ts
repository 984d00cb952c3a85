/**
 * Decides a recorded request again under another policy, with the checks and the permits that decide live requests. The
 * record's facts replace the store, and its time replaces the clock.
 */
import { isDeepStrictEqual } from 'node:util'
import { CATALOGUE, type ProblemCode, stageOf } from '../../base/problems/catalogue.ts'
import { decide, decideAtRoleLevel, isBlocked } from '../../decide/decide.ts'
import type { Decision } from '../../decide/decision.ts'
import type { Facts } from '../../decide/evidence.ts'
import { withFacts } from '../../decide/facts.ts'
import type { ListDecision } from '../../decide/grants/list-decision.ts'
import { isRefusal, problemCodeOf, type Refusal } from '../../decide/refusal.ts'
import { type DecisionRecord, MASKED } from '../../decision-log/decision-record.ts'
import type { ActivePolicy } from '../../policy/live/active-policy.ts'
import type { Method, Resources } from '../../resources/resource.ts'
import { forwardedRoutes } from '../../resources/routing/match-route.ts'
import { permitAgain, unaskedUnder } from './permit-again.ts'
import {
  AnswerMissing,
  differsByRow,
  FactsMissing,
  type RecordedRequest,
  recordedConditions,
  recordedLookups,
  recordedObject,
  shownFields,
  unknownFact,
} from './recorded.ts'

/** The policy would allow the request, as far as the request got then. */
export interface AllowedAgain {
  readonly kind: 'allowed'
  readonly decision: Decision
}

/** The policy would let the request get further than then. `why`: why the record can't show whether to the end. */
interface Further {
  readonly kind: 'further'
  readonly why: string
}

export type Decided = AllowedAgain | RefusedAgain | Further

export type Again =
  | Decided
  /** No policy was asked, or the server failed: nothing to decide again. */
  | { readonly kind: 'unconcerned' }
  | { readonly kind: 'undecidable'; readonly why: string }

export interface RefusedAgain {
  readonly kind: 'refused'
  readonly problem: ProblemCode
  readonly status: number
  readonly fieldsRefused: readonly string[]
  /** Lines of policy.csv. */
  readonly lines: readonly number[]
}

export interface ReplayPolicy {
  readonly resources: Resources
  /** The policy to decide by, as it is at a time in milliseconds since the epoch. */
  readonly policyAt: (time: number) => ActivePolicy
}

/** Never throws because of a record's content; a fault of the program is thrown. */
export async function decideAgain(replayPolicy: ReplayPolicy, record: DecisionRecord): Promise<Again> {
  const stage = record.problem === undefined ? 'after' : stageOf(record.problem)
  if (stage === undefined) return undecidable(`the problem \`${record.problem}\` is not known`)
  if (stage === 'before' || stage === 'fault' || record.route === undefined) return { kind: 'unconcerned' }
  const policy = replayPolicy.policyAt(Date.parse(record.time))
  // No rule was evaluated, and applying a candidate lifts no block.
  if (record.problem === 'blocked' && record.revision !== policy.revision) return { kind: 'unconcerned' }
  if (record.erasedFacts !== undefined) return undecidable('its facts were erased')
  if (record.cut) return undecidable('the record was too long to hold its facts')
  const request = requestOf(replayPolicy.resources, record)
  if (typeof request === 'string') return undecidable(request)
  const unknown =
    request.resource.builtIn || record.problem === 'blocked'
      ? undefined
      : await unknownFact(policy.snapshot, request, record)
  if (unknown !== undefined) return undecidable(unknown)
  const { command } = request.route
  if (command && command.creates.length > 0 && !command.grantsSteps) return undecidable(CREATES)
  const again = await authorizeAgain(policy, { record, request, stage })
  return again.kind === 'refused' ? again : unlessOpen(again, record, policy)
}

const CREATES = "the record doesn't hold the facts of the objects that the command creates"

function unlessOpen(again: Again, record: DecisionRecord, policy: ActivePolicy): Again {
  if (mayReadParentOtherwise(record, policy)) return undecidable(PARENTS)
  return again.kind === 'allowed' && mayAnswerOtherwise(record, policy) ? undecidable(QUESTIONS) : again
}

/** The questions of another service are only kept to be read. */
const QUESTIONS = 'the questions of another service are not decided again'

function mayAnswerOtherwise({ asked = [], searched, revision }: DecisionRecord, policy: ActivePolicy): boolean {
  return (asked.length > 0 || searched !== undefined) && revision !== policy.revision
}

const PARENTS = "the record doesn't hold whether the caller may read the object that the path names"

function mayReadParentOtherwise({ parent, problem, revision }: DecisionRecord, policy: ActivePolicy): boolean {
  return parent !== undefined && (problem === 'object-not-found' || revision !== policy.revision)
}

interface Recorded {
  readonly record: DecisionRecord
  readonly request: RecordedRequest
  readonly stage: 'policy' | 'after'
}

async function authorizeAgain(policy: ActivePolicy, { record, request, stage }: Recorded): Promise<Again> {
  const { snapshot, blocked } = policy
  const { caller } = request
  const now = Date.parse(record.time)
  const question = {
    ...request,
    subject: snapshot.subjectOf(caller),
    blocked: caller !== undefined && isBlocked(blocked, caller.id, now),
    now,
    holding: recordedConditions(record, request),
  }
  const facts = (when: 'related' | 'relatedAfter') => ({
    // The caller's recorded attributes are the claims.
    user: () => undefined,
    object: (_resource: string, id: string) => recordedObject(record, id),
    lookup: recordedLookups(record, when),
  })
  try {
    const deciding = record.forwarded ? decideAtRoleLevel(question, snapshot) : decide(question, snapshot)
    const decision = await withFacts<Decision | Refusal>(deciding, facts('related'))
    if (decision.kind === 'refused') return refused(decision, request)
    if (decision.kind === 'list') return queryAgain(decision, record, policy)
    const steps = permitAgain(decision, record, unaskedUnder(snapshot, request))
    const permitted = await withFacts(steps, facts(decision.kind === 'update' ? 'relatedAfter' : 'related'))
    if (isRefusal(permitted)) return refused(permitted, request)
    return permitted === 'whole' ? { kind: 'allowed', decision } : beyond(record, decision, stage)
  } catch (error) {
    if (!(error instanceof FactsMissing)) throw error
    return stage === 'policy' && !(error instanceof AnswerMissing)
      ? { kind: 'further', why: error.message }
      : undecidable(error.message)
  }
}

/** Whether the policy allows the recorded query, and whether the record holds enough about its rows. */
function queryAgain(decision: ListDecision, record: DecisionRecord, { revision }: ActivePolicy): Again {
  const { problem, fieldsRefused, facts } = record
  const { queried, selected = [] } = facts ?? {}
  if (problem !== undefined && problem !== 'invalid-query') return { kind: 'allowed', decision }
  if (!queried) return undecidable("the record doesn't hold what the query asked for")
  // A query that is wrong in itself is refused under every policy.
  if (problem !== undefined && !fieldsRefused) return refusedQuery([], decision)
  const unasked = [
    ...queried.filter((field) => !decision.queryable.has(field)),
    ...selected.filter((field) => !decision.shown.has(field)),
  ]
  if (unasked.length > 0) return refusedQuery([...new Set(unasked)], decision)
  const rowsUnknown = problem === undefined && record.revision !== revision && mayDifferByRow(decision, facts ?? {})
  return rowsUnknown
    ? undecidable("the record doesn't hold which fields each row showed")
    : { kind: 'allowed', decision }
}

function refusedQuery(fieldsRefused: readonly string[], { evidence }: Decision): RefusedAgain {
  const problem = 'invalid-query'
  return { kind: 'refused', problem, status: CATALOGUE[problem].status, fieldsRefused, lines: evidence.lines }
}

/**
 * Whether the objects, and the fields that any row shows, are the same, but then or now not all rows show all of them.
 */
function mayDifferByRow({ where, evidence: { facts: now } }: ListDecision, then: Facts): boolean {
  const alike = isDeepStrictEqual([then.where, shownFields(then, then)], [where, shownFields(now, then)])
  return alike && (differsByRow(then, then) || differsByRow(now, then))
}

/** The policy allows the request up to the check of its body, and the record doesn't contain enough of the body. */
function beyond({ problem }: DecisionRecord, decision: Decision, stage: 'policy' | 'after'): Again {
  const why = 'the body was not read then'
  if (stage === 'policy') return { kind: 'further', why }
  return problem === undefined ? undecidable(why) : { kind: 'allowed', decision }
}

/** The request that is decided again; if that isn't possible, a sentence that says why. */
function requestOf(resources: Resources, record: DecisionRecord): RecordedRequest | string {
  const { method, objectId, authentication } = record
  const { byName } = resources
  const routes = record.forwarded ? forwardedRoutes(resources) : resources.routes
  const route = routes.find(({ path }) => path === record.route)
  const endpoint = route?.endpoints.get(method as Method)
  const resource = route && byName.get(route.resource)
  if (!endpoint || !resource) return `no schema declares ${method} ${record.route}`
  if (route.kind === 'item' && objectId === undefined) return "the record doesn't hold the object's id"
  const match = { route, endpoint, resource, id: route.kind === 'item' ? objectId : undefined }
  if (authentication === 'anonymous') return { ...match, caller: undefined }
  const { subject, roles = [], rolesLost, credential, facts } = record
  if (subject === undefined || subject === MASKED) return "the record doesn't hold the subject"
  if (roles.includes(MASKED)) return "the record doesn't hold the caller's roles"
  return {
    ...match,
    caller: { id: subject, roles, recordRoles: rolesLost, claims: facts?.attributes ?? {}, credential },
  }
}

function refused(refusal: Refusal, { caller }: RecordedRequest): RefusedAgain {
  const problem = problemCodeOf(refusal, caller ? 'caller' : 'anonymous')
  const { fieldsRefused = [], lines = [] } = refusal.evidence ?? {}
  return { kind: 'refused', problem, status: CATALOGUE[problem].status, fieldsRefused, lines }
}

function undecidable(why: string): Again {
  return { kind: 'undecidable', why }
}
