/**
 * The order of a list, and where its next page begins (keyset), for SQLite. What comes after a place is cut into segments that
 * follow one another, each of which an index can find: `a = 1 and id > 'x'`, then `a > 1`.
 */
import type { SQLInputValue } from 'node:sqlite'
import { SERVER_FIELDS } from '../../../decide/condition.ts'
import type { SortKey, SortValue } from '../../contract.ts'
import { comparableField, instant } from '../layout/schema.ts'
import { bound, type Columns } from './condition.ts'
import { quoteName } from './text.ts'

/** The columns that can stand for a field: its value, and the instant that it means. */
export interface TableColumns {
  readonly values: Columns
  readonly times: Columns
}

export const BY_ID: readonly SortKey[] = [{ field: 'id', by: 'value', descending: false }]

interface Bound {
  readonly key: SortKey
  readonly relation: '=' | '>' | '<' | 'null' | 'not null'
  readonly value: SortValue
}

/** One part of what comes after a place: all of these bounds hold for its objects. */
export type Segment = readonly Bound[]

/** The SQL that a key orders by. NULL is SQLite's least value, and "no value" is the contract's. */
export function orderedBy({ field, by }: Pick<SortKey, 'field' | 'by'>, columns: TableColumns): string {
  // The server writes its times as instants.
  const kept = by === 'time' && !SERVER_FIELDS.has(field) ? columns.times : columns.values
  const column = kept.get(field)
  if (column !== undefined) return quoteName(column)
  return by === 'time' ? instant(field) : comparableField(field)
}

/** All that comes after the place, in order: each segment whole before the next. Without a place, everything. */
export function segmentsAfter(order: readonly SortKey[], after: readonly SortValue[] | undefined): readonly Segment[] {
  if (!after) return [[]]
  const equal = order.map((key, i) => equality(key, after[i] ?? null))
  return order
    .flatMap((key, i) => beyond(key, after[i] ?? null).map((bound) => [...equal.slice(0, i), bound]))
    .map((segment, at) => ({ segment, at }))
    .toSorted((a, b) => b.segment.length - a.segment.length || a.at - b.at)
    .map(({ segment }) => segment)
}

export function segmentSql(segment: Segment, columns: TableColumns): string {
  if (segment.length === 0) return 'true'
  return segment.map(({ key, relation }) => boundSql(orderedBy(key, columns), relation)).join(' and ')
}

export function segmentValues(segment: Segment): readonly SQLInputValue[] {
  return segment.filter(({ relation }) => !relation.endsWith('null')).map(({ value }) => boundOf(value))
}

export function orderShape(order: readonly SortKey[], segment: Segment): string {
  const keys = order.map(({ field, by, descending }) => [field, by, descending])
  return JSON.stringify([keys, segment.map(({ relation }) => relation)])
}

function equality(key: SortKey, value: SortValue): Bound {
  return { key, relation: value === null ? 'null' : '=', value }
}

/** Ascending: a value, after none. Descending: lesser values, then none. */
function beyond(key: SortKey, value: SortValue): readonly Bound[] {
  if (!key.descending) return [{ key, relation: value === null ? 'not null' : '>', value }]
  if (value === null) return []
  const none: readonly Bound[] = SERVER_FIELDS.has(key.field) ? [] : [{ key, relation: 'null', value: null }]
  return [{ key, relation: '<', value }, ...none]
}

function boundSql(term: string, relation: Bound['relation']): string {
  if (relation === 'null') return `${term} is null`
  if (relation === 'not null') return `${term} is not null`
  return `${term} ${relation} ?`
}

function boundOf(value: SortValue): string | number | Uint8Array {
  if (value === null) throw new Error('nothing equals no value')
  // The same as LIST_MARK of layout/schema.ts.
  return typeof value === 'object' ? Uint8Array.of(2) : bound(value)
}
