/** The numbers that bounds and steps allow: an interval of doubles, or the multiples of a decimal in it. */
import { type Decimal, decimalOf, scaled } from '../../base/decimal.ts'
import { isMultiple } from '../validate/multiple-of.ts'
import { numberAt, type SchemaPart, wantsIntegers } from './parts.ts'
import type { Taken } from './taken.ts'

interface Interval {
  readonly least: number
  readonly most: number
}

/** At most `count` different numbers, readable ones first. The parts' bounds and steps all hold. */
export function takeNumbers(parts: readonly SchemaPart[], count: number): Taken<number> {
  const interval = intervalOf(parts)
  if (interval.least > interval.most) return { values: [], complete: true }
  const step = stepOf(parts)
  return step ? takeMultiples(interval, step, count) : takeDoubles(interval, count)
}

/** Whether each number that fits the parts is a multiple of the step, because their own steps are. */
export function impliesStep(parts: readonly SchemaPart[], step: number): boolean {
  const own = stepOf(parts)
  if (!own) return false
  const exponent = Math.min(own.exponent, decimalOf(step).exponent)
  return scaled(own, exponent) % scaled(decimalOf(step), exponent) === 0n
}

/** An open end is the next double. */
function intervalOf(parts: readonly SchemaPart[]): Interval {
  const lower = parts.flatMap(({ schema }) => [
    numberAt(schema, 'minimum') ?? -Number.MAX_VALUE,
    nextAbove(numberAt(schema, 'exclusiveMinimum')) ?? -Number.MAX_VALUE,
  ])
  const upper = parts.flatMap(({ schema }) => [
    numberAt(schema, 'maximum') ?? Number.MAX_VALUE,
    nextBelow(numberAt(schema, 'exclusiveMaximum')) ?? Number.MAX_VALUE,
  ])
  return { least: Math.max(-Number.MAX_VALUE, ...lower), most: Math.min(Number.MAX_VALUE, ...upper) }
}

/** The least common multiple of all steps, or undefined without a step. */
function stepOf(parts: readonly SchemaPart[]): Decimal | undefined {
  const steps = parts.flatMap((part) => {
    const step = numberAt(part.schema, 'multipleOf')
    return [...(wantsIntegers(part) ? [1] : []), ...(step === undefined ? [] : [step])]
  })
  return steps.map(decimalOf).reduce<Decimal | undefined>((a, b) => (a ? commonMultiple(a, b) : b), undefined)
}

function commonMultiple(a: Decimal, b: Decimal): Decimal {
  const exponent = Math.min(a.exponent, b.exponent)
  const [left, right] = [scaled(a, exponent), scaled(b, exponent)]
  return { digits: (left / divisor(left, right)) * right, exponent }
}

function divisor(a: bigint, b: bigint): bigint {
  return b === 0n ? a : divisor(b, a % b)
}

/** Beyond the wanted multiples, as many are tried that no double may be equal to. */
const MORE_TRIED = 64

function takeMultiples({ least, most }: Interval, step: Decimal, count: number): Taken<number> {
  const [low, high] = [decimalOf(least), decimalOf(most)]
  const exponent = Math.min(step.exponent, low.exponent, high.exponent)
  const size = scaled(step, exponent)
  const first = -floorDivided(-scaled(low, exponent), size)
  const last = floorDivided(scaled(high, exponent), size)
  const values: number[] = []
  let tried = 0n
  for (const factor of outward(first, last)) {
    if (values.length >= count || tried > count + MORE_TRIED) return { values, complete: false }
    tried += 1n
    const value = doubleOf({ digits: factor * size, exponent })
    if (value !== undefined) values.push(value)
  }
  return { values, complete: true }
}

/** From the whole number next to 0, in both directions. */
function* outward(first: bigint, last: bigint): Generator<bigint> {
  if (first > last) return
  const start = first > 0n ? first : last < 0n ? last : 0n
  for (let distance = 0n; start + distance <= last || start - distance >= first; distance += 1n) {
    if (start + distance <= last) yield start + distance
    if (distance > 0n && start - distance >= first) yield start - distance
  }
}

function floorDivided(a: bigint, b: bigint): bigint {
  const quotient = a / b
  return a % b !== 0n && a < 0n ? quotient - 1n : quotient
}

/** The double with exactly this shortest decimal text: clients can't send others. */
function doubleOf(decimal: Decimal): number | undefined {
  const value = Number(`${decimal.digits}e${decimal.exponent}`)
  if (!Number.isFinite(value)) return undefined
  const own = decimalOf(value)
  const exponent = Math.min(own.exponent, decimal.exponent)
  return scaled(own, exponent) === scaled(decimal, exponent) ? value : undefined
}

const READABLE = [0, 1, -1, 2, 10, 0.5, 0.1, 0.01, 1.001, -0.5]

function takeDoubles({ least, most }: Interval, count: number): Taken<number> {
  const between = [least, most, Math.ceil(least), Math.floor(most), least / 2 + most / 2, least + 0.5, least + 0.001]
  const proposed = [...READABLE, ...between].map((value) => value + 0)
  const values = new Set(proposed.filter((value) => value >= least && value <= most).slice(0, count))
  let next: number | undefined = least
  while (next !== undefined && next <= most && values.size < count) {
    values.add(next + 0)
    next = nextAbove(next)
  }
  return { values: [...values], complete: values.size < count }
}

/** `-0` counts as 0. */
function nextAbove(value: number | undefined): number | undefined {
  if (value === undefined) return undefined
  if (value === 0) return Number.MIN_VALUE
  const bits = new BigInt64Array(new Float64Array([value]).buffer)
  bits[0] = (bits[0] ?? 0n) + (value > 0 ? 1n : -1n)
  return new Float64Array(bits.buffer)[0]
}

function nextBelow(value: number | undefined): number | undefined {
  const next = nextAbove(value === undefined ? undefined : -value)
  return next === undefined ? undefined : -next
}

/** Whether a number keeps the bounds and the step of one part. */
export function numberFits(part: SchemaPart, value: number): boolean {
  const { schema } = part
  const step = numberAt(schema, 'multipleOf')
  return (
    (!wantsIntegers(part) || Number.isInteger(value)) &&
    value >= (numberAt(schema, 'minimum') ?? Number.NEGATIVE_INFINITY) &&
    value <= (numberAt(schema, 'maximum') ?? Number.POSITIVE_INFINITY) &&
    value > (numberAt(schema, 'exclusiveMinimum') ?? Number.NEGATIVE_INFINITY) &&
    value < (numberAt(schema, 'exclusiveMaximum') ?? Number.POSITIVE_INFINITY) &&
    (step === undefined || isMultiple(value, step))
  )
}
