/**
 * The snapshots of one policy whose rules may end: for each time, the rules in force then. Reads no clock; callers pass
 * the time.
 */
import type { Resources } from '../../resources/resource.ts'
import { casbinPolicy } from '../casbin/casbin.ts'
import type { Snapshot } from '../snapshot.ts'
import type { PackedPolicy } from './rule-table.ts'

/**
 * The snapshot of the times from `from` on and before `to`, between which no rule ends; in milliseconds since the
 * epoch.
 */
interface SnapshotSpan {
  readonly from: number
  readonly to: number
  readonly snapshot: Snapshot
}

/** Runs the steps that make cells, one after the other, whenever it has time. */
export type Warm = (steps: AsyncIterable<unknown>) => Promise<void>

export class Snapshots {
  readonly #policy: PackedPolicy
  readonly #resources: Resources
  readonly #warm: Warm
  #span: SnapshotSpan | undefined

  constructor(policy: PackedPolicy, resources: Resources, warm: Warm = warmAtOnce) {
    this.#policy = policy
    this.#resources = resources
    this.#warm = warm
  }

  /**
   * Costs two comparisons while no rule ends. Time may go back: after a clock correction, a rule can be in force again.
   */
  at(now: number): Snapshot {
    const span = this.#span
    if (span && span.from <= now && now < span.to) return span.snapshot
    const next = this.#spanAt(now)
    this.#span = next
    // Not awaited: ended rules must not stay in force until the cells are made. A table that fails is made again when
    // it is needed.
    if (span) this.#warm(next.snapshot.warmLike(span.snapshot)).catch(() => {})
    return next.snapshot
  }

  /** Makes the cells that another snapshot has in use, for what is asked at this time. */
  warmLike(other: Snapshot, now: number): Promise<void> {
    return this.#warm(this.at(now).warmLike(other))
  }

  /** The lines of the rules that end after one time and up to another. */
  endedBetween(from: number, to: number): readonly number[] {
    const { lines, untils } = this.#policy.table
    const ended = lines.filter((_, i) => from < (untils[i] ?? 0) && (untils[i] ?? 0) <= to)
    return [...ended.sort()]
  }

  #spanAt(now: number): SnapshotSpan {
    const { ends } = this.#policy.table
    return {
      from: ends.findLast((end) => end <= now) ?? Number.NEGATIVE_INFINITY,
      to: ends.find((end) => now < end) ?? Number.POSITIVE_INFINITY,
      snapshot: casbinPolicy(this.#policy, this.#resources, now),
    }
  }
}

async function warmAtOnce(steps: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of steps);
}
