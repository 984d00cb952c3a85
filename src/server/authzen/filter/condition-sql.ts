/**
 * A condition as SQL for somebody else's database: the tables as a request describes them, what a dialect must be able
 * to say about a value, and what can't be said.
 */

import { type FieldFault, Problem } from '../../../base/problems/problem.ts'
import type { Between, Climb, Condition, Holds, Present, Related, Time } from '../../../decide/conditions/condition.ts'
import type { COLUMN_TYPES } from '../../../resources/built-in/filter-schemas.ts'
import type { Scalar } from '../../../resources/object.ts'
import { type ConditionKinds, writeCondition } from '../../../store/sql/condition.ts'
import { quoteName } from '../../../store/sql/statement.ts'

/** A part of a statement. The placeholders of PostgreSQL count from `firstParameter`; those of SQLite are `?`. */
export type Sql = {
  readonly text: string
  readonly parameters: readonly Scalar[]
}

interface SqlAsked {
  readonly dialect: Dialect
  readonly mapping: Mapping
  readonly resource: string
  /** Counts from 1. */
  readonly firstParameter: number
}

/** No name of a request begins like this, so that no name inside hides one outside. */
export const OWN_NAMES = 'sallyport_'

/** The most values of one condition; SQLite takes 32,766, and PostgreSQL 65,535. */
const MOST_PARAMETERS = 10_000

/** A placeholder while the text is built; no name contains the sign. */
const MARK = /\$(\d+)/g

interface MappedScope extends SqlAsked {
  readonly table: MappedTable
  /** What stands before a column. */
  readonly prefix: string
  /** The number of tables around this one. */
  readonly depth: number
  readonly bind: (value: Scalar) => string
  readonly unsupported: Unsupported
}

export function sqlOfCondition(condition: Condition, asked: SqlAsked, unsupported: Unsupported): Sql {
  const bound: Scalar[] = []
  const bind = (value: Scalar) => `$${bound.push(value)}`
  const { table } = asked.mapping
  const scope: MappedScope = { ...asked, table, prefix: nameOf(table), depth: 0, bind, unsupported }
  const marked = writeCondition(condition, scope, KINDS)
  if (bound.length > MOST_PARAMETERS) {
    unsupported.add(`the condition compares with ${bound.length} values, and a filter has at most ${MOST_PARAMETERS}`)
  }
  return numbered(marked, bound, asked)
}

/** PostgreSQL may name a parameter twice; SQLite's placeholders stand for the parameters in their order. */
function numbered(marked: string, bound: readonly Scalar[], { dialect, firstParameter }: SqlAsked): Sql {
  if (dialect.placeholder(1) !== dialect.placeholder(2)) {
    const text = marked.replace(MARK, (_, number) => dialect.placeholder(Number(number) + firstParameter - 1))
    return { text, parameters: bound }
  }
  const parameters: Scalar[] = []
  const text = marked.replace(MARK, (_, number) => {
    parameters.push(bound[Number(number) - 1] as Scalar)
    return dialect.placeholder(parameters.length)
  })
  return { text, parameters }
}

function nameOf({ name }: MappedTable): string {
  return name.map(quoteName).join('.')
}

const KINDS: ConditionKinds<MappedScope> = {
  holds: holdsSql,
  present: presentSql,
  between: betweenSql,
  time: timeSql,
  related: relatedSql,
  climb: climbSql,
}

function holdsSql({ field, values }: Holds, scope: MappedScope): string {
  const { dialect, bind } = scope
  const column = columnOf(field, scope)
  if (!column) return 'false'
  if (isTime(column))
    return scope.unsupported.add(`${place(field, scope)} is compared as a text, and its column holds times`)
  const test = someValue(column, scope, (value) => dialect.among(value, values, bind))
  const overlaps = column.list && dialect.overlaps?.(sqlOf(column, scope), column, values, bind)
  return overlaps ? `(${overlaps} and ${test})` : test
}

function presentSql({ field }: Present, scope: MappedScope): string {
  const column = columnOf(field, scope)
  if (!column) return 'false'
  if (!column.list) return `${sqlOf(column, scope)} is not null`
  const { from, present } = elementsOf(column, scope, 'e')
  return `exists (select 1 from ${from} where ${present})`
}

function betweenSql(condition: Between, scope: MappedScope): string {
  const column = columnOf(condition.field, scope)
  if (!column) return 'false'
  const [low, high] = bounds(condition)
  return someValue(column, scope, (value) => scope.dialect.between(value, low, high, scope.bind))
}

const FIRST_INSTANT = Date.parse('0000-01-01T00:00:00Z')
const LAST_INSTANT = Date.parse('9999-12-31T23:59:59.999Z')

