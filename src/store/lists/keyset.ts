/**
 * The beginning of the next page of a list (keyset). The objects after a place are divided into consecutive segments,
 * and an index can find each: `a = 1 and id > 'x'`, then `a > 1`.
 */
import { SERVER_FIELDS } from '../../decide/conditions/condition.ts'
import type { SortKey, SortValue } from '../contract.ts'

export const BY_ID: readonly SortKey[] = [{ field: 'id', by: 'value', descending: false }]

export interface Bound {
  readonly key: SortKey
  readonly relation: '=' | '>' | '<' | 'null' | 'not null'
  readonly value: SortValue
}

/** One part of the objects after a place: all these bounds hold for its objects. */
export type Segment = readonly Bound[]

/** The segments of all objects after the place, in their order. Without a place, all objects. */
export function segmentsAfter(order: readonly SortKey[], after: readonly SortValue[] | undefined): readonly Segment[] {
  if (!after) return [[]]
  const equal = order.map((key, i) => equality(key, after[i] ?? null))
  return order
    .flatMap((key, i) => beyond(key, after[i] ?? null).map((bound) => [...equal.slice(0, i), bound]))
    .map((segment, at) => ({ segment, at }))
    .toSorted((a, b) => b.segment.length - a.segment.length || a.at - b.at)
    .map(({ segment }) => segment)
}

function equality(key: SortKey, value: SortValue): Bound {
  return { key, relation: value === null ? 'null' : '=', value }
}

/**
 * After a place, ascending: greater values (all values, if the place has none). Descending: smaller values, then
 * objects without a value.
 */
function beyond(key: SortKey, value: SortValue): readonly Bound[] {
  if (!key.descending) return [{ key, relation: value === null ? 'not null' : '>', value }]
  if (value === null) return []
  const none: readonly Bound[] = SERVER_FIELDS.has(key.field) ? [] : [{ key, relation: 'null', value: null }]
  return [{ key, relation: '<', value }, ...none]
}
