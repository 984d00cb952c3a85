/**
 * The facts that a decision asks for, and how it gets them. A decision is a generator: it asks, and whoever runs it
 * (`withFacts`) answers from a store, a record, or a world in memory.
 */
import type { StoredObject } from '../resources/object.ts'
import type { Lookup } from './conditions/condition.ts'
import type { GrantTable } from './grants/grant-table.ts'
import type { Relation } from './relations/relation-kind.ts'

/** `caller`: the users record of the caller. `lookup`: whether some stored object answers it, so that `relation` holds. */
export type FactNeed =
  | { readonly kind: 'caller'; readonly id: string }
  | { readonly kind: 'object'; readonly resource: string; readonly id: string }
  | { readonly kind: 'lookup'; readonly lookup: Lookup; readonly relation: Relation }

/** `table`: a grant table for which Casbin is being loaded. */
type Need = FactNeed | { readonly kind: 'table'; readonly table: Promise<GrantTable> }

export type Steps<T, N extends Need = Need> = Generator<N, T, unknown>

type FoundObject = StoredObject | undefined

/** The stored facts that decisions ask for. */
export interface FactSource<Object = FoundObject | Promise<FoundObject>, Answer = boolean | Promise<boolean>> {
  /** The users record with this id, or undefined. */
  user(id: string): Object
  object(resource: string, id: string): Object
  /** `relation`: the relation that rests on the answer. */
  lookup(lookup: Lookup, relation: Relation): Answer
}

export type FactsAtHand = FactSource<FoundObject, boolean>

/** For decisions about assumed objects: the caller's attributes come from claims, and the relations are given. */
export const NO_FACTS: FactsAtHand = { user: () => undefined, object: () => undefined, lookup: () => false }

/** Runs a decision: synchronously, without a promise, if all facts are available at once. */
export function withFacts<T>(steps: Steps<T, FactNeed>, facts: FactsAtHand): T
export function withFacts<T>(steps: Steps<T>, facts: FactSource): T | Promise<T>
export function withFacts<T>(steps: Steps<T>, facts: FactSource): T | Promise<T> {
  let step = steps.next()
  while (!step.done) {
    const fact = factFor(step.value, facts)
    if (fact instanceof Promise) return goOn(steps, facts, fact)
    step = steps.next(fact)
  }
  return step.value
}

async function goOn<T>(steps: Steps<T>, facts: FactSource, first: Promise<unknown>): Promise<T> {
  let step = steps.next(await first)
  while (!step.done) {
    const fact = factFor(step.value, facts)
    step = steps.next(fact instanceof Promise ? await fact : fact)
  }
  return step.value
}

function factFor(need: Need, facts: FactSource): unknown {
  switch (need.kind) {
    case 'table':
      return need.table
    case 'caller':
      return facts.user(need.id)
    case 'object':
      return facts.object(need.resource, need.id)
    case 'lookup':
      return facts.lookup(need.lookup, need.relation)
  }
}

/** Decisions about one caller need one users record: `records` keeps it, by id. */
export function* askingOnce<T>(steps: Steps<T>, records: Map<string, unknown>): Steps<T> {
  let step = steps.next()
  while (!step.done) {
    const need = step.value
    if (need.kind !== 'caller') {
      step = steps.next(yield need)
      continue
    }
    if (!records.has(need.id)) records.set(need.id, yield need)
    step = steps.next(records.get(need.id))
  }
  return step.value
}