/** The bounds are strict, and instants are whole milliseconds: a database may hold shorter parts of a second. */
function timeSql({ field, after = -Infinity, before = Infinity }: Time, scope: MappedScope): string {
  const column = columnOf(field, scope)
  if (!column) return 'false'
  const period = { from: instant(Math.floor(after) + 1), to: instant(Math.ceil(before)) }
  const reason = `${place(field, scope)} is compared as a time, and its column holds none`
  const passes = (value: ValueSql) => scope.dialect.within(value, period, scope.bind) ?? scope.unsupported.add(reason)
  return someValue(column, scope, passes)
}

function instant(milliseconds: number): number {
  return Math.min(Math.max(milliseconds, FIRST_INSTANT), LAST_INSTANT)
}

function isTime({ type }: Pick<MappedColumn, 'type'>): boolean {
  return type === 'timestamptz' || type === 'epoch-ms'
}

/** Whether a value of the field passes: the column's, or an element's. */
function someValue(column: MappedColumn, scope: MappedScope, passes: (value: ValueSql) => string): string {
  if (!column.list) return passes({ sql: sqlOf(column, scope), type: column.type, isColumn: true })
  const { from, value } = elementsOf(column, scope, 'e')
  return `exists (select 1 from ${from} where ${passes(value)})`
}

function elementsOf(column: MappedColumn, scope: MappedScope, letter: string): ElementsSql {
  return scope.dialect.elements(sqlOf(column, scope), column, `${OWN_NAMES}${letter}${scope.depth}`)
}

/** Undefined, and reported, if no column has the field. */
function columnOf(field: string, scope: MappedScope): MappedColumn | undefined {
  const column = scope.table.columns.get(field)
  if (!column) scope.unsupported.add(`${place(field, scope)} has no column: name it in \`columns\``)
  return column
}

function place(field: string, { resource }: MappedScope): string {
  return `\`${field}\` of \`${resource}\``
}

function sqlOf({ name }: MappedColumn, { prefix }: MappedScope): string {
  return `${prefix}.${quoteName(name)}`
}

/** The table of related objects in a query within this scope, under a new name; undefined without such a table. */
function within(scope: MappedScope, resource: string): (MappedScope & { readonly source: string }) | undefined {
  const table = scope.mapping.related.get(resource)
  if (!table) {
    scope.unsupported.add(`the filter depends on objects of \`${resource}\`: name their table in \`related\``)
    return undefined
  }
  const prefix = quoteName(`${OWN_NAMES}r${scope.depth + 1}`)
  return { ...scope, resource, table, prefix, depth: scope.depth + 1, source: `${nameOf(table)} as ${prefix}` }
}

/** A field's values in a query: one row for each. */
function valuesOf(
  column: MappedColumn,
  scope: MappedScope,
  letter: string,
): { readonly from?: string; readonly value: ValueSql } {
  if (column.list) return elementsOf(column, scope, letter)
  return { value: { sql: sqlOf(column, scope), type: column.type, isColumn: true } }
}

function relatedSql({ field, by, resource, where }: Related, scope: MappedScope): string {
  const related = within(scope, resource)
  const own = columnOf(field, scope)
  const other = related && columnOf(by, related)
  if (!related) return 'false'
  const test = writeCondition(where, related, KINDS)
  if (!own || !other) return 'false'
  const [mine, theirs] = [valuesOf(own, scope, 'v'), valuesOf(other, related, 'w')]
  const sources = [mine.from, related.source, theirs.from].filter((one) => one !== undefined)
  return `exists (select 1 from ${sources.join(' cross join ')} where ${equal(mine.value, theirs.value, scope)} and ${test})`
}

/** Strict: a number equals no text. */
function equal(one: ValueSql, other: ValueSql, { dialect, unsupported }: MappedScope): string {
  if (isTime(one) || isTime(other)) return unsupported.add('a date-time leads to no related object')
  const areAlike = isTextual(one.type) ? isTextual(other.type) : one.type === other.type
  return areAlike ? dialect.equal(one, other) : 'false'
}

/** Step by step from this object; a circle ends at the depth. Only texts are ids. */
function climbSql({ field, resource, depth, where }: Climb, scope: MappedScope): string {
  const first = within(scope, resource)
  const own = columnOf(field, scope)
  if (!first) return 'false'
  const [up, id] = [columnOf(field, first), columnOf('id', first)]
  const test = writeCondition(where, first, KINDS)
  if (!own || !up || !id || !isTextual(own.type)) return 'false'
  const steps = quoteName(`${OWN_NAMES}steps${first.depth}`)
  const [start, next] = [valuesOf(own, scope, 'v'), valuesOf(up, first, 'w')]
  const step: ValueSql = { sql: `${steps}."id"`, type: start.value.type, isColumn: false }
  const reached = `${steps} cross join ${first.source}`
  const here = scope.dialect.equal(step, valuesOf(id, first, 'i').value)
  const begin = `select ${start.value.sql}, 1${start.from ? ` from ${start.from}` : ''} where ${start.value.sql} is not null`
  const further = `select ${next.value.sql}, ${steps}."n" + 1 from ${[reached, next.from].filter(Boolean).join(' cross join ')}
    where ${here} and ${steps}."n" < ${depth} and ${next.value.sql} is not null`
  return `exists (with recursive ${steps}("id", "n") as (${begin} union ${further})
    select 1 from ${reached} where ${here} and ${test})`
}

