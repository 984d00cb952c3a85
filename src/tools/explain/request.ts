/** A question to explain, and its request as the kernel decides it for hypothetical objects, without a server. */
import { namesOnResult, type WrittenLeaves } from '../../analysis/possible-sets.ts'
import { CATALOGUE, type ProblemCode } from '../../base/problems/catalogue.ts'
import type { Caller } from '../../decide/caller.ts'
import { anyCaller } from '../../decide/callers-and-routes.ts'
import { decide, decideHypothetical, isBlocked, type Question as KernelQuestion } from '../../decide/decide.ts'
import type { RouteDecision } from '../../decide/decision.ts'
import { NO_FACTS, withFacts } from '../../decide/facts.ts'
import { type DirectPolicy, directPolicy } from '../../decide/grants/direct.ts'
import type { GrantTable } from '../../decide/grants/grant-table.ts'
import type { RoleLevel } from '../../decide/grants/role-level.ts'
import type { HypotheticalDecision, HypotheticalResult } from '../../decide/permits/assumed-object.ts'
import { inheritedBy, type Policy, type Rule } from '../../decide/policy.ts'
import { problemCodeOf, type Refusal } from '../../decide/refusal.ts'
import { type KnownFacts, type Relation, scalarsOf } from '../../decide/relations/relation-kind.ts'
import { challengeOf } from '../../decide/request-conditions/step-up.ts'
import { byAction } from '../../decide/rules/terms.ts'
import { quote } from '../../present/quote.ts'
import type { Endpoint, Method, Representation, Resources, Route } from '../../resources/resource.ts'
import { redirectStatus, successStatus } from '../../resources/routing/success-status.ts'
import type { LoadedPolicy } from '../load-policy.ts'
import type { DecidingStage, ExplainedAnswer, ExplainedRole, Explanation, Miss, Names } from './explanation.ts'

/** A caller without a subject stands for anybody with credentials. */
export type AskingCaller =
  | { readonly kind: 'anonymous' }
  | { readonly kind: 'caller'; readonly subject: string | undefined; readonly roles: readonly string[] }

/** The router's result; a request that no route accepts comes with the server's answer. */
export type MatchedRequest =
  | {
      readonly kind: 'route'
      readonly method: Method
      readonly route: Route
      readonly endpoint: Endpoint
      /** The object's id, if the path has one in place of `{id}`. */
      readonly id: string | undefined
    }
  | { readonly kind: 'refused'; readonly method: string; readonly answer: ExplainedAnswer; readonly reason: string }

/**
 * What is known about the object: at most its id, its relations (given by the user or the record), or its stored
 * fields.
 */
export type KnownObject =
  | { readonly kind: 'any'; readonly id: string | undefined }
  | {
      readonly kind: 'relations'
      readonly from: '--relation' | 'the record'
      readonly id: string | undefined
      readonly holding: ReadonlySet<string>
      /** Whether these relations hold is not known. */
      readonly unknown?: ReadonlySet<string>
    }
  | {
      readonly kind: 'object'
      readonly id: string
      /** Undefined if there is no such object. */
      readonly object: Representation | undefined
      /** The caller's users record; undefined for a caller without one. */
      readonly record: Representation | undefined
      /** The objects on which relations rest. */
      readonly related: KnownFacts['related']
    }

/** What is known about a request: its address, or which conditions hold. */
export interface KnownRequest {
  /** The client's. */
  readonly address?: string | undefined
  /** Whether the conditions hold, by name. */
  readonly conditions?:
    | { readonly holds: ReadonlyMap<string, boolean>; readonly from: '--with' | 'the record' }
    | undefined
}

