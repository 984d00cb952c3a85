/**
 * The one authorization middleware: every method of every route passes here, OPTIONS included, and nothing else decides,
 * except the permits that its decision gives out. src/decide/decide.ts has the checks; this file has the facts that they
 * need. A write whose object has changed since asks `decideRequest` again.
 */
import { onceKnown } from '../../base/now-or-later.ts'
import { callerKey } from '../../decide/caller.ts'
import { looksAt } from '../../decide/conditions/condition.ts'
import { decide, decideAtRoleLevel, isBlocked, type Question } from '../../decide/decide.ts'
import type { Decision } from '../../decide/decision.ts'
import { type FactSource, type Steps, withFacts } from '../../decide/facts.ts'
import { decideUnder, type NamedParent } from '../../decide/permits/parents.ts'
import type { Permit } from '../../decide/permits/permit.ts'
import { USERS } from '../../decide/policy.ts'
import { orRefuse, type Refusal } from '../../decide/refusal.ts'
import type { ActivePolicy } from '../../policy/live/active-policy.ts'
import type { Resources } from '../../resources/resource.ts'
import type { RouteMatch } from '../../resources/routing/match-route.ts'
import type { ReadChanges } from '../../store/changes.ts'
import type { Store } from '../../store/contract.ts'
import { clientGone } from '../http/http-server.ts'
import type { SliceQueue } from '../slices.ts'
import { decideHistory } from './decide-history.ts'
import type {
  Accepted,
  AcceptedRequest,
  Authenticated,
  Authorized,
  PrefetchedObject,
  Received,
  Stage,
} from './state.ts'

export interface Gate {
  readonly resources: Resources
  readonly store: Pick<Store, 'get' | 'lookup'>
  /** For histories of deleted objects. */
  readonly changes?: ReadChanges | undefined
}

/** Also knows what a write would leave. */
export type WriteGate = Gate & {
  readonly store: Pick<Store, 'lookupAfter' | 'inOneReadTransaction'>
  readonly slices: Pick<SliceQueue, 'decide'>
}

/** Provides a decision, or throws Refused or a fault. */
export function authorize(gate: WriteGate): Stage<Received & Authenticated & Accepted, Authorized> {
  return (ctx, next) => {
    const { policy, prefetched, accepted } = ctx.state
    const early =
      prefetched &&
      !accepted.match.route.history &&
      decidePrefetched(decide(questionAsked(gate, policy, accepted), policy.snapshot), prefetched)
    const decideNow = () => decideRequest(gate, policy, accepted)
    // With an object at hand that isn't enough, all facts are read in one state. Others may need nothing of the store.
    const isOneState = prefetched !== undefined || accepted.match.parentId !== undefined
    const decideAll = () => (isOneState ? gate.store.inOneReadTransaction(decideNow) : decideNow())
    const decided = early
      ? orRefuse(early)
      : gate.slices.decide(
          () => whoseOf(accepted),
          () => clientGone(ctx.res),
          decideAll,
        )
    return onceKnown(decided, (decision) => {
      ctx.state.decision = decision
      return next()
    })
  }
}

/**
 * The decision, if this object is the only fact that it needs. Undefined for others: the users record of the caller, or
 * a membership, would be newer than the object, and the decision could rest on a state that never was.
 */
export function decidePrefetched<T>(steps: Steps<T>, { resource, id, object }: PrefetchedObject): T | undefined {
  let step = steps.next()
  while (!step.done) {
    const need = step.value
    if (need.kind !== 'object' || need.resource !== resource || need.id !== id) return undefined
    step = steps.next(object)
  }
  return step.value
}

/** Throws Refused or a fault. A fault never lets a request pass. */
export function decideRequest(gate: Gate, policy: ActivePolicy, asked: AcceptedRequest): Decision | Promise<Decision> {
  const question = questionAsked(gate, policy, asked)
  const steps = () => stepsOf(gate, policy, asked, question)
  const facts = factsFrom(gate, asked)
  const { at, match } = asked
  const decided =
    match.route.history && gate.changes
      ? decideHistory(steps, facts, gate.changes, {
          route: match.route,
          query: match.target.query,
          at,
          ownership: policy.snapshot.ownershipOf(question.resource.name),
        })
      : withFacts(steps(), facts)
  return onceKnown(decided, orRefuse<Decision>)
}

function stepsOf(
  gate: Gate,
  { snapshot }: ActivePolicy,
  asked: AcceptedRequest,
  question: Question,
): Steps<Decision | Refusal> {
  if (asked.forwarded) return decideAtRoleLevel(question, snapshot)
  const parent = parentNamed(gate, asked.match)
  return parent ? decideUnder(parent, question, snapshot) : decide(question, snapshot)
}

function parentNamed({ resources }: Gate, { route: { parent }, parentId }: RouteMatch): NamedParent | undefined {
  if (!parent) return undefined
  const resource = resources.byName.get(parent.resource)
  if (!resource || parentId === undefined) throw new Error(`no ${parent.resource} is named`)
  return { field: parent.field, resource, id: parentId }
}

export function questionAsked(gate: Gate, { snapshot, blocked }: ActivePolicy, asked: AcceptedRequest): Question {
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

/** Whose turn a decision takes, if it takes long. */
export const whoseOf = ({ caller, address = '' }: AcceptedRequest) => callerKey({ caller, address })

function factsFrom({ resources, store }: Gate, asked: AcceptedRequest): FactSource {
  return {
    user: (subject) => (resources.byName.has(USERS) ? store.get(USERS, subject) : undefined),
    object: (name, id) => store.get(name, id),
    lookup: (lookup) => store.lookup(lookup, whoseOf(asked)),
  }
}

/** Whoever is gone takes its turns too, because its write is done. */
const NEVER = new AbortController().signal

/**
 * Gets the facts that further steps ask for, in the turn of this caller: as they are, or as they will be right after a
 * write. Most relations don't look at objects of the written resource.
 */
export function askFacts<T>(
  gate: WriteGate,
  asked: AcceptedRequest,
  steps: Steps<T>,
  written?: Permit<'create'> | Permit<'update'>,
): T | Promise<T> {
  const [{ store, slices }, facts] = [gate, factsFrom(gate, asked)]
  const lookup: FactSource['lookup'] = (one, by) =>
    written && looksAt(one, written.resource) ? store.lookupAfter(written, one, whoseOf(asked)) : facts.lookup(one, by)
  return slices.decide(
    () => whoseOf(asked),
    () => NEVER,
    () => withFacts(steps, { ...facts, lookup }),
  )
}
