/**
 * A simplified condition as an expression about one row, which looks up related objects by index. A dialect says how a
 * table keeps the values of a field.
 */
import { instantBounds } from '../../base/time.ts'
import type {
  Between,
  Climb,
  Condition,
  Holds,
  Lookup,
  Present,
  Related,
  Time,
} from '../../decide/conditions/condition.ts'
import { simplify } from '../../decide/conditions/simplify-condition.ts'
import type { Scalar } from '../../resources/object.ts'
import type { SqlValue } from './statement.ts'

/** A table as conditions look at it. */
export interface ConditionTable extends IndexedFields {
  /** Quoted. */
  readonly name: string
}

/** Of a resource. */
type TableOf<T extends ConditionTable> = (resource: string) => T

/** Where an expression stands. */
export interface SqlScope<T extends ConditionTable = ConditionTable> {
  readonly dialect: ConditionDialect<T>
  readonly table: T
  readonly tableOf: TableOf<T>
  /** The number of tables around this one. */
  readonly depth: number
  /** What stands before a column, with a dot. */
  readonly alias: string
  /** The table with its alias. */
  readonly source: string
  /** The parameter that stands for a value. Values are bound in the order of the text. */
  readonly bind: (value: SqlValue) => string
  /** No index may answer, because another one does. */
  readonly plain?: boolean
  /** Each row that is looked at is a step (sqlite/query/work.ts), also of tables within. */
  readonly steps?: boolean
}

/** A field's values in a query: one expression, or the elements of a list, one in each row of a table. */
export interface FieldSql {
  /** What is compared. */
  readonly value: string
  /** The text that it is, and whether it is one: only texts are ids. */
  readonly text: string
  readonly isText: string
  readonly from?: string
  readonly guard?: string
  /** A column of the server has the type TEXT. */
  readonly ofServer?: boolean
}

export interface ConditionDialect<T extends ConditionTable> {
  /** `name`: of the table of elements. */
  readonly values: (field: string, scope: SqlScope<T>, name: string) => FieldSql
  /** The instants that the values mean. */
  readonly instants: (field: string, scope: SqlScope<T>, name: string) => Pick<FieldSql, 'value' | 'from' | 'guard'>
  readonly holds: (field: string, values: readonly Scalar[], scope: SqlScope<T>) => string
  /** A number as it is compared. */
  readonly number: (value: number) => SqlValue
  /** What holds for all numbers, and nothing else. */
  readonly isNumber: readonly [string, string]
  /** Whether the value is one of the related object's field. */
  readonly meets: (
    own: FieldSql,
    by: string,
    related: SqlScope<T>,
  ) => { readonly from?: string | undefined; readonly tests: Tests }
  /** The values of the field and of the related field (`by`), written as the indexes have them. */
  readonly indexed: (field: string, scope: SqlScope<T>, by: string, related: SqlScope<T>) => readonly [string, string]
  /** An id as a value. */
  readonly ofId: (id: string) => string
  /** For a row that a search looks at. */
  readonly step: (scope: SqlScope<T>) => string | undefined
  readonly stepOfElement: (name: string) => string | undefined
  /** The condition on objects to start from, written so that an index finds them. */
  readonly driving: (condition: Condition, scope: SqlScope<T>) => string
}

type Tests = readonly (string | undefined)[]

/** The table of another resource in a query inside of this scope, with an alias of its own. */
export function within<T extends ConditionTable>(scope: SqlScope<T>, resource: string): SqlScope<T> {
  const { dialect, tableOf, depth, bind, steps = false } = scope
  const [table, alias] = [tableOf(resource), `r${depth + 1}`]
  return {
    dialect,
    table,
    tableOf,
    depth: depth + 1,
    alias: `${alias}.`,
    source: `${table.name} as ${alias}`,
    bind,
    steps,
  }
}

const KINDS: ConditionKinds<SqlScope> = {
  holds: ({ field, values }, scope) => scope.dialect.holds(field, values, scope),
  present: ({ field }, scope) => someValue(field, scope, ({ value }) => `${value} is not null`),
  between: (condition, scope) => someValue(condition.field, scope, ({ value }) => betweenSql(condition, value, scope)),
  time: timeSql,
  related: relatedSql,
  climb: climbSql,
}

export function conditionSql<T extends ConditionTable>(condition: Condition, scope: SqlScope<T>): string {
  return writeCondition(condition, scope as unknown as SqlScope, KINDS)
}

/** Whether a value of the field passes: the only one, or an element. */
export function someValue<T extends ConditionTable>(
  field: string,
  scope: SqlScope<T>,
  passes: (value: FieldSql) => string,
): string {
  const own = scope.dialect.values(field, scope, `b${scope.depth}`)
  return own.from === undefined ? passes(own) : existsSql([own.from], [own.guard, passes(own)])
}

