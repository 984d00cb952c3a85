/** The table that a condition looks at, the table's name in the statement, and the SQL of its fields. */
import { SERVER_FIELDS } from '../../../decide/conditions/condition.ts'
import { instantOfText } from '../../sql/instant-of-text.ts'
import { quoteName } from '../../sql/quote.ts'
import { SERVER_COLUMNS } from '../../sql/server-columns.ts'
import { comparable, jsonPath } from '../layout/schema.ts'
import type { TableColumns } from './order.ts'

export interface QueriedTable {
  /** Contains no quote. */
  readonly name: string
  readonly columns: TableColumns
  /** Fields with an index that can find few objects: those that relations compare. */
  readonly leading: ReadonlySet<string>
}

/** Of a resource. */
export type TableOf = (resource: string) => QueriedTable

export interface Scope {
  readonly table: QueriedTable
  readonly tableOf: TableOf
  /** The number of tables around this one. */
  readonly depth: number
  /** What stands before a column where only this table is in sight: nothing, or the alias. */
  readonly here: string
  /** What stands before a column in a query inside of this one. */
  readonly inside: string
  /** No index may answer, because another one does. */
  readonly plain?: boolean
  /** Each row that is looked at is a step (work.ts), also of tables within. */
  readonly steps?: boolean
}

/** A field's values as SQL: one expression, or the elements of a list with the table that has them. */
export interface FieldSql {
  readonly value: string
  readonly from?: string
  readonly guard?: string
  /** A column of the server has the type TEXT, and turns what it is compared with into text. */
  readonly isText: boolean
}

export function outermost(table: QueriedTable, tableOf: TableOf): Scope {
  return { table, tableOf, depth: 0, here: '', inside: `${quoteName(table.name)}.` }
}

/** The table of another resource in a query inside of this scope, with an alias of its own. */
export function within(
  { tableOf, depth, steps = false }: Scope,
  resource: string,
): Scope & { readonly source: string } {
  const table = tableOf(resource)
  const alias = `r${depth + 1}`
  const prefix = `${alias}.`
  const source = `${quoteName(table.name)} as ${alias}`
  return { table, tableOf, depth: depth + 1, here: prefix, inside: prefix, steps, source }
}

/** The column that holds the field's only value, as SQL. */
export function columnOf(field: string, { table, here, plain }: Scope): string | undefined {
  const column = table.columns.values.get(field)
  return column === undefined ? undefined : `${plain ? '+' : ''}${here}${quoteName(column)}`
}

/** The values of a field, for a query inside of the scope. `name`: of the table of elements. */
export function fieldSql(field: string, { table, inside }: Scope, name: string): FieldSql {
  const column = table.columns.values.get(field)
  if (column !== undefined) return { value: `${inside}${quoteName(column)}`, isText: SERVER_FIELDS.has(field) }
  const document = `${inside}document`
  return {
    value: comparable(`${name}.type`, `${name}.value`),
    from: `json_each(${document}, ${jsonPath(field)}) as ${name}`,
    // All lists have the same mark.
    guard: `${notAnObject(field, inside)} and ${name}.type <> 'array'`,
    isText: false,
  }
}

/**
 * json_each returns a list's elements, and a scalar as the only element; an object's members aren't the field's value.
 */
export function notAnObject(field: string, prefix: string): string {
  return `json_type(${prefix}document, ${jsonPath(field)}) <> 'object'`
}

/** The instant that a field's only value means; undefined where the field may be a list. */
export function instantColumn(field: string, scope: Scope): string | undefined {
  const value = columnOf(field, scope)
  if (value === undefined) return undefined
  // The server writes its times as instants.
  if (field !== 'id' && SERVER_COLUMNS.has(field)) return value
  const column = scope.table.columns.times.get(field)
  if (column === undefined) return instantOfText(`typeof(${value}) = 'text'`, value)
  return `${scope.plain ? '+' : ''}${scope.here}${quoteName(column)}`
}
