/** A simplified condition for SQLite: an expression about one row, which looks up related objects by index. */

import { instantBounds } from '../../../base/time.ts'
import {
  type Between,
  type Climb,
  type Condition,
  type Holds,
  type Related,
  SERVER_FIELDS,
  type Time,
} from '../../../decide/conditions/condition.ts'
import type { Scalar } from '../../../resources/object.ts'
import { instantOfText } from '../../sql/instant-of-text.ts'
import { quoteName, SERVER_COLUMNS } from '../../sql/quote.ts'
import { type ConditionKinds, findLeaders, type Leads, writeCondition } from '../../sql/write-condition.ts'
import { comparable, jsonPath } from '../layout/schema.ts'
import { stepOfElement, stepOfRow } from './work.ts'

const KINDS: ConditionKinds<Scope> = {
  holds: holdsSql,
  present: ({ field }, scope) => someValue(field, scope, (value) => `${value} is not null`),
  between: (condition, scope) => someValue(condition.field, scope, (value) => betweenSql(condition, value)),
  time: timeSql,
  related: relatedSql,
  climb: climbSql,
}

export function conditionSql(condition: Condition, scope: Scope): string {
  return writeCondition(condition, scope, KINDS)
}

function holdsSql({ field, values }: Holds, scope: Scope): string {
  return someValue(field, scope, (value) => `${value} in (${parameters(padded(values).length)})`)
}

/** Whether a value of the field passes: the column's, or an element's. */
function someValue(field: string, scope: Scope, passes: (value: string) => string): string {
  const column = columnOf(field, scope)
  return column === undefined ? someElement(field, scope, passes) : passes(column)
}

function someElement(field: string, { inside }: Scope, passes: (value: string, type: string) => string): string {
  const value = `case when element.type <> 'array' then ${comparable('element.type', 'element.value')} end`
  return `(${notAnObject(field, inside)} and exists (
    select 1 from json_each(${inside}document, ${jsonPath(field)}) as element where ${passes(value, 'element.type')}))`
}

/** SQLite orders NULL, numbers, texts, bytes: without an upper bound, the least text is the end of the numbers. */
function betweenSql({ atLeast, atMost }: Between, value: string): string {
  const least = atLeast === undefined ? 'is not null' : '>= ?'
  return `(${value} ${least} and ${value} ${atMost === undefined ? "< ''" : '<= ?'})`
}

function timeSql(condition: Time, scope: Scope): string {
  const passes = (instant: string) => {
    const after = condition.after === undefined ? `${instant} is not null` : `${instant} > ?`
    return condition.before === undefined ? after : `(${after} and ${instant} < ?)`
  }
  const column = instantColumn(condition.field, scope)
  if (column !== undefined) return passes(column)
  return someElement(condition.field, scope, (_, type) =>
    passes(`(${instantOfText(`${type} = 'text'`, 'element.value')})`),
  )
}

/** EXISTS with an index on `by`: the related object is found from this one. */
function relatedSql({ field, resource, by, where }: Related, scope: Scope): string {
  const related = within(scope, resource)
  const own = fieldSql(field, scope, `v${related.depth}`)
  const other = fieldSql(by, related, `w${related.depth}`)
  const sources = [own.from, related.source, other.from].filter((one) => one !== undefined)
  const step = scope.steps && (other.from ? stepOfElement(`w${related.depth}`) : stepOfRow(related.inside))
  const tests = [step, own.guard, other.guard, equal(own, other), conditionSql(where, related)].filter(Boolean)
  return `exists (select 1 from ${sources.join(' cross join ')} where ${tests.join(' and ')})`
}

/** A column of the server turns a number into text before comparing, so only texts may reach it. */
function equal(own: FieldSql, other: FieldSql): string {
  if (other.isText && !own.isText) return `typeof(${own.value}) = 'text' and ${other.value} = ${own.value}`
  return own.isText && !other.isText ? `${other.value} = +${own.value}` : `${other.value} = ${own.value}`
}

