/**
 * Of the durations that metrics count, some with their trace: so a chart leads to a request that was slow. One for each
 * set of labels and bucket, the last one; what was sent is forgotten.
 */

/** A span of a trace that is sampled. */
export interface TracedSpan {
  /** 32 hexadecimal digits. */
  readonly traceId: string
  /** 16 hexadecimal digits. */
  readonly spanId: string
}

export interface Exemplar extends TracedSpan {
  /** Seconds. */
  readonly value: number
  /** Milliseconds since the epoch. */
  readonly time: number
}

type Labels = Readonly<Record<string, string>>

export class Exemplars {
  /** The bounds of the buckets, in ascending order. */
  readonly #bounds: readonly number[]
  readonly #kept = new Map<string, Map<number, Exemplar>>()

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
  }

  note(labels: Labels, value: number, { traceId, spanId }: TracedSpan): void {
    const bucket = this.#bounds.findIndex((bound) => value <= bound)
    const some = this.#kept.getOrInsertComputed(keyOf(labels), () => new Map())
    some.set(bucket, { traceId, spanId, value, time: Date.now() })
  }

  /** Those of a set of labels since it was asked for them last. */
  take(labels: Labels): readonly Exemplar[] {
    const key = keyOf(labels)
    const found = this.#kept.get(key)
    this.#kept.delete(key)
    return found ? [...found.values()] : []
  }
}

function keyOf(labels: Labels): string {
  return JSON.stringify(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