export interface ExplainQuestion {
  readonly reviewed: LoadedPolicy
  readonly resources: Resources
  readonly caller: AskingCaller
  /** As the user wrote it. */
  readonly path: string
  readonly request: MatchedRequest
  readonly known: KnownObject
  /** Attributes of the caller from a decision record; an attribute that the caller didn't have is null. */
  readonly attributes?: Representation | undefined
  /** What is known about the conditions of the request, besides its time. */
  readonly assumed: KnownRequest
  /** The states that the write changes, if they are assumed. */
  readonly becomes?: StateChange | undefined
  /** The time of the request, in milliseconds since the epoch: rules and blocks may end. */
  readonly now: number
}

export function explainRoles(policy: Policy, caller: AskingCaller): readonly ExplainedRole[] {
  const roles = caller.kind === 'anonymous' ? [] : caller.roles
  return [...new Set(roles)].map((name) => {
    const declared = policy.roles.has(name)
    return { name, declared, inherits: declared ? [...inheritedBy(policy, name)].filter((role) => role !== name) : [] }
  })
}

// ---- One request of one caller; the kernel decides it for hypothetical objects: the server's checks without a server.

export interface HypotheticalRequest extends KernelQuestion {
  readonly holding?: readonly string[] | undefined
  readonly method: Method
  readonly parsed: Policy
  readonly resources: Resources
  /** `parsed`, with only the rules that haven't ended. */
  readonly policy: DirectPolicy
  /** The states that the write changes, if they are assumed. */
  readonly becomes?: StateChange | undefined
}

export type RouteRequest = Extract<MatchedRequest, { kind: 'route' }>

export function hypotheticalRequest(
  question: ExplainQuestion,
  { route, endpoint, method }: RouteRequest,
): HypotheticalRequest {
  const { reviewed, resources, caller, becomes, now } = question
  const resource = resources.byName.get(route.resource)
  if (!resource) throw new Error(`no schema declares ${route.resource}`)
  const policy = directPolicy(reviewed.policy, resources, now)
  const names = [...(question.assumed.conditions?.holds ?? [])].filter(([, holds]) => holds).map(([name]) => name)
  const subject = policy.subjectOf(usingKey(reviewed.policy, callerOf(question), names))
  const blocked =
    caller.kind === 'caller' && caller.subject !== undefined && isBlocked(reviewed.blocked, caller.subject, now)
  const files = { parsed: reviewed.policy, resources, policy }
  return { method, route, endpoint, resource, subject, blocked, ...files, becomes, now }
}

/** As ownership.yaml declares them for the resource. */
export function declaredRelations({ parsed, resource }: HypotheticalRequest): readonly Relation[] {
  return [...(parsed.ownership.get(resource.name)?.relations.values() ?? [])]
}

/** The same request by another caller, who may have any value of any attribute. */
export function requestOf(request: HypotheticalRequest, caller: Parameters<typeof anyCaller>[1]): HypotheticalRequest {
  return { ...request, subject: request.policy.subjectOf(anyCaller(request.parsed, caller)) }
}

/** The same request while exactly these conditions hold. */
export function holdingExactly(request: HypotheticalRequest, holding: readonly string[]): HypotheticalRequest {
  const { subject, parsed } = request
  return { ...request, holding, subject: { ...subject, caller: usingKey(parsed, subject.caller, holding) } }
}

/** A condition that only an API key meets shows the credential: an API key can't sign in again. */
function usingKey({ conditions }: Policy, caller: Caller | undefined, holding: readonly string[]): Caller | undefined {
  const isKey = holding.some((name) => {
    const condition = conditions.get(name)
    return condition?.kind === 'credential' && condition.credentials.every((kind) => kind === 'api-key')
  })
  return caller && isKey ? { ...caller, credential: 'key assumed' } : caller
}

/** The decision about an object for which exactly these relations hold, and about what a write makes of it. */
export function decideOn(
  request: HypotheticalRequest,
  relations: Iterable<string>,
  written?: WrittenLeaves,
): HypotheticalDecision | RouteDecision | Refusal {
  const stored = [...relations]
  const result = written && hypotheticalResultOf(request, stored, written)
  return withFacts(decideHypothetical(request, request.policy, stored, result), NO_FACTS)
}