/** Step by step from this object; a circle ends at the depth. */
function climbSql({ field, resource, depth, where }: Climb, scope: Scope): string {
  const first = within(scope, resource)
  const own = fieldSql(field, scope, `v${first.depth}`)
  const start = `select ${own.value}, 1${own.from ? ` from ${own.from}` : ''} where ${textsOf(own)}`
  return `exists (${stepsSql({ field, depth, start }, first)} where ${conditionSql(where, first)})`
}

/** Only texts are ids. */
function textsOf({ value, guard }: FieldSql): string {
  const isText = `typeof(${value}) = 'text'`
  return guard === undefined ? isText : `${guard} and ${isText}`
}

interface Steps {
  readonly field: string
  readonly depth: number
  /** Selects the ids of the first step, and 1. */
  readonly start: string
}

/** The objects of the scope's table that these steps reach, as a query whose last part is `where`. */
export function stepsSql({ field, depth, start }: Steps, scope: Scope): string {
  const steps = `steps${scope.depth}`
  const source = `${quoteName(scope.table.name)} as r${scope.depth}`
  const next = fieldSql(field, scope, `w${scope.depth}`)
  // Without a list, there are no more steps than the depth.
  const step = next.from ? `${stepOfElement(`w${scope.depth}`)} and ` : ''
  const further = `select ${next.value}, ${steps}.n + 1 from ${steps} cross join ${source}${next.from ? ` cross join ${next.from}` : ''}
    where ${step}${scope.inside}id = ${steps}.id and ${steps}.n < ${depth} and ${textsOf(next)}`
  return `with recursive ${steps}(id, n) as (${start} union ${further})
    select 1 from ${steps} cross join ${source} on ${scope.inside}id = ${steps}.id`
}

export function leadersOf(condition: Condition, { table, tableOf }: Scope): readonly Condition[] {
  return findLeaders(condition, leadsOf(table), (resource) => leadsOf(tableOf(resource)))
}

function leadsOf({ leading, columns }: QueriedTable): Leads {
  return { leading, scalars: columns.values }
}

/** The SQL of a part that leads: IN with a query that starts at its end. Binds the same values as `conditionSql`. */
export function leadingSql(condition: Condition, scope: Scope): string {
  switch (condition.kind) {
    case 'related':
      return `${columnOf(condition.field, scope)} in (${foundSql(condition, scope)})`
    case 'climb':
      return `${columnOf(condition.field, scope)} in (${descentSql(condition, scope)})`
    case 'some':
      return `(${condition.of.map((part) => leadingSql(part, scope)).join(' or ')})`
    case 'all':
      return withLeader(condition.of, leadersOf(condition, scope)[0], scope)
    default:
      return conditionSql(condition, scope)
  }
}

/** All parts, in their order: the leader by its index, the others without one. */
export function withLeader(parts: readonly Condition[], leader: Condition | undefined, scope: Scope): string {
  const follower = { ...scope, plain: true }
  const each = parts.map((part) => (part === leader ? leadingSql(part, scope) : conditionSql(part, follower)))
  return `(${each.join(' and ')})`
}

/**
 * The values that objects are looked up by: the field `by` of all related objects that meet the condition. A comparison
 * of a TEXT column with an ANY column converts nothing.
 */
function foundSql({ resource, by, where }: Related, scope: Scope): string {
  const related = within(scope, resource)
  return `select ${columnOf(by, related)} from ${related.source} where ${stepOfRow(related.here)} and ${leadingSql(where, related)}`
}

/**
 * Starts at the objects that meet the condition, and goes down to the objects that reach them; a circle ends at the
 * depth.
 */
