/**
 * The one authorization middleware. Every method of every route passes here, OPTIONS included, and nothing else
 * decides, except the permits that its decision gives out. src/decide/decide.ts has the checks; this file has the facts
 * that they need.
 */

import { looksAt } from '../../decide/conditions/condition.ts'
import { decide, decideAtRoleLevel, type Question } from '../../decide/decide.ts'
import type { Decision } from '../../decide/decision.ts'
import { type FactSource, withFacts } from '../../decide/facts.ts'
import { abilitiesOf } from '../../decide/grants/abilities.ts'
import type { Permit } from '../../decide/permits/permit.ts'
import { USERS } from '../../decide/policy.ts'
import { orRefuse } from '../../decide/refusal.ts'
import type { ActivePolicy } from '../../policy/active-policy.ts'
import { isBlocked } from '../../policy/parse/parse-blocked.ts'
import type { Resources } from '../../resources/resource.ts'
import type { Store } from '../../store/contract.ts'
import { decideAhead } from './authenticate.ts'
import type {
  Accepted,
  AcceptedRequest,
  Addressed,
  Authenticated,
  Authorized,
  Forwarding,
  Received,
  Stage,
} from './state.ts'

export interface Gate {
  readonly resources: Resources
  readonly store: Pick<Store, 'get' | 'lookup'>
}

/** Also knows what a write would leave. */
type WriteGate = Gate & { readonly store: Pick<Store, 'lookupAfter' | 'atOnce'> }

/** Who asks, for what, when, and from where. */
interface Asked extends Pick<AcceptedRequest, 'match' | 'caller'> {
  /** The time of the request, in milliseconds since the epoch. */
  readonly at: number
  readonly address?: string | undefined
  /** A gateway asks; the object is elsewhere. */
  readonly forwarded?: unknown
}

/** Leaves a decision, or throws Refused or a fault. A fault never lets a request pass. */
export function authorize(
  gate: WriteGate,
): Stage<Received & Addressed & Authenticated & Accepted & Forwarding, Authorized> {
  const facts = factsFrom(gate)
  return async (ctx, next) => {
    const { policy, accepted, at, wholeAddress: address, forwarded, ahead } = ctx.state
    const asked = { ...accepted, at, address, forwarded }
    ctx.state.ask = (steps, written) => withFacts(steps, written ? factsAfter(written, facts, gate) : facts)
    ctx.state.abilities = () => withFacts(abilitiesOf(questionOf(gate, policy, asked), policy.snapshot), facts)
    const decideAnew = () => decideRequest(gate, policy, asked)
    ctx.state.decideAnew = decideAnew
    const early = ahead && decideAhead(decide(questionOf(gate, policy, asked), policy.snapshot), ahead)
    // With an object at hand that isn't enough, all facts are read in one state. Others may need nothing of the store.
    ctx.state.decision = early ? orRefuse(early) : await (ahead ? gate.store.atOnce(decideAnew) : decideAnew())
    return next()
  }
}

export async function decideRequest(gate: Gate, policy: ActivePolicy, asked: Asked): Promise<Decision> {
  const question = questionOf(gate, policy, asked)
  const steps = asked.forwarded ? decideAtRoleLevel(question, policy.snapshot) : decide(question, policy.snapshot)
  return orRefuse(await withFacts(steps, factsFrom(gate)))
}

function questionOf(gate: Gate, { snapshot, blocked }: ActivePolicy, asked: Asked): Question {
  const { match, caller, at: now, address } = asked
  const { route, endpoint, id } = match
  const resource = gate.resources.byName.get(route.resource)
  if (!resource) throw new Error(`no schema declares ${route.resource}`)
  return {
    route,
    endpoint,
    resource,
    subject: snapshot.subjectOf(caller),
    blocked: caller !== undefined && isBlocked(blocked, caller.id, now),
    id,
    now,
    address,
  }
}

function factsFrom({ resources, store }: Gate): FactSource {
  return {
    user: (subject) => (resources.byName.has(USERS) ? store.get(USERS, subject) : undefined),
    object: (name, id) => store.get(name, id),
    lookup: (lookup) => store.lookup(lookup),
  }
}

/** The facts right after a write, for its answer. Most relations don't look at objects of the written resource. */
function factsAfter(written: Permit<'create'> | Permit<'update'>, facts: FactSource, { store }: WriteGate): FactSource {
  return {
    ...facts,
    lookup: (lookup, relation) =>
      looksAt(lookup, written.resource) ? store.lookupAfter(written, lookup) : facts.lookup(lookup, relation),
  }
}