/** `written`: of a request that assumes a change of states. */
export function hypotheticalResultOf(
  request: HypotheticalRequest,
  stored: readonly string[],
  written: WrittenLeaves,
): HypotheticalResult {
  if (!request.becomes) throw new Error('the request assumes no change of states')
  return hypotheticalResult(request.becomes, declaredRelations(request), stored, written)
}

/** The fields that a list may be filtered and sorted by. */
export function listQueryFields(request: HypotheticalRequest): readonly string[] {
  const decision = withFacts(decide(request, request.policy), NO_FACTS)
  return decision.kind === 'list' ? [...decision.queryable.keys()] : []
}

export function actionTable(
  { policy, subject, resource, endpoint }: HypotheticalRequest,
  action = endpoint.action,
): GrantTable {
  return policy.table(subject, resource.name, action)
}

/** The tables of the action and of `read`, which decides what the answer to a write shows. */
function tablesOf(request: HypotheticalRequest): readonly GrantTable[] {
  const hasRead = request.resource.actions.has('read')
  return [actionTable(request), ...(hasRead ? [actionTable(request, 'read')] : [])]
}

/** The relations that rules about the caller name. */
export function relationsAsked(request: HypotheticalRequest): readonly Relation[] {
  return [...new Set(tablesOf(request).flatMap(({ compared }) => compared))]
}

/** The conditions of the request that rules about the caller name. */
export function conditionsAsked(request: HypotheticalRequest): ReadonlySet<string> {
  return new Set(tablesOf(request).flatMap(({ conditions }) => conditions))
}

/** Whether the caller has an attribute, `id` included. */
export function hasAttribute({ subject: { caller } }: HypotheticalRequest, name: string): boolean {
  return caller !== undefined && (name === 'id' || scalarsOf(caller.claims[name]).length > 0)
}

/** The grants before an object is known. */
export function roleLevelOf(request: HypotheticalRequest, action?: string): RoleLevel {
  return actionTable(request, action).roleLevel((name) => hasAttribute(request, name), request.holding ?? 'any')
}

/**
 * The rules about the caller and the action, or about `read`, which decides what the answer shows; also ended rules.
 */
