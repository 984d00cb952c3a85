/** A condition's comparisons in SQLite, for columns of plain types. */

import type { Scalar } from '../../../resources/object.ts'
import { instantOfText } from '../../../store/sql/instant-of-text.ts'
import type { Bind, ColumnType, Dialect, ElementsSql, MappedColumn, Period, ValueSql } from './condition-sql.ts'
import { canHold } from './condition-sql.ts'

/**
 * A column of SQLite holds values of any type, and turns what it is compared with into its own: `'1'` into 1. So each
 * comparison also asks for the type of the value.
 */
const STORED: Partial<Readonly<Record<ColumnType, string>>> = {
  text: "= 'text'",
  bigint: "= 'integer'",
  number: "in ('integer', 'real')",
  boolean: "= 'integer'",
  'epoch-ms': "= 'integer'",
}

/** The types of JSON, as json_each names them. */
const JSON_TYPES: Partial<Readonly<Record<ColumnType, string>>> = {
  text: "= 'text'",
  number: "in ('integer', 'real')",
  boolean: "in ('true', 'false')",
}

export const sqliteDialect: Dialect = {
  name: 'sqlite',
  types: ['text', 'bigint', 'number', 'boolean', 'epoch-ms'],
  lists: ['json'],
  placeholder: () => '?',
  among,
  between: (value, atLeast, atMost, bind) =>
    typed(value, `${value.sql} >= ${bind(atLeast)} and ${value.sql} <= ${bind(atMost)}`),
  within,
  equal,
  elements,
}

function among(value: ValueSql, wanted: readonly Scalar[], bind: Bind): string {
  const { sql, type } = value
  const possible = wanted.filter((one) => canHold(type, one)).map((one) => parameter(type, one, bind))
  if (possible.length === 0) return 'false'
  const test = possible.length === 1 ? `= ${possible[0]}` : `in (${possible.join(', ')})`
  return typed(value, `${exact(value, sql)} ${test}`)
}

/** A column may be declared to take `A` for `a`. */
function exact({ type }: ValueSql, sql: string): string {
  return type === 'text' ? `${sql} collate binary` : sql
}

function typed({ sql, type, isColumn }: ValueSql, test: string): string {
  return isColumn ? `(${test} and typeof(${sql}) ${STORED[type]})` : `(${test})`
}

function parameter(type: ColumnType, value: Scalar, bind: Bind): string {
  if (type === 'bigint') return `cast(${bind(value)} as integer)`
  return bind(typeof value === 'boolean' ? Number(value) : value)
}

function within(value: ValueSql, { from, to }: Period, bind: Bind): string | undefined {
  const { sql, type, isColumn } = value
  if (type === 'epoch-ms') return typed(value, `${sql} >= ${bind(from)} and ${sql} < ${bind(to)}`)
  if (type !== 'text') return undefined
  const instant = `(${instantOfText(isColumn ? `typeof(${sql}) = 'text'` : `${sql} is not null`, sql)})`
  return `(${instant} >= ${bind(new Date(from).toISOString())} and ${instant} < ${bind(new Date(to).toISOString())})`
}

function equal(one: ValueSql, other: ValueSql): string {
  const texts = [one, other].map((value) => (value.type === 'bigint' ? `cast(${value.sql} as text)` : value.sql))
  const isSame = one.type === other.type && one.type !== 'text'
  const test = isSame ? `${one.sql} = ${other.sql}` : `${texts[0]} collate binary = ${texts[1]}`
  return `(${[test, ...[one, other].filter(({ isColumn }) => isColumn).map(typeTest)].join(' and ')})`
}

function typeTest({ sql, type }: ValueSql): string {
  return `typeof(${sql}) ${STORED[type]}`
}

/** Text that isn't JSON is an error, and so ends the statement. */
function elements(column: string, { type }: MappedColumn, name: string): ElementsSql {
  const from = `json_each(case when json_type(${column}) <> 'object' then ${column} end) as "${name}"`
  const [kind, element] = [`"${name}"."type"`, `"${name}"."value"`]
  const jsonType = type === 'bigint' ? 'text' : type
  const sql = `(case when ${kind} ${JSON_TYPES[jsonType]} then ${element} end)`
  const present = `${kind} in ('text', 'integer', 'real', 'true', 'false')`
  return { from, value: { sql, type: jsonType, isColumn: false }, present }
}
