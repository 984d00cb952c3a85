/** A condition's comparisons in PostgreSQL, for columns of plain types. */

import type { Scalar } from '../../../resources/object.ts'
import type { Bind, Dialect, ElementsSql, Period, ValueSql } from './condition-sql.ts'
import { type ColumnType, canHold, isTextual, type MappedColumn } from './condition-sql.ts'

/** The type of a parameter. A key of an enum column is compared as text: another text would be an error. */
const CASTS: Readonly<Record<ColumnType, string>> = {
  text: 'text',
  uuid: 'uuid',
  enum: 'text',
  bigint: 'bigint',
  number: 'numeric',
  boolean: 'boolean',
  timestamptz: 'timestamptz',
  'epoch-ms': 'bigint',
}

const JSON_TYPES: Partial<Readonly<Record<ColumnType, string>>> = { number: 'number', boolean: 'boolean' }

export const postgresqlDialect: Dialect = {
  name: 'postgresql',
  types: ['text', 'uuid', 'enum', 'bigint', 'number', 'boolean', 'timestamptz', 'epoch-ms'],
  lists: ['array', 'json'],
  placeholder: (number) => `$${number}`,
  among,
  between: (value, atLeast, atMost, bind) =>
    `(${value.sql} >= ${parameter(value.type, atLeast, bind)} and ${value.sql} <= ${parameter(value.type, atMost, bind)})`,
  within,
  equal,
  elements,
  overlaps,
}

/** A text of PostgreSQL has no character U+0000. */
function possible(type: ColumnType, wanted: readonly Scalar[]): readonly Scalar[] {
  return wanted.filter((one) => canHold(type, one) && !(typeof one === 'string' && one.includes('\0')))
}

function among(value: ValueSql, wanted: readonly Scalar[], bind: Bind): string {
  const { type } = value
  const parameters = possible(type, wanted).map((one) => parameter(type, one, bind))
  if (parameters.length === 0) return 'false'
  const test = parameters.length === 1 ? `= ${parameters[0]}` : `in (${parameters.join(', ')})`
  if (type === 'enum') return `${value.sql}::text collate "C" ${test}`
  if (type !== 'text') return `${value.sql} ${test}`
  const exactly = `${value.sql} collate "C" ${test}`
  return value.isColumn ? withIndex(`${value.sql} ${test}`, exactly) : exactly
}

/** The column's own collation has the index, and may take `A` for `a`; the collation "C" takes nothing for another. */
function withIndex(found: string, exactly: string): string {
  return `(${found} and ${exactly})`
}

/** An integer as bigint: an index on an integer column can't find a numeric. */
function parameter(type: ColumnType, value: Scalar, bind: Bind): string {
  const cast = type === 'number' && Number.isSafeInteger(value) ? 'bigint' : CASTS[type]
  return `${bind(value)}::${cast}`
}

function within({ sql, type }: ValueSql, { from, to }: Period, bind: Bind): string | undefined {
  if (type === 'epoch-ms') return `(${sql} >= ${bind(from)}::bigint and ${sql} < ${bind(to)}::bigint)`
  if (type !== 'timestamptz') return undefined
  return `(${sql} >= ${bind(instant(from))}::timestamptz and ${sql} < ${bind(instant(to))}::timestamptz)`
}

/** PostgreSQL calls the year 0 the year 1 BC. */
function instant(milliseconds: number): string {
  const text = new Date(milliseconds).toISOString()
  return text.startsWith('0000') ? `0001${text.slice(4)} BC` : text
}

function equal(one: ValueSql, other: ValueSql): string {
  if (!isTextual(one.type)) return `${one.sql} = ${other.sql}`
  if (one.type === other.type && one.type !== 'text' && one.type !== 'enum') return `${one.sql} = ${other.sql}`
  const exactly = `${one.sql}::text collate "C" = ${other.sql}::text collate "C"`
  const isIndexed = one.type === 'text' && other.type === 'text' && (one.isColumn || other.isColumn)
  return isIndexed ? withIndex(`${one.sql} = ${other.sql}`, exactly) : exactly
}

function elements(column: string, { type, list }: MappedColumn, name: string): ElementsSql {
  const element = `"${name}"."v"`
  if (list === 'array') {
    const from = `unnest(${column}) as "${name}"("v")`
    return { from, value: { sql: element, type, isColumn: false }, present: `${element} is not null` }
  }
  const json = `${column}::jsonb`
  const array = `case when jsonb_typeof(${json}) = 'array' then ${json} else jsonb_build_array(${json}) end`
  const from = `jsonb_array_elements(${array}) as "${name}"("v")`
  const text = `${element} #>> '{}'`
  const ofType = `jsonb_typeof(${element}) = '${JSON_TYPES[type] ?? 'string'}'`
  const sql = `(case when ${ofType} then ${isTextual(type) ? text : `(${text})::${CASTS[type]}`} end)`
  const present = `jsonb_typeof(${element}) in ('string', 'number', 'boolean')`
  return { from, value: { sql, type: isTextual(type) ? 'text' : type, isColumn: false }, present }
}

/** Only an array of the same type has these operators. */
function overlaps(
  column: string,
  { type, list }: MappedColumn,
  wanted: readonly Scalar[],
  bind: Bind,
): string | undefined {
  if (list !== 'array' || (type !== 'text' && type !== 'uuid')) return undefined
  const parameters = possible(type, wanted).map((one) => parameter(type, one, bind))
  return parameters.length === 0 ? undefined : `${column} && array[${parameters.join(', ')}]`
}
