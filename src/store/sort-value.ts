/** The order of values in lists and comparisons, in plain code; src/store/sqlite/query/ says the same in SQL. */

import { meets } from '../decide/condition.ts'
import { isScalar } from '../resources/object.ts'
import type { Representation } from '../resources/resource.ts'
import type { Comparison, SortKey, SortValue } from './contract.ts'

/** The value by which the key sorts the object. */
export function sortValue({ field, by }: Pick<SortKey, 'field' | 'by'>, object: Representation): SortValue {
  const value = Object.hasOwn(object, field) ? object[field] : undefined
  if (by === 'time') return typeof value === 'string' ? (instantOf(value) ?? null) : null
  if (Array.isArray(value)) return []
  return isScalar(value) ? value : null
}

/** Below zero when the first comes first in ascending order. */
export function compareSortValues(one: SortValue, other: SortValue): number {
  const rank = rankOf(one) - rankOf(other)
  if (rank !== 0) return rank
  if (typeof one === 'number' && typeof other === 'number') return one - other
  if (typeof one === 'string' && typeof other === 'string') return compareText(one, other)
  return Number(one === true) - Number(other === true)
}

/** Whether the object meets the client's comparison. */
export function fitsComparison({ field, by, operator, values }: Comparison, object: Representation): boolean {
  if (operator === 'in' && by === 'value') return meets({ kind: 'holds', field, values }, object)
  const held = sortValue({ field, by }, object)
  return values.some((wanted) => rankOf(held) === rankOf(wanted) && holds(operator, compareSortValues(held, wanted)))
}

/**
 * The instant of an RFC 3339 date-time, in UTC with three digits of a second (further ones cut off); undefined for any
 * other text, a leap second, an offset beyond 14 hours, and the first and last day of four-digit years.
 */
export function instantOf(text: string): string | undefined {
  const parts = TIME.exec(text.toUpperCase())?.groups
  if (!parts || parts.date === '0000-01-01' || parts.date === '9999-12-31') return undefined
  const { year, month, day, hour, minute, second, fraction = '', sign, offsetHour = '0', offsetMinute = '0' } = parts
  const inRange = [
    [month, 1, 12],
    [day, 1, 31],
    [hour, 0, 23],
    [minute, 0, 59],
    [offsetHour, 0, 14],
    [offsetMinute, 0, 59],
  ] as const
  if (inRange.some(([digits, least, most]) => Number(digits) < least || Number(digits) > most)) return undefined
  const offset = (Number(offsetHour) * 60 + Number(offsetMinute)) * (sign === '-' ? -1 : 1)
  const at = new Date(0)
  at.setUTCFullYear(Number(year), Number(month) - 1, Number(day))
  at.setUTCHours(Number(hour), Number(minute) - offset, Number(second), Number(`${fraction}000`.slice(0, 3)))
  return at.toISOString()
}

const TIME =
  /^(?<date>(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d))[T ](?<hour>\d\d):(?<minute>\d\d):(?<second>[0-5]\d)(?:\.(?<fraction>\d+))?(?:Z|(?<sign>[+-])(?<offsetHour>\d\d):(?<offsetMinute>\d\d))$/

const RANKS = ['none', 'number', 'string', 'boolean', 'list'] as const

function rankOf(value: SortValue): number {
  if (value === null) return 0
  const type = typeof value
  return type === 'object' ? RANKS.indexOf('list') : RANKS.indexOf(type as 'number' | 'string' | 'boolean')
}

/** Compares code points: comparing UTF-16 units would put U+10000 and above before U+E000. */
function compareText(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other))
}

function holds(operator: Comparison['operator'], compared: number): boolean {
  switch (operator) {
    case 'in':
      return compared === 0
    case 'gt':
      return compared > 0
    case 'gte':
      return compared >= 0
    case 'lt':
      return compared < 0
    case 'lte':
      return compared <= 0
  }
}
