/**
 * The one authorization middleware. Every method of every route passes here, OPTIONS included, and nothing else
 * decides, except the permits that its decision gives out. src/decide/decide.ts has the checks; this file has the facts
 * that they need.
 */

import { decide, withFacts } from '../../decide/decide.ts'
import type { Decision } from '../../decide/decision.ts'
import { USERS } from '../../decide/policy.ts'
import { orRefuse } from '../../decide/refusal.ts'
import type { ActivePolicy } from '../../policy/live-policy.ts'
import { isBlocked } from '../../policy/parse/parse-blocked.ts'
import type { Resources } from '../../resources/resource.ts'
import type { Store } from '../../store/contract.ts'
import type { Stage } from './stage.ts'
import type { Accepted, AcceptedRequest, Authorized, Received } from './state.ts'

export interface Gate {
  readonly resources: Resources
  readonly store: Pick<Store, 'get'>
  /** Milliseconds since the epoch, because a block may expire. */
  readonly now: () => number
}

/** Leaves a decision, or throws Refused or a fault. A fault never lets a request pass. */
export function authorize(gate: Gate): Stage<Received & Accepted, Authorized> {
  return async (ctx, next) => {
    const { policy, accepted } = ctx.state
    ctx.state.decideAnew = () => decideRequest(gate, policy, accepted)
    ctx.state.decision = await decideRequest(gate, policy, accepted)
    return next()
  }
}

export async function decideRequest(
  { resources, store, now }: Gate,
  { snapshot, blocked }: ActivePolicy,
  { match, caller }: Pick<AcceptedRequest, 'match' | 'caller'>,
): Promise<Decision> {
  const { route, endpoint, id } = match
  const resource = resources.byName.get(route.resource)
  if (!resource) throw new Error(`no schema declares ${route.resource}`)
  const question = {
    route,
    endpoint,
    resource,
    subject: snapshot.subjectOf(caller),
    blocked: caller !== undefined && isBlocked(blocked, caller.id, now()),
    id,
  }
  const facts = {
    user: (subject: string) => (resources.byName.has(USERS) ? store.get(USERS, subject) : undefined),
    object: (name: string, of: string) => store.get(name, of),
  }
  return orRefuse(await withFacts(decide(question, snapshot), facts))
}
