/** One policy whose rules may end: at each time the snapshot of the rules that live then. Reads no clock; it is told. */
import type { Resources } from '../resources/resource.ts'
import { endsOf, livingAt } from './ends.ts'
import type { Policy } from './policy.ts'
import { Snapshot } from './snapshot.ts'

/** The snapshot of the times from `from` on and before `to`, between which no rule ends; in milliseconds since the epoch. */
interface Span {
  readonly from: number
  readonly to: number
  readonly snapshot: Snapshot
}

export class Snapshots {
  readonly #policy: Policy
  readonly #resources: Resources
  readonly #ends: readonly number[]
  #span: Span | undefined

  constructor(policy: Policy, resources: Resources) {
    this.#policy = policy
    this.#resources = resources
    this.#ends = endsOf(policy.rules)
  }

  /** Two comparisons while nothing ends. The times may go back: a clock that is set right brings a rule back. */
  at(now: number): Snapshot {
    const span = this.#span
    if (span && span.from <= now && now < span.to) return span.snapshot
    const next = this.#spanAt(now)
    this.#span = next
    // Not awaited: what has ended must not rule until cells are made. A page that fails is made again when it is asked.
    if (span) next.snapshot.warmLike(span.snapshot).catch(() => {})
    return next.snapshot
  }

  /** The lines of the rules that end after one time and up to another. */
  endedBetween(from: number, to: number): readonly number[] {
    return this.#policy.rules.flatMap(({ line, until }) =>
      until !== undefined && from < until && until <= to ? [line] : [],
    )
  }

  #spanAt(now: number): Span {
    return {
      from: this.#ends.findLast((end) => end <= now) ?? Number.NEGATIVE_INFINITY,
      to: this.#ends.find((end) => now < end) ?? Number.POSITIVE_INFINITY,
      snapshot: new Snapshot(livingAt(this.#policy, now), this.#resources),
    }
  }
}
