/** How handlers write: with a permit, and with the outcome that the write is told by, which commits with it. */
import type { Problem } from '../../base/problems/problem.ts'
import type { Permit } from '../../decide/permit.ts'
import type { StoredObject } from '../../resources/object.ts'
import type { CommitWith, Replay } from '../../store/contract.ts'
import type { Outcome } from './outcome.ts'

/** How a request ends: with an outcome, or with a refusal. */
export type End = { readonly outcome: Outcome } | { readonly problem: Problem }

/** Each throws what the store throws; nothing is written then. `outcomeOf` is called once, before the write commits. */
export interface Writes {
  /** Under an idempotency key, where one is given: with that in the same commit. */
  create(permit: Permit<'create'>, outcomeOf: (created: StoredObject) => Outcome, replay?: Replay): Promise<Outcome>
  update(permit: Permit<'update'>, outcomeOf: (updated: StoredObject) => Outcome): Promise<Outcome>
  delete(permit: Permit<'delete'>, outcomeOf: () => Outcome): Promise<Outcome>
  /** A change of another kind than an object's, which may come to nothing: then `endOf` isn't called. What `change` returns. */
  other<T, R>(change: (commitWith: CommitWith<T>) => Promise<R>, endOf: (changed: T) => End): Promise<R>
}