export function rulesThatMayMatch(question: ExplainQuestion, matched: RouteRequest): readonly Rule[] {
  const request = hypotheticalRequest({ ...question, now: Number.NEGATIVE_INFINITY }, matched)
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

// ---- A write that changes a state of its object, as --becomes assumes it, and the relations that hold after it.

export interface StateChange {
  /** As the user wrote it: `draft>placed`. */
  readonly text: string
  /** The field that the write changes. */
  readonly field: string
  /** The relations without parts that look at this field. */
  readonly states: Names
  /** Of these, those that hold before the write, and after it. */
  readonly before: Names
  readonly after: Names
}

/** The write changes one field, so all else is as before. `leaves`: those that hold before, perhaps without states. */
export function writtenBy({ states, before, after }: StateChange, leaves: Names): WrittenLeaves {
  const others = leaves.difference(states)
  return { before: others.union(before), after: others.union(after) }
}

/** `stored`: the names that hold for the stored object. */
function hypotheticalResult(
  { field, states }: StateChange,
  relations: readonly Relation[],
  stored: readonly string[],
  { before, after }: WrittenLeaves,
): HypotheticalResult {
  const { mixed, proposed } = namesOnResult(relations, { before, after })
  const isSame = before.intersection(states).symmetricDifference(after.intersection(states)).size === 0
  return { names: { stored, mixed, proposed }, changed: isSame ? undefined : field }
}

// ---- The part of an explanation that depends on the policy: the outcome, the reason and the answer.

export interface Finding
  extends Pick<
    Explanation,
    'outcome' | 'stage' | 'reason' | 'answer' | 'relations' | 'conditions' | 'cases' | 'missing' | 'notes'
  > {
  readonly rules: readonly Rule[]
  readonly misses: readonly NearMiss[]
}

/** A miss whose rules are not yet quoted from the file. */
export interface NearMiss extends Pick<Miss, 'changes' | 'sentence'> {
  readonly rules: readonly Rule[]
}

const NOTHING = { rules: [], relations: [], conditions: [], cases: [], missing: null, misses: [], notes: [] }

export function refusedBy(stage: DecidingStage, reason: string, answer: ExplainedAnswer): Finding {
  return { ...NOTHING, outcome: 'deny', stage, reason, answer }
}

export function allowedBy(stage: DecidingStage, reason: string, answer: ExplainedAnswer): Finding {
  return { ...NOTHING, outcome: 'allow', stage, reason, answer }
}

export function problem(code: ProblemCode, headers: ExplainedAnswer['headers'] = {}): ExplainedAnswer {
  return { status: CATALOGUE[code].status, code, headers }
}

/** The server's answer to a refused request. */
export function refusalAnswer(refusal: Refusal, caller: 'caller' | 'anonymous'): ExplainedAnswer {
  const code = problemCodeOf(refusal, caller)
  const challenge = code === 'step-up-required' && refusal.stepUp ? challengeOf(refusal.stepUp) : undefined
  return problem(code, challenge === undefined ? {} : { 'WWW-Authenticate': challenge })
}

/** A request that no route accepts. */
export function unaccepted(method: string, answer: ExplainedAnswer, reason: string): MatchedRequest {
  return { kind: 'refused', method, answer, reason }
}

/** The reason why the matching rules allow or refuse. */
export function reasonOf(request: HypotheticalRequest, rules: readonly Rule[], outcome: 'allow' | 'deny'): string {
  const allows = rules.filter(({ effect }) => effect === 'allow')
  const denies = rules.length - allows.length
  if (outcome === 'allow')
    return denies > 0 ? 'a rule allows it, and no deny takes everything away' : 'a rule allows it'
  if (allows.length === 0) return 'no rule allows it to this caller'
  return commandReason(request, allows, denies) ?? 'a deny takes away everything that is allowed'
}

/** Which of the two rights is missing, or that some field is. */
function commandReason(
  { route: { command }, endpoint, resource }: HypotheticalRequest,
  allows: readonly Rule[],
  denies: number,
): string | undefined {
  if (!command) return undefined
  const action = resource.actions.get(endpoint.action)
  const [own = [], steps = own] = action ? byAction(allows, action) : []
  const [name, update] = [endpoint.action, 'update'].map(quote)
  if (own.length === 0) return `a rule allows ${update}, but no rule allows ${name} to this caller`
  if (steps.length === 0)
    return `a rule allows ${name}, but its steps need ${update} too, which no rule allows to this caller`
  return denies > 0 ? undefined : 'the rules that allow it do not let this caller set every field of the command'
}

/** Undefined if something else than the changed field is the reason of the refusal. */
export function reasonOfField(rules: readonly Rule[], field: string): string | undefined {
  if (rules.length === 0 || rules.some(({ effect }) => effect === 'deny')) return undefined
  return `the rules that allow it do not let this caller change ${quote(field)}`
}

// ---- The answer to an allowed request that concerns no object: OPTIONS, a redirect, a built-in route.

export function routeAnswer({ route, endpoint, method }: HypotheticalRequest): ExplainedAnswer {
  const { allow, redirect } = route
  if (endpoint.operation === 'options')
    return { status: successStatus('options'), code: null, headers: { Allow: allow } }
  if (redirect) return { status: redirectStatus(redirect, method), code: null, headers: { Location: redirect.to } }
  // DELETE ends the session of the caller; the command line can't know whether there is one.
  return { status: successStatus(endpoint.operation === 'delete' ? 'delete' : 'read'), code: null, headers: {} }
}

export function isRedirect({ route, endpoint }: HypotheticalRequest): boolean {
  return route.redirect !== undefined && endpoint.operation !== 'options'
}
