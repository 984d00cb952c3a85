/** How cost grows with size: the exponent of a power law, fitted by least squares of the logarithms. */
import type { Row, Sample } from './result.ts'
import { median } from './statistics.ts'

export interface Growth {
  /** What grows, such as `rules`. */
  readonly of: string
  readonly quantity: string
  /** In the order of the sizes; medians of the rounds. */
  readonly points: readonly Point[]
  readonly fit: Fit | undefined
}

interface Point {
  readonly size: number
  readonly value: number
}

interface Fit {
  /** 0: as dear at each size; 1: ten times as dear at ten times the size. */
  readonly exponent: number
  /** Half the width of its interval of 95 %; undefined for two points. */
  readonly uncertainty: number | undefined
}

/** Of Student's t, for 95 % on both sides, by degrees of freedom. */
const T95 = [12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306]

/** Each quantity of the rows that have a size, by what grows. */
export function growthOf(rows: readonly Row[]): readonly Growth[] {
  const sized = Map.groupBy(
    rows.filter(({ size }) => size !== undefined),
    ({ size }) => size?.of ?? '',
  )
  return [...sized].flatMap(([of, own]) => {
    const quantities = new Set(own.flatMap((row) => Object.keys(row.quantities)))
    return [...quantities].map((quantity) => {
      const points = own.flatMap((row) => pointOf(row, row.quantities[quantity] ?? []))
      return { of, quantity, points, fit: fitPower(points) }
    })
  })
}

function pointOf({ size }: Row, sample: Sample): readonly Point[] {
  return size && sample.length > 0 ? [{ size: size.count, value: median(sample) }] : []
}

/**
 * Through one point a size, and not through each round's: each size is another process, so rounds of one size aren't
 * independent.
 */
export function fitPower(points: readonly Point[]): Fit | undefined {
  if (points.length < 2 || points.some(({ size, value }) => size <= 0 || value <= 0)) return undefined
  const [x, y] = [points.map(({ size }) => Math.log(size)), points.map(({ value }) => Math.log(value))]
  const [middleX, middleY] = [mean(x), mean(y)]
  const width = sum(x.map((value) => (value - middleX) ** 2))
  const exponent = sum(x.map((value, i) => (value - middleX) * ((y[i] ?? 0) - middleY))) / width
  const missed = sum(x.map((value, i) => ((y[i] ?? 0) - middleY - exponent * (value - middleX)) ** 2))
  const freedom = points.length - 2
  const t = T95[Math.min(freedom, T95.length) - 1]
  return { exponent, uncertainty: t === undefined ? undefined : t * Math.sqrt(missed / freedom / width) }
}

function mean(values: readonly number[]): number {
  return sum(values) / values.length
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
