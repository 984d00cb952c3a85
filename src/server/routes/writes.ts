/** How handlers write: with a permit, and with the outcome that the decision record of the write tells. */
import type { Problem } from '../../base/problems/problem.ts'
import type { Permit } from '../../decide/permit.ts'
import type { Replay } from '../../store/contract.ts'
import type { Outcome } from './outcome.ts'

/** How a request ends: with an outcome, or with a refusal. */
export type End = { readonly outcome: Outcome } | { readonly problem: Problem }

/** `time`: when the write happens, as the object and the outcome tell it. */
interface At {
  readonly time: string
}

/** A write resolves with its outcome; it throws what the store throws, and nothing is written then. */
export interface Writes {
  create(
    permit: Permit<'create'>,
    outcome: Outcome,
    at: At & { readonly replay?: Replay | undefined },
  ): Promise<Outcome>
  update(permit: Permit<'update'>, outcome: Outcome, at: At): Promise<Outcome>
  delete(permit: Permit<'delete'>, outcome: Outcome): Promise<Outcome>
  /** The decision record of a request that ends so: whoever changes something else than an object commits it with the change. */
  record(end: End): string
  /** To be called when a record of `record` has committed. */
  committed(record: string): void
}
