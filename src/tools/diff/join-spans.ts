/** Where rules end, two policies may differ in other ways later: what is true for a while is told once, with its times. */
import type { DecisionChange } from './change.ts'

/** What differs from a moment on (milliseconds since the epoch), until the next span begins. */
export interface Span {
  readonly from: number
  readonly changes: readonly DecisionChange[]
}

/** Changes of the first span have no `from`, those of the last one no `until`. */
export function joinSpans(spans: readonly Span[]): readonly DecisionChange[] {
  const keyed = spans.map(({ from, changes }) => ({
    from,
    changes: new Map(changes.map((change) => [JSON.stringify(change), change])),
  }))
  return keyed.flatMap(({ from, changes }, i) =>
    [...changes]
      .filter(([key]) => !keyed[i - 1]?.changes.has(key))
      .map(([key, change]) => {
        const until = keyed.find((later, at) => at > i && !later.changes.has(key))?.from
        return { ...change, ...(i > 0 ? { from } : {}), ...(until === undefined ? {} : { until }) }
      }),
  )
}
