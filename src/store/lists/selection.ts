/** What a list selects, in its simplest form, and where its next page begins. */

import { type Condition, SERVER_FIELDS } from '../../decide/conditions/condition.ts'
import { simplify } from '../../decide/conditions/simplify-condition.ts'
import type { Comparison } from '../../resources/routing/query.ts'
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

interface SimplifiedSelection {
  readonly condition: Condition
  /** The comparisons that the condition doesn't include. */
  readonly rest: readonly Comparison[]
}

/** Of lists without a filter: the next list of the same caller has the same condition object. */
const wholes = new WeakMap<Condition, SimplifiedSelection>()

/** Equality of values is a condition like the policy's own, and is simplified together with it. */
export function simplifySelection(where: Condition, filter: readonly Comparison[] = []): SimplifiedSelection {
  if (filter.length === 0)
    return wholes.getOrInsertComputed(where, () => ({ condition: simplify({ kind: 'all', of: [where] }), rest: [] }))
  const isEquality = ({ operator, by }: Comparison) => operator === 'in' && by === 'value'
  const equal = filter.filter(isEquality).map(({ field, values }): Condition => ({ kind: 'holds', field, values }))
  return {
    condition: simplify({ kind: 'all', of: [where, ...equal] }),
    rest: filter.filter((one) => !isEquality(one)),
  }
}