/** The form in which a column holds a field's value; docs/filters.md describes each. */
export type ColumnType = (typeof COLUMN_TYPES)[number]

/** How a column holds a list: as an array of the database, or as JSON. */
export type ListForm = 'array' | 'json'

export interface MappedColumn {
  readonly name: string
  /** The type of the value, or of each element of a list. */
  readonly type: ColumnType
  readonly list?: ListForm
}

export interface MappedTable {
  /** A name, or a schema and a name. Each is an identifier. */
  readonly name: readonly string[]
  /** By field. Other fields have no column. */
  readonly columns: ReadonlyMap<string, MappedColumn>
}

/** The table of the resource itself, and those of related resources in the same database. */
export interface Mapping {
  readonly table: MappedTable
  readonly related: ReadonlyMap<string, MappedTable>
}

/** The types whose values are texts to the policy: keys of any kind. */
export function isTextual(type: ColumnType): boolean {
  return type === 'text' || type === 'uuid' || type === 'enum' || type === 'bigint'
}

/** Binds a value and returns its placeholder. */
export type Bind = (value: Scalar) => string

/** An expression that is NULL where the field has no value of this type. */
export interface ValueSql {
  readonly sql: string
  readonly type: ColumnType
  /** A column may have an index; an element of a list has none. */
  readonly isColumn: boolean
}

/** The elements of a list: `from` gives one row for each. */
export interface ElementsSql {
  readonly from: string
  readonly value: ValueSql
  /** Whether the element is a value at all. */
  readonly present: string
}

/** Instants in milliseconds since the epoch: `from` is included, `to` is not. */
export interface Period {
  readonly from: number
  readonly to: number
}

export interface Dialect {
  readonly name: 'postgresql' | 'sqlite'
  readonly types: readonly ColumnType[]
  readonly lists: readonly NonNullable<MappedColumn['list']>[]
  /** A placeholder of a statement: the number of the parameter counts from 1. */
  placeholder(number: number): string
  /** Whether the value is one of these; `wanted` isn't empty. */
  among(value: ValueSql, wanted: readonly Scalar[], bind: Bind): string
  /** Whether the number lies between the bounds, both included. */
  between(value: ValueSql, atLeast: number, atMost: number, bind: Bind): string
  /** Whether the instant lies in the period; undefined for a type that can't tell. */
  within(value: ValueSql, period: Period, bind: Bind): string | undefined
  /** Whether two texts are the same; or two values of one other type. */
  equal(one: ValueSql, other: ValueSql): string
  /** `column`: the column's SQL; `name`: of the table of elements. */
  elements(column: string, described: MappedColumn, name: string): ElementsSql
  /** A list that has one of these, so that an index on lists can help; undefined where none could. */
  overlaps?(column: string, described: MappedColumn, wanted: readonly Scalar[], bind: Bind): string | undefined
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const INTEGER = /^(?:0|-?[1-9]\d{0,18})$/
const LEAST = -(2n ** 63n)
const MOST = 2n ** 63n - 1n

/** Whether a column of this type can hold the value. Another text (`A1…` for a UUID, `01` for 1) equals none. */
export function canHold(type: ColumnType, value: Scalar): boolean {
  if (typeof value === 'number') return type === 'number'
  if (typeof value === 'boolean') return type === 'boolean'
  if (type === 'uuid') return UUID.test(value)
  if (type === 'bigint') return INTEGER.test(value) && LEAST <= BigInt(value) && BigInt(value) <= MOST
  return type === 'text' || type === 'enum'
}

export function bounds({ atLeast = -Infinity, atMost = Infinity }: Between): readonly [low: number, high: number] {
  return [Math.max(atLeast, -Number.MAX_VALUE), Math.min(atMost, Number.MAX_VALUE)]
}

export class Unsupported {
  readonly #reasons = new Set<string>()

  /** Says why. The translation goes on, so that everything is found at once; its result must not be used. */
  add(reason: string): 'false' {
    this.#reasons.add(reason)
    return 'false'
  }

  get reasons(): readonly string[] {
    return [...this.#reasons]
  }
}

/** `pointer`: the member of the body that can't be met. */
export function unsupportedProblem(reasons: readonly string[], pointer: string): Problem {
  const errors = reasons.map((detail): FieldFault => ({ pointer, detail, code: 'unsayable' }))
  return new Problem('filter-unsayable', 'The filter cannot be said in this form; do what `errors` says.', { errors })
}
