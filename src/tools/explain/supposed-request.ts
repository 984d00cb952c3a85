/** One request of one caller; the kernel decides it for supposed objects: the server's checks without a server. */
import type { Caller } from '../../decide/caller.ts'
import { anyCaller } from '../../decide/callers-and-routes.ts'
import { decide, decideSupposed, type Question as KernelQuestion } from '../../decide/decide.ts'
import type { RouteDecision } from '../../decide/decision.ts'
import { NO_FACTS, withFacts } from '../../decide/facts.ts'
import { type DirectPolicy, directPolicy } from '../../decide/grants/direct.ts'
import type { GrantTable } from '../../decide/grants/grant-table.ts'
import type { RoleLevel } from '../../decide/grants/role-level.ts'
import type { SupposedDecision, SupposedResult } from '../../decide/permits/check-fields.ts'
import type { Policy, Rule } from '../../decide/policy.ts'
import type { Refusal } from '../../decide/refusal.ts'
import { type Relation, scalarsOf } from '../../decide/relations/relation-kind.ts'
import { isBlocked } from '../../policy/parse/parse-blocked.ts'
import type { Method, Resources } from '../../resources/resource.ts'
import { type StateChange, supposedResult, type WrittenLeaves } from './facts/state-change.ts'
import type { ExplainQuestion, MatchedRequest } from './question.ts'

export interface SupposedRequest extends KernelQuestion {
  readonly holding?: readonly string[] | undefined
  readonly method: Method
  readonly parsed: Policy
  readonly resources: Resources
  /** `parsed`, with only the rules that haven't ended. */
  readonly policy: DirectPolicy
  /** The states that the write changes, if they are supposed. */
  readonly becomes?: StateChange | undefined
}

type RouteRequest = Extract<MatchedRequest, { kind: 'route' }>

export function supposedRequest(question: ExplainQuestion, { route, endpoint, method }: RouteRequest): SupposedRequest {
  const { reviewed, resources, caller, becomes, now } = question
  const resource = resources.byName.get(route.resource)
  if (!resource) throw new Error(`no schema declares ${route.resource}`)
  const policy = directPolicy(reviewed.policy, resources, now)
  const told = [...(question.told.conditions?.holds ?? [])].filter(([, holds]) => holds).map(([name]) => name)
  const subject = policy.subjectOf(usingKey(reviewed.policy, callerOf(question), told))
  const blocked =
    caller.kind === 'caller' && caller.subject !== undefined && isBlocked(reviewed.blocked, caller.subject, now)
  const files = { parsed: reviewed.policy, resources, policy }
  return { method, route, endpoint, resource, subject, blocked, ...files, becomes, now }
}

/** As ownership.yaml declares them for the resource. */
export function declaredRelations({ parsed, resource }: SupposedRequest): readonly Relation[] {
  return [...(parsed.ownership.get(resource.name)?.relations.values() ?? [])]
}

/** The same request by another caller, who may have any value of any attribute. */
export function requestOf(request: SupposedRequest, caller: Parameters<typeof anyCaller>[1]): SupposedRequest {
  return { ...request, subject: request.policy.subjectOf(anyCaller(request.parsed, caller)) }
}

/** The same request while exactly these conditions hold. */
export function holdingExactly(request: SupposedRequest, holding: readonly string[]): SupposedRequest {
  const { subject, parsed } = request
  return { ...request, holding, subject: { ...subject, caller: usingKey(parsed, subject.caller, holding) } }
}

/** A condition that only an API key meets tells the credential: an API key can't sign in again. */
function usingKey({ conditions }: Policy, caller: Caller | undefined, holding: readonly string[]): Caller | undefined {
  const isKey = holding.some((name) => {
    const condition = conditions.get(name)
    return condition?.kind === 'credential' && condition.credentials.every((kind) => kind === 'api-key')
  })
  return caller && isKey ? { ...caller, credential: 'key supposed' } : caller
}

/** The decision about an object for which exactly these relations hold, and about what a write makes of it. */
export function decideOn(
  request: SupposedRequest,
  relations: Iterable<string>,
  written?: WrittenLeaves,
): SupposedDecision | RouteDecision | Refusal {
  const stored = [...relations]
  const result = written && supposedResultOf(request, stored, written)
  return withFacts(decideSupposed(request, request.policy, stored, result), NO_FACTS)
}

/** `written`: of a request that supposes a change of states. */
export function supposedResultOf(
  request: SupposedRequest,
  stored: readonly string[],
  written: WrittenLeaves,
): SupposedResult {
  if (!request.becomes) throw new Error('the request supposes no change of states')
  return supposedResult(request.becomes, declaredRelations(request), stored, written)
}

/** The fields that a list may be filtered and sorted by. */
export function listQueryFields(request: SupposedRequest): readonly string[] {
  const decision = withFacts(decide(request, request.policy), NO_FACTS)
  return decision.kind === 'list' ? [...decision.queryable.keys()] : []
}

export function actionTable(
  { policy, subject, resource, endpoint }: SupposedRequest,
  action = endpoint.action,
): GrantTable {
  return policy.table(subject, resource.name, action)
}

/** The tables of the action and of `read`, which decides what the answer to a write shows. */
function tablesOf(request: SupposedRequest): readonly GrantTable[] {
  const hasRead = request.resource.actions.has('read')
  return [actionTable(request), ...(hasRead ? [actionTable(request, 'read')] : [])]
}

/** The relations that rules about the caller name. */
export function relationsAsked(request: SupposedRequest): readonly Relation[] {
  return [...new Set(tablesOf(request).flatMap(({ compared }) => compared))]
}

/** The conditions of the request that rules about the caller name. */
export function conditionsAsked(request: SupposedRequest): ReadonlySet<string> {
  return new Set(tablesOf(request).flatMap(({ conditions }) => conditions))
}

/** Whether the caller has an attribute, `id` included. */
export function hasAttribute({ subject: { caller } }: SupposedRequest, name: string): boolean {
  return caller !== undefined && (name === 'id' || scalarsOf(caller.claims[name]).length > 0)
}

/** The grants before an object is known. */
export function roleLevelOf(request: SupposedRequest, action?: string): RoleLevel {
  return actionTable(request, action).roleLevel((name) => hasAttribute(request, name), request.holding ?? 'any')
}

/**
 * The rules about the caller and the action, or about `read`, which decides what the answer shows; also ended rules.
 */
export function rulesThatMayMatch(question: ExplainQuestion, matched: RouteRequest): readonly Rule[] {
  const request = supposedRequest({ ...question, now: Number.NEGATIVE_INFINITY }, matched)
  const actions = [matched.endpoint.action, 'read'].filter((name) => request.resource.actions.has(name))
  const rules = actions.flatMap((action) => actionTable(request, action).roleLevel(() => true).rules)
  return [...new Set(rules)].toSorted((a, b) => a.line - b.line)
}

/** An unknown attribute may have any value; an attribute that is known to be absent is null. */
function callerOf({ reviewed, caller, known, attributes = {} }: ExplainQuestion): Caller | undefined {
  if (caller.kind === 'anonymous') return undefined
  const any = anyCaller(reviewed.policy, { id: caller.subject, roles: caller.roles })
  const record = known.kind === 'object' ? known.record : undefined
  if (!record) return { ...any, claims: { ...any.claims, ...attributes } }
  return { ...any, claims: Object.fromEntries(Object.keys(any.claims).map((name) => [name, record[name] ?? null])) }
}
