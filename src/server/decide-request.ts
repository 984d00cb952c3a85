/**
 * Decides a request with the facts of the store. src/decide/decide.ts has the checks; this file has the facts that they
 * need. The stage `authorize` asks it, and a write that came too late.
 */
import { looksAt } from '../decide/conditions/condition.ts'
import { decide, decideAtRoleLevel, type Question } from '../decide/decide.ts'
import type { Decision } from '../decide/decision.ts'
import { type FactSource, type Steps, withFacts } from '../decide/facts.ts'
import type { Permit } from '../decide/permits/permit.ts'
import { USERS } from '../decide/policy.ts'
import { orRefuse } from '../decide/refusal.ts'
import type { ActivePolicy } from '../policy/active-policy.ts'
import { isBlocked } from '../policy/parse/parse-blocked.ts'
import type { Resources } from '../resources/resource.ts'
import type { Store } from '../store/contract.ts'
import type { Accepted, AcceptedRequest, Addressed, Forwarding, Received } from './stages/state.ts'

export interface Gate {
  readonly resources: Resources
  readonly store: Pick<Store, 'get' | 'lookup'>
}

/** Also knows what a write would leave. */
export type WriteGate = Gate & { readonly store: Pick<Store, 'lookupAfter' | 'atOnce'> }

/** Who asks, for what, when, and from where. */
export interface ToDecide extends Pick<AcceptedRequest, 'match' | 'caller'> {
  /** The time of the request, in milliseconds since the epoch. */
  readonly at: number
  readonly address?: string | undefined
  /** A gateway asks; the object is elsewhere. */
  readonly forwarded?: unknown
}

/** What a request asks, once a route and a caller are known. */
export function toDecide(state: Received & Addressed & Accepted & Forwarding): ToDecide {
  const { accepted, at, wholeAddress: address, forwarded } = state
  return { ...accepted, at, address, forwarded }
}

/** Throws Refused or a fault. A fault never lets a request pass. */
export async function decideRequest(gate: Gate, policy: ActivePolicy, asked: ToDecide): Promise<Decision> {
  const question = questionAsked(gate, policy, asked)
  const steps = asked.forwarded ? decideAtRoleLevel(question, policy.snapshot) : decide(question, policy.snapshot)
  return orRefuse(await withFacts(steps, factsFrom(gate)))
}

export function questionAsked(gate: Gate, { snapshot, blocked }: ActivePolicy, asked: ToDecide): Question {
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

/**
 * Gets the facts that further steps ask for: as they are, or as they will be right after a write. Most relations don't
 * look at objects of the written resource.
 */
export function askFacts<T>(
  gate: WriteGate,
  steps: Steps<T>,
  written?: Permit<'create'> | Permit<'update'>,
): T | Promise<T> {
  const facts = factsFrom(gate)
  if (!written) return withFacts(steps, facts)
  return withFacts(steps, {
    ...facts,
    lookup: (lookup, relation) =>
      looksAt(lookup, written.resource) ? gate.store.lookupAfter(written, lookup) : facts.lookup(lookup, relation),
  })
}
