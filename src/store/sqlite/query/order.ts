/** The order of a list, and the segments of its next page, for SQLite. */
import type { SQLInputValue } from 'node:sqlite'
import { SERVER_FIELDS } from '../../../decide/conditions/condition.ts'
import type { SortKey, SortValue } from '../../contract.ts'
import type { Bound, Segment } from '../../lists/keyset.ts'
import { quoteName } from '../../sql/quote.ts'
import { comparableField, instant } from '../layout/schema.ts'
import { bound } from './condition-values.ts'

/** Fields with a column for their comparable value. Other fields are looked up in the document. */
export type Columns = ReadonlyMap<string, string>

/** The columns that can stand for a field: its value, and the instant that it means. */
export interface TableColumns {
  readonly values: Columns
  readonly times: Columns
  /** No index may answer. */
  readonly plain?: boolean
}

/** The SQL that a key orders by. NULL is the least value in SQLite, as "no value" is in the contract. */
export function orderedBy({ field, by }: Pick<SortKey, 'field' | 'by'>, columns: TableColumns): string {
  // The server writes its times as instants.
  const kept = by === 'time' && !SERVER_FIELDS.has(field) ? columns.times : columns.values
  const column = kept.get(field)
  if (column !== undefined) return `${columns.plain ? '+' : ''}${quoteName(column)}`
  return by === 'time' ? instant(field) : comparableField(field)
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
