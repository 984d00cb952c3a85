/** What every part of an explanation is made from: one caller, one method of one route, under one policy. */

import { evaluate, roleLevelRules, type Verdict } from '../../decide/grants/evaluate.ts'
import type { Policy, Rule } from '../../decide/policy.ts'
import type { Has } from '../../decide/relations/relation-kind.ts'
import type { Action, Representation, Resource, Resources } from '../../resources/resource.ts'
import { type AskingCaller, type RouteRequest, subjectsOf } from './question.ts'

export interface Ground extends RouteRequest {
  readonly policy: Policy
  readonly resource: Resource
  readonly action: Action
  readonly caller: AskingCaller
  readonly subjects: ReadonlySet<string>
  /** Whether the caller has an attribute, or may have it. */
  readonly has: Has
  /** The object, where it was read. */
  readonly object: Representation | undefined
}

export function groundOf(
  policy: Policy,
  resources: Resources,
  request: RouteRequest & Pick<Ground, 'caller' | 'object' | 'has'>,
): Ground {
  const resource = resources.byName.get(request.route.resource)
  const action = resource?.actions.get(request.endpoint.action)
  if (!resource || !action)
    throw new Error(`no schema declares ${request.endpoint.action} on ${request.route.resource}`)
  return { ...request, policy, resource, action, subjects: subjectsOf(policy, request.caller) }
}

/** The rules about the caller, the resource and the action that count before an object is known, by line. */
export function pageRules({ policy, subjects, resource, has }: Ground, action: Action): readonly Rule[] {
  return roleLevelRules(policy, { subjects, resource, action }, has)
}

export function verdictOf(
  { policy, subjects, resource }: Ground,
  action: Action,
  relations: ReadonlySet<string>,
): Verdict {
  return evaluate(policy, { subjects, resource, action, relations })
}

/** What `read` grants is what answers to writes show; only built-in resources may be without it. */
export function readAction({ resource, action }: Ground): Action {
  return resource.actions.get('read') ?? action
}

/** Role level: whether some set of relations that the caller could have would be allowed. It is enough to look at the set of each allow rule. */
export function isReachable(ground: Ground): boolean {
  return pageRules(ground, ground.action).some(
    ({ effect, relations }) =>
      effect === 'allow' && verdictOf(ground, ground.action, new Set(relations)).fields.size > 0,
  )
}

/** Whether a request of this kind is about objects, so that relations count. */
export function concernsObjects({ endpoint, resource, route }: Ground): boolean {
  return endpoint.operation !== 'options' && !resource.builtIn && route.redirect === undefined
}

/** The caller's own record needs a caller, whatever the policy grants. */
export function needsCaller({ route, endpoint, caller }: Ground): boolean {
  return route.kind === 'caller' && endpoint.operation !== 'options' && caller.kind === 'anonymous'
}