function existsSql(sources: Tests, tests: Tests): string {
  return `exists (select 1 from ${sources.filter(Boolean).join(' cross join ')} where ${allOf(...tests)})`
}

function allOf(...tests: Tests): string {
  return tests.filter(Boolean).join(' and ')
}

function betweenSql({ atLeast, atMost }: Between, value: string, { dialect, bind }: SqlScope): string {
  const [least, most] = dialect.isNumber
  const low = atLeast === undefined ? least : `>= ${bind(dialect.number(atLeast))}`
  return `(${value} ${low} and ${value} ${atMost === undefined ? most : `<= ${bind(dialect.number(atMost))}`})`
}

function timeSql(condition: Time, scope: SqlScope): string {
  const { value, from, guard } = scope.dialect.instants(condition.field, scope, `b${scope.depth}`)
  const { after, before } = instantBounds(condition)
  const since = after === undefined ? `${value} is not null` : `${value} > ${scope.bind(after)}`
  const passes = before === undefined ? since : `(${since} and ${value} < ${scope.bind(before)})`
  return from === undefined ? passes : existsSql([from], [guard, passes])
}

/** EXISTS: an index on `by` finds the related object from this one. */
function relatedSql({ field, resource, by, where }: Related, scope: SqlScope): string {
  const { dialect } = scope
  const related = within(scope, resource)
  const own = dialect.values(field, scope, `v${related.depth}`)
  const { from, tests } = dialect.meets(own, by, related)
  return existsSql([own.from, related.source, from], [own.guard, ...tests, conditionSql(where, related)])
}

/** Step by step from this object; a circle ends at the depth. */
function climbSql({ field, resource, depth, where }: Climb, scope: SqlScope): string {
  const first = within(scope, resource)
  const own = scope.dialect.values(field, scope, `v${first.depth}`)
  const start = `select ${own.text}, 1${own.from ? ` from ${own.from}` : ''} where ${allOf(own.guard, own.isText)}`
  return `exists (${stepsSql({ field, depth, start }, first)} and ${conditionSql(where, first)})`
}

interface ClimbSteps {
  readonly field: string
  readonly depth: number
  /** Selects the ids of the first step, and 1. */
  readonly start: string
}

/** The objects of the scope's table that these steps reach, as a query to which conditions can be added. */
function stepsSql<T extends ConditionTable>({ field, depth, start }: ClimbSteps, scope: SqlScope<T>): string {
  const [steps, name] = [`steps${scope.depth}`, `w${scope.depth}`]
  const next = scope.dialect.values(field, scope, name)
  const reached = `${steps} cross join ${scope.source}`
  // Without a list, there are no more steps than the depth.
  const [elements, step] = next.from ? [` cross join ${next.from}`, scope.dialect.stepOfElement(name)] : ['', undefined]
  const isReached = `${scope.alias}id = ${steps}.id`
  const tests = allOf(step, isReached, `${steps}.n < ${depth}`, next.guard, next.isText)
  const further = `select ${next.text}, ${steps}.n + 1 from ${reached}${elements} where ${tests}`
  return `with recursive ${steps}(id, n) as (${start} union ${further}) select 1 from ${reached} where ${isReached}`
}

/**
 * The objects of a related condition, found from its end: IN with a query that starts there. It has the same values in
 * the same order as `conditionSql`.
 */
export function foundSql<T extends ConditionTable>(
  { field, resource, by, where }: Related,
  scope: SqlScope<T>,
): string {
  const { dialect } = scope
  const related = within(scope, resource)
  const [own, other] = dialect.indexed(field, scope, by, related)
  const found = allOf(dialect.step(related), dialect.driving(where, related))
  return `${own} in (select ${other} from ${related.source} where ${found})`
}

/**
 * Starts at the objects that meet the condition, and goes down to the objects that reach them; a circle ends at the
 * depth.
 */
export function descentSql<T extends ConditionTable>(
  { field, resource, depth, where }: Climb,
  scope: SqlScope<T>,
): string {
  const { dialect } = scope
  const related = within(scope, resource)
  const [steps, id] = [`steps${related.depth}`, `${related.alias}id`]
  const [own, up] = [scope, related].map((one) => dialect.values(field, one, '').value)
  const step = dialect.step(related)
  const found = allOf(step, dialect.driving(where, related))
  const below = allOf(step, `${up} = ${dialect.ofId(`${steps}.id`)}`, `${steps}.n < ${depth}`)
  return `${own} in (with recursive ${steps}(id, n) as (
      select ${id}, 1 from ${related.source} where ${found}
      union select ${id}, ${steps}.n + 1 from ${steps} cross join ${related.source} where ${below})
    select ${dialect.ofId(`${steps}.id`)} from ${steps})`
}

