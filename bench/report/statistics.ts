/** The few figures that a sample is told by. */
import type { Row, Sample, Target } from './result.ts'

/** NaN for an empty sample. */
export function median(sample: Sample): number {
  const sorted = sample.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/** NaN for an empty sample; between two values in proportion. `share` 0.25 and 0.75 are the quartiles. */
export function quantile(sample: Sample, share: number): number {
  const sorted = sample.toSorted((a, b) => a - b)
  const place = (sorted.length - 1) * share
  const [lower, upper] = [sorted[Math.floor(place)] ?? Number.NaN, sorted[Math.ceil(place)] ?? Number.NaN]
  return lower + (upper - lower) * (place - Math.floor(place))
}

export function least(sample: Sample): number {
  return Math.min(...sample)
}

export function most(sample: Sample): number {
  return Math.max(...sample)
}

/**
 * Of one row's quantity to another's, within each round, so that what the machine did in that round is in both. A round
 * that was too short to measure the other one has no ratio.
 */
export function ratios(quantity: string, over: Row | undefined, under: Row | undefined): Sample {
  const lower = under?.quantities[quantity] ?? []
  const both = (over?.quantities[quantity] ?? []).slice(0, lower.length)
  return both.map((value, i) => value / (lower[i] ?? Number.NaN)).filter(Number.isFinite)
}

export interface Verdict {
  readonly value: number
  readonly met: boolean
  /** How far beyond the bound, as a share of it; negative when met. */
  readonly missedBy: number
}

/** By the median. A target without a value isn't met. */
export function judge({ atLeast, atMost, values }: Target): Verdict {
  const value = median(values)
  const bound = atLeast ?? atMost ?? Number.NaN
  const missedBy = (atLeast === undefined ? value - bound : bound - value) / bound
  return { value, met: missedBy <= 0, missedBy }
}
