/**
 * The order of a list, and the beginning of its next page (keyset), for SQLite. The objects after a place are divided
 * into consecutive segments, and an index can find each: `a = 1 and id > 'x'`, then `a > 1`.
 */
import type { SQLInputValue } from 'node:sqlite'
import { SERVER_FIELDS } from '../../../decide/conditions/condition.ts'
import type { SortKey, SortValue } from '../../contract.ts'
import { comparableField, instant } from '../layout/schema.ts'
import { bound } from './condition-values.ts'
import { quoteName } from './text.ts'

/** Fields with a column for their comparable value. Other fields are looked up in the document. */
export type Columns = ReadonlyMap<string, string>

/** The columns that can stand for a field: its value, and the instant that it means. */
export interface TableColumns {
  readonly values: Columns
  readonly times: Columns
  /** No index may answer. */
  readonly plain?: boolean
}

export const BY_ID: readonly SortKey[] = [{ field: 'id', by: 'value', descending: false }]

interface Bound {
  readonly key: SortKey
  readonly relation: '=' | '>' | '<' | 'null' | 'not null'
  readonly value: SortValue
}

/** One part of the objects after a place: all these bounds hold for its objects. */
export type Segment = readonly Bound[]

/** The SQL that a key orders by. NULL is the least value in SQLite, as "no value" is in the contract. */
export function orderedBy({ field, by }: Pick<SortKey, 'field' | 'by'>, columns: TableColumns): string {
  // The server writes its times as instants.
  const kept = by === 'time' && !SERVER_FIELDS.has(field) ? columns.times : columns.values
  const column = kept.get(field)
  if (column !== undefined) return `${columns.plain ? '+' : ''}${quoteName(column)}`
  return by === 'time' ? instant(field) : comparableField(field)
}

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

function boundSql(term: string, relation: Bound['relation']): string {
  if (relation === 'null') return `${term} is null`
  if (relation === 'not null') return `${term} is not null`
  return `${term} ${relation} ?`
}

function boundOf(value: SortValue): string | number | Uint8Array {
  if (value === null) throw new Error("a missing value can't be bound")
  // The same as LIST_MARK of layout/schema.ts.
  return typeof value === 'object' ? Uint8Array.of(2) : bound(value)
}