function descentSql({ field, resource, depth, where }: Climb, scope: Scope): string {
  const related = within(scope, resource)
  const [steps, id] = [`steps${related.depth}`, `${related.here}id`]
  const up = columnOf(field, related)
  return `with recursive ${steps}(id, n) as (
      select ${id}, 1 from ${related.source} where ${stepOfRow(related.here)} and ${leadingSql(where, related)}
      union select ${id}, ${steps}.n + 1 from ${steps} cross join ${related.source}
        where ${stepOfRow(related.here)} and ${up} = ${steps}.id and ${steps}.n < ${depth})
    select id from ${steps}`
}

/** Fields with a column for their comparable value. Other fields are looked up in the document. */
export type Columns = ReadonlyMap<string, string>

/** The columns that can stand for a field: its value, and the instant that it means. */
export interface TableColumns {
  readonly values: Columns
  readonly times: Columns
  /** No index may answer. */
  readonly plain?: boolean
}

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
interface FieldSql {
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
function columnOf(field: string, { table, here, plain }: Scope): string | undefined {
  const column = table.columns.values.get(field)
  return column === undefined ? undefined : `${plain ? '+' : ''}${here}${quoteName(column)}`
}

/** The values of a field, for a query inside of the scope. `name`: of the table of elements. */
function fieldSql(field: string, { table, inside }: Scope, name: string): FieldSql {
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
function notAnObject(field: string, prefix: string): string {
  return `json_type(${prefix}document, ${jsonPath(field)}) <> 'object'`
}

/** The instant that a field's only value means; undefined where the field may be a list. */
function instantColumn(field: string, scope: Scope): string | undefined {
  const value = columnOf(field, scope)
  if (value === undefined) return undefined
  // The server writes its times as instants.
  if (field !== 'id' && SERVER_COLUMNS.has(field)) return value
  const column = scope.table.columns.times.get(field)
  if (column === undefined) return instantOfText(`typeof(${value}) = 'text'`, value)
  return `${scope.plain ? '+' : ''}${scope.here}${quoteName(column)}`
}

/** The values of `conditionSql`'s parameters, in their order. */
export function boundValues(condition: Condition): readonly (string | number | Uint8Array)[] {
  switch (condition.kind) {
    case 'always':
    case 'never':
    case 'present':
      return []
    case 'holds':
      return padded(condition.values).map(bound)
    case 'between':
      return numbersOf(condition)
    case 'time': {
      const { after, before } = instantBounds(condition)
      return [after, before].filter((one) => one !== undefined)
    }
    case 'related':
    case 'climb':
      return boundValues(condition.where)
    case 'all':
    case 'some':
      return condition.of.flatMap(boundValues)
    case 'not':
      return boundValues(condition.of)
  }
}

/** Conditions of one shape have the same SQL and differ only in the bound values. */
export function conditionShape(condition: Condition): string {
  switch (condition.kind) {
    case 'always':
    case 'never':
      return condition.kind
    case 'holds':
      return `${JSON.stringify(condition.field)}${padded(condition.values).length}`
    case 'present':
      return `present${JSON.stringify(condition.field)}`
    case 'between':
      return `between${JSON.stringify([condition.field, condition.atLeast !== undefined, condition.atMost !== undefined])}`
    case 'time':
      return `time${JSON.stringify([condition.field, condition.after !== undefined, condition.before !== undefined])}`
    case 'related':
      return `related${JSON.stringify([condition.field, condition.resource, condition.by])}(${conditionShape(condition.where)})`
    case 'climb':
      return `climb${JSON.stringify([condition.field, condition.resource, condition.depth])}(${conditionShape(condition.where)})`
    case 'all':
    case 'some':
      return `${condition.kind}(${condition.of.map(conditionShape).join()})`
    case 'not':
      return `not(${conditionShape(condition.of)})`
  }
}

/**
 * The values; the last one is repeated up to the next power of two, so that there are few shapes, however many values.
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

function numbersOf({ atLeast, atMost }: Between): readonly number[] {
  return [atLeast, atMost].filter((one) => one !== undefined)
}

/** Parameters in the text of a statement. */
export function parameters(count: number): string {
  return Array(count).fill('?').join(', ')
}
