/** How conditions look at SQLite's tables: columns for indexed fields, and the document for others. */
import { type Condition, SERVER_FIELDS } from '../../../decide/conditions/condition.ts'
import type { Scalar } from '../../../resources/object.ts'
import {
  type ConditionDialect,
  type ConditionTable,
  conditionSql,
  descentSql,
  type FieldSql,
  findDrivers,
  foundSql,
  type SqlScope,
  someValue,
} from '../../sql/condition.ts'
import { instantOfText } from '../../sql/instant-of-text.ts'
import { SERVER_COLUMNS } from '../../sql/objects.ts'
import type { SqlValue } from '../../sql/statement.ts'
import { comparable, jsonPath } from '../layout/schema.ts'
import { stepOfElement, stepOfRow } from './work.ts'

/** Fields with a column for their comparable value. Other fields are looked up in the document. */
export type ValueColumns = ReadonlyMap<string, string>

export interface QueriedTable extends ConditionTable {
  /** Quoted columns that can stand for a field: its value, and the instant that it means. */
  readonly scalars: ValueColumns
  readonly times: ValueColumns
}

export type TableScope = SqlScope<QueriedTable>

export type QueriedTableOf = (resource: string) => QueriedTable

/** What a statement's text says, with a `?` for each value. */
export interface Text {
  readonly text: string
  readonly values: readonly SqlValue[]
}

/** A statement about a resource's table; `write` gets the scope. */
export function written(tableOf: QueriedTableOf, resource: string, write: (scope: TableScope) => string): Text {
  const values: SqlValue[] = []
  const bind = (value: SqlValue) => {
    values.push(value)
    return '?'
  }
  const table = tableOf(resource)
  const { name } = table
  const scope = { dialect: DIALECT, table, tableOf, depth: 0, alias: `${name}.`, source: name, bind }
  return { text: write(scope), values }
}

const DIALECT: ConditionDialect<QueriedTable> = {
  values: (field, scope, name) => {
    const column = columnOf(field, scope)
    if (column !== undefined) return columnValue(column, SERVER_FIELDS.has(field))
    return { ...columnValue(comparable(`${name}.type`, `${name}.value`)), ...elementsOf(field, scope, name) }
  },
  instants: (field, scope, name) => {
    const column = instantColumn(field, scope)
    if (column !== undefined) return { value: column }
    const value = `(${instantOfText(`${name}.type = 'text'`, `${name}.value`)})`
    return { value, ...elementsOf(field, scope, name) }
  },
  holds: (field, values, scope) =>
    someValue(field, scope, ({ value }) => `${value} in (${parameters(padded(values).map(bound), scope)})`),
  number: (value) => value,
  // SQLite orders NULL, numbers, texts, bytes: without an upper bound, the least text is the end of the numbers.
  isNumber: ['is not null', "< ''"],
  meets: (own, by, related) => {
    const other = DIALECT.values(by, related, `w${related.depth}`)
    const step = other.from ? stepOfElement(`w${related.depth}`) : stepOfRow(related.alias)
    return { from: other.from, tests: [related.steps ? step : undefined, other.guard, equal(own, other)] }
  },
  // A comparison of a TEXT column with an ANY column converts nothing.
  indexed: (field, scope, by, related) => [columnOf(field, scope) ?? '', columnOf(by, related) ?? ''],
  ofId: (id) => id,
  step: ({ alias }) => stepOfRow(alias),
  stepOfElement,
  driving: drivingSql,
}

function columnValue(value: string, ofServer = false): FieldSql {
  return { value, text: value, isText: `typeof(${value}) = 'text'`, ofServer }
}

/**
 * json_each returns a list's elements, and a scalar as the only element; an object's members aren't the field's value.
 * All lists have the same mark.
 */
function elementsOf(field: string, { alias }: TableScope, name: string): Pick<FieldSql, 'from' | 'guard'> {
  const path = jsonPath(field)
  const isObject = `json_type(${alias}document, ${path}) <> 'object'`
  return {
    from: `json_each(${alias}document, ${path}) as ${name}`,
    guard: `${isObject} and ${name}.type <> 'array'`,
  }
}

/** A column of the server turns a number into text before comparing, so only texts may reach it. */
function equal(own: FieldSql, other: FieldSql): string {
  if (other.ofServer && !own.ofServer) return `${own.isText} and ${other.value} = ${own.value}`
  return own.ofServer && !other.ofServer ? `${other.value} = +${own.value}` : `${other.value} = ${own.value}`
}

/** A driving part: IN with a query that starts at its end. */
export function drivingSql(condition: Condition, scope: TableScope): string {
  switch (condition.kind) {
    case 'related':
      return foundSql(condition, scope)
    case 'climb':
      return descentSql(condition, scope)
    case 'some':
      return `(${condition.of.map((part) => drivingSql(part, scope)).join(' or ')})`
    case 'all':
      return withDriver(condition.of, findDrivers(condition, scope.table, scope.tableOf)[0], scope)
    default:
      return conditionSql(condition, scope)
  }
}

/** All parts, in their order: the driver by its index, the others without one. */
export function withDriver(parts: readonly Condition[], driver: Condition | undefined, scope: TableScope): string {
  const follower = { ...scope, plain: true }
  const each = parts.map((part) => (part === driver ? drivingSql(part, scope) : conditionSql(part, follower)))
  return `(${each.join(' and ')})`
}

/** The column that holds the field's only value, as SQL. */
function columnOf(field: string, { table, alias, plain }: TableScope): string | undefined {
  const column = table.scalars.get(field)
  return column === undefined ? undefined : `${plain ? '+' : ''}${alias}${column}`
}

/** The instant that a field's only value means; undefined where the field may be a list. */
function instantColumn(field: string, scope: TableScope): string | undefined {
  const value = columnOf(field, scope)
  if (value === undefined) return undefined
  // The server writes its times as instants.
  if (field !== 'id' && SERVER_COLUMNS.has(field)) return value
  const column = scope.table.times.get(field)
  if (column === undefined) return instantOfText(`typeof(${value}) = 'text'`, value)
  return `${scope.plain ? '+' : ''}${scope.alias}${column}`
}

/**
 * The values; the last one is repeated up to the next power of two, so that there are few texts, however many values.
 */
export function padded(values: readonly Scalar[]): readonly Scalar[] {
  if (values.length === 1) return values
  const length = 2 ** Math.ceil(Math.log2(values.length))
  return Array.from({ length }, (_, index) => values[Math.min(index, values.length - 1)] as Scalar)
}

/** A value in the form of `comparable` of layout/schema.ts. */
export function bound(value: Scalar): string | number | Uint8Array {
  return typeof value === 'boolean' ? Uint8Array.of(value ? 1 : 0) : value
}

export function parameters(values: readonly SqlValue[], { bind }: Pick<TableScope, 'bind'>): string {
  return values.map(bind).join(', ')
}
