/** One request of one caller, decided by the kernel for supposed objects: the server's checks without a server. */
import type { Caller } from '../../decide/caller.ts'
import {
  answer,
  decide,
  decideSupposed,
  type Question as KernelQuestion,
  type SupposedDecision,
} from '../../decide/decide.ts'
import type { RouteDecision } from '../../decide/decision.ts'
import { type DirectPolicy, directPolicy } from '../../decide/grants/direct.ts'
import type { GrantTable } from '../../decide/grants/grant-table.ts'
import type { RoleLevel } from '../../decide/grants/role-level.ts'
import type { Policy, Rule } from '../../decide/policy.ts'
import type { Refusal } from '../../decide/refusal.ts'
import { comparedAttributes } from '../../decide/relations/relation.ts'
import { isBlocked } from '../../policy/parse/parse-blocked.ts'
import type { Method, Resources } from '../../resources/resource.ts'
import type { MatchedRequest, Question } from './question.ts'

export interface SupposedRequest extends KernelQuestion {
  readonly method: Method
  readonly parsed: Policy
  readonly resources: Resources
  /** `parsed` with the rules that haven't ended. */
  readonly policy: DirectPolicy
}

/** No fact is at hand: attributes of the caller are claims, and the object is supposed. */
const NO_FACTS = { user: () => undefined, object: () => undefined }

/** Stands for an attribute with an unknown value. */
const ANY = ''

type RouteRequest = Extract<MatchedRequest, { kind: 'route' }>

export function supposedRequest(question: Question, { route, endpoint, method }: RouteRequest): SupposedRequest {
  const { reviewed, resources, caller, now } = question
  const resource = resources.byName.get(route.resource)
  if (!resource) throw new Error(`no schema declares ${route.resource}`)
  const policy = directPolicy(reviewed.policy, resources, now)
  const subject = policy.subjectOf(
    caller.kind === 'anonymous'
      ? undefined
      : { id: caller.subject ?? ANY, roles: caller.roles, claims: claimsOf(question, resource.name) },
  )
  const blocked =
    caller.kind === 'caller' && caller.subject !== undefined && isBlocked(reviewed.blocked, caller.subject, now)
  return { method, route, endpoint, resource, subject, blocked, parsed: reviewed.policy, resources, policy }
}

/** The same request of another caller, who may have any value of any attribute. */
export function requestOf(
  request: SupposedRequest,
  { id = ANY, roles }: Partial<Caller> & Pick<Caller, 'roles'>,
): SupposedRequest {
  const claims = Object.fromEntries(attributesOf(request.parsed, request.resource.name).map((name) => [name, ANY]))
  return { ...request, subject: request.policy.subjectOf({ id, roles, claims }) }
}

/** The decision about an object for which exactly these relations hold. */
export function decideOn(
  request: SupposedRequest,
  relations: Iterable<string>,
): SupposedDecision | RouteDecision | Refusal {
  return answer(decideSupposed(request, request.policy, [...relations]), NO_FACTS)
}

/** The fields that a list may be filtered and sorted by. */
export function queryableFields(request: SupposedRequest): readonly string[] {
  const decision = answer(decide(request, request.policy), NO_FACTS)
  return decision.kind === 'list' ? [...decision.queryable.keys()] : []
}

export function tableOf(
  { policy, subject, resource, endpoint }: SupposedRequest,
  action = endpoint.action,
): GrantTable {
  return policy.table(subject, resource.name, action)
}

/** What rules tell before an object is known. */
export function roleLevelOf(request: SupposedRequest, action?: string): RoleLevel {
  const { caller } = request.subject
  const has = (name: string) =>
    caller !== undefined && (name === 'id' || typeof (caller.claims[name] ?? null) !== 'object')
  return tableOf(request, action).roleLevel(has)
}

/** The rules about the caller and the action, or about what its answer shows, whether they have ended or not. */
export function rulesThatMayMatch(question: Question, matched: RouteRequest): readonly Rule[] {
  const request = supposedRequest({ ...question, now: Number.NEGATIVE_INFINITY }, matched)
  const actions = [matched.endpoint.action, 'read'].filter((name) => request.resource.actions.has(name))
  const rules = actions.flatMap((action) => tableOf(request, action).roleLevel(() => true).rules)
  return [...new Set(rules)].toSorted((a, b) => a.line - b.line)
}

/** An attribute that nobody told may have any value; one that is known to be absent is null. */
function claimsOf({ reviewed, known, attributes = {} }: Question, resource: string): Caller['claims'] {
  const record = known.kind === 'object' ? known.record : undefined
  const told = (name: string) =>
    record ? (record[name] ?? null) : Object.hasOwn(attributes, name) ? attributes[name] : ANY
  return Object.fromEntries(attributesOf(reviewed.policy, resource).map((name) => [name, told(name)]))
}

/** The attributes that the relations of a resource compare. */
function attributesOf({ ownership }: Policy, resource: string): readonly string[] {
  const relations = [...(ownership.get(resource)?.relations.values() ?? [])]
  return relations.flatMap(comparedAttributes).filter((name) => name !== 'id')
}
