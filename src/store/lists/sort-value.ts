/** The order of values in lists and comparisons, in plain code; src/store/sqlite/query/ says the same in SQL. */
import { instantOf } from '../../base/time.ts'
import { meets } from '../../decide/conditions/condition.ts'
import { isScalar } from '../../resources/object.ts'
import type { Representation } from '../../resources/resource.ts'
import type { Comparison } from '../../resources/routing/query.ts'
import type { SortKey, SortValue } from '../contract.ts'

/** The object's value under this sort key. */
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