/** Whether such an object is stored. `scope`: of its table, in a statement of its own. */
export function lookupSql<T extends ConditionTable>(
  { resource, by, values, climb, where }: Lookup,
  scopeOf: (resource: string) => SqlScope<T>,
): string {
  const named = simplify({ kind: 'holds', field: by, values })
  const met = simplify(where)
  if (named.kind === 'never' || met.kind === 'never') return 'false'
  const scope = scopeOf(resource)
  if (!climb) return existsSql([scope.source], [conditionSql({ kind: 'all', of: [named, met] }, scope)])
  const start = `select ${scope.alias}id, 1 from ${scope.source} where ${conditionSql(named, scope)}`
  const reached = within(scope, resource)
  return `exists (${stepsSql({ ...climb, start }, reached)} and ${conditionSql(met, reached)})`
}

// A simplified condition as an expression about one row: what all engines write alike.

/** Writes the kinds that look at fields or at other objects. */
export interface ConditionKinds<Scope> {
  readonly holds: (condition: Holds, scope: Scope) => string
  readonly present: (condition: Present, scope: Scope) => string
  readonly between: (condition: Between, scope: Scope) => string
  readonly time: (condition: Time, scope: Scope) => string
  readonly related: (condition: Related, scope: Scope) => string
  readonly climb: (condition: Climb, scope: Scope) => string
}

export function writeCondition<Scope>(condition: Condition, scope: Scope, kinds: ConditionKinds<Scope>): string {
  const joined = (parts: readonly Condition[], operator: string) =>
    `(${parts.map((part) => writeCondition(part, scope, kinds)).join(operator)})`
  switch (condition.kind) {
    case 'always':
      return 'true'
    case 'never':
      return 'false'
    case 'holds':
      return kinds.holds(condition, scope)
    case 'present':
      return kinds.present(condition, scope)
    case 'between':
      return kinds.between(condition, scope)
    case 'time':
      return kinds.time(condition, scope)
    case 'related':
      return kinds.related(condition, scope)
    case 'climb':
      return kinds.climb(condition, scope)
    case 'all':
      return joined(condition.of, ' and ')
    case 'some':
      return joined(condition.of, ' or ')
    case 'not':
      // `not x` would be NULL if x is NULL, which would exclude objects without the field.
      return `((${writeCondition(condition.of, scope, kinds)}) is not true)`
  }
}

/** What the indexes of a table find. */
export interface IndexedFields {
  /** The fields that find few objects: those that relations compare, and unique ones. */
  readonly driving: ReadonlySet<string>
  /** The fields with one value in each object, which an index can compare. */
  readonly scalars: { has(field: string): boolean }
}

/** Of a resource. */
type IndexedFieldsOf = (resource: string) => IndexedFields

/** Whether related objects take part, so that it is worth to look for the end to start from. */
export function looksUp(condition: Condition): boolean {
  switch (condition.kind) {
    case 'related':
    case 'climb':
      return true
    case 'all':
    case 'some':
      return condition.of.some(looksUp)
    case 'not':
      return looksUp(condition.of)
    default:
      return false
  }
}

/**
 * The parts of the condition that can drive a search: each is met by all objects that meet the condition, and an index
 * finds its objects.
 */
export function findDrivers(
  condition: Condition,
  table: IndexedFields,
  tableOf: IndexedFieldsOf,
): readonly Condition[] {
  return (condition.kind === 'all' ? condition.of : [condition]).filter((part) => canDrive(part, table, tableOf))
}

function canDrive(condition: Condition, table: IndexedFields, tableOf: IndexedFieldsOf): boolean {
  switch (condition.kind) {
    case 'holds':
      return isIndexed(condition.field, table)
    case 'related':
      return isIndexed(condition.field, table) && findsFew(condition, condition.by, tableOf)
    case 'climb':
      return isIndexed(condition.field, table) && findsFew(condition, condition.field, tableOf)
    case 'some':
      return condition.of.every((part) => findDrivers(part, table, tableOf).length > 0)
    default:
      return false
  }
}

function isIndexed(field: string, { driving, scalars }: IndexedFields): boolean {
  return field === 'id' || (driving.has(field) && scalars.has(field))
}

/** The related objects are few too, and have one value in the field. */
function findsFew({ resource, where }: Related | Climb, field: string, tableOf: IndexedFieldsOf): boolean {
  const table = tableOf(resource)
  return (field === 'id' || table.scalars.has(field)) && findDrivers(where, table, tableOf).length > 0
}
