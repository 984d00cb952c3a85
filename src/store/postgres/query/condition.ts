/** A simplified condition for PostgreSQL: an expression about one row, which finds related objects by index. */
import { instantBounds } from '../../../base/time.ts'
import type { Between, Climb, Condition, Holds, Present, Related, Time } from '../../../decide/conditions/condition.ts'
import type { Scalar } from '../../../resources/object.ts'
import { type ConditionKinds, writeCondition } from '../../sql/write-condition.ts'
import { KIND, keyOf, LIST } from '../layout/keys.ts'
import { encodeText } from '../stored-text.ts'
import { elementsSql, instantSql, instantsSql, keySql, keysSql, serverColumn } from './fields.ts'
import { type Scope, within } from './scope.ts'
import type { Parameters } from './statement.ts'

const KINDS: ConditionKinds<Scope> = {
  holds: holdsSql,
  present: presentSql,
  between: betweenSql,
  time: timeSql,
  related: relatedSql,
  climb: climbSql,
}

export function conditionSql(condition: Condition, scope: Scope): string {
  return writeCondition(condition, scope, KINDS)
}

function holdsSql({ field, values }: Holds, { table, alias, parameters }: Scope): string {
  const column = serverColumn(field, alias)
  // A simplified condition compares the server's fields only with texts.
  if (column) return `${column} ${among(values.map(textOf), parameters)}`
  const keys = values.map(keyOf)
  if (table.scalars.has(field)) return `${keySql(field, alias)} ${among(keys, parameters)}`
  return `${keysSql(field, alias)} ?| ${parameters.bind(keys)}::text[]`
}

/** A key or a text is one of these. */
export function among(values: readonly string[], parameters: Parameters): string {
  const [only = ''] = values
  return values.length === 1 ? `= ${parameters.bind(only)}::text` : `= any(${parameters.bind(values)}::text[])`
}

export function textOf(value: Scalar): string {
  return encodeText(String(value))
}

function presentSql({ field }: Present, { alias }: Scope): string {
  if (serverColumn(field, alias)) return 'true'
  const keys = keysSql(field, alias)
  return `coalesce(${keys} ->> 1, nullif(${keys} ->> 0, '${LIST}')) is not null`
}

function betweenSql({ field, atLeast, atMost }: Between, { table, alias, depth, parameters }: Scope): string {
  const low = atLeast === undefined ? `'${KIND.number}'` : parameters.bind(keyOf(atLeast))
  const high = atMost === undefined ? `'${KIND.text}'` : parameters.bind(keyOf(atMost))
  const passes = (key: string) => `${key} >= ${low} and ${key} <= ${high}`
  if (table.scalars.has(field)) return `(${passes(keySql(field, alias))})`
  return someElement(keysSql(field, alias), `b${depth}`, passes)
}

function someElement(json: string, name: string, passes: (value: string) => string): string {
  return `exists (select 1 from ${elementsSql(json, name)} where ${passes(`(${name}.k collate "C")`)})`
}

function timeSql(condition: Time, { table, alias, depth, parameters }: Scope): string {
  const { field } = condition
  const { after, before } = instantBounds(condition)
  const [low, high] = [after, before].map((bound) => bound !== undefined && parameters.bind(bound))
  const passes = (instant: string) => {
    const tests = [low && `${instant} > ${low}`, high && `${instant} < ${high}`].filter((test) => test !== false)
    return tests.length === 0 ? `${instant} is not null` : `(${tests.join(' and ')})`
  }
  const column = field === 'id' ? undefined : serverColumn(field, alias)
  if (column) return passes(column)
  if (table.scalars.has(field)) return passes(instantSql(field, alias))
  return someElement(instantsSql(field, alias), `b${depth}`, passes)
}

/** A value: its key, and the text that it is, or NULL. */
interface ValueSql {
  readonly key: string
  readonly text: string
}

/** A field's values in a query: one row for each. */
interface ValuesSql extends ValueSql {
  readonly from?: string
  readonly guard?: string
}

/** The only value of a field of the server, or of a scalar. */
export function singleOf(field: string, { alias }: Scope): ValueSql {
  const column = serverColumn(field, alias)
  return column ? { key: `('${KIND.text}' || ${column})`, text: column } : valueOfKey(keySql(field, alias))
}

function valuesSql(field: string, scope: Scope, name: string): ValuesSql {
  const { table, alias } = scope
  if (serverColumn(field, alias) || table.scalars.has(field)) return singleOf(field, scope)
  const element = valueOfKey(`(${name}.k collate "C")`)
  return { ...element, from: elementsSql(keysSql(field, alias), name), guard: `${name}.k <> '${LIST}'` }
}

function valueOfKey(key: string): ValueSql {
  return { key, text: `(case when left(${key}, 1) = '${KIND.text}' then substr(${key}, 2) end collate "C")` }
}

/** EXISTS: an index on `by` finds the related object from this one. */
function relatedSql({ field, resource, by, where }: Related, scope: Scope): string {
  const related = within(scope, resource)
  const own = valuesSql(field, scope, `v${related.depth}`)
  const sources = [own.from, related.source].filter((one) => one !== undefined)
  const tests = [own.guard, meeting(own, by, related), conditionSql(where, related)].filter(Boolean)
  return `exists (select 1 from ${sources.join(', ')} where ${tests.join(' and ')})`
}

/** The value is one of the related object's field. */
function meeting(own: ValuesSql, by: string, { table, alias }: Scope): string {
  const column = serverColumn(by, alias)
  if (column) return `${column} = ${own.text}`
  return table.scalars.has(by) ? `${keySql(by, alias)} = ${own.key}` : `${keysSql(by, alias)} ? ${own.key}`
}

/** Step by step from this object; a circle ends at the depth. */
function climbSql({ field, resource, depth, where }: Climb, scope: Scope): string {
  const first = within(scope, resource)
  const own = valuesSql(field, scope, `v${first.depth}`)
  const start = `select ${own.text}, 1${own.from ? ` from ${own.from}` : ''} where ${textsOf(own)}`
  return `exists (${stepsSql({ field, depth, start }, first)} where ${conditionSql(where, first)})`
}

/** Only texts are ids. */
function textsOf({ text, guard }: ValuesSql): string {
  return guard === undefined ? `${text} is not null` : `${guard} and ${text} is not null`
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
  const next = valuesSql(field, scope, `w${scope.depth}`)
  const reached = `${steps} join ${scope.source} on ${scope.alias}.id = ${steps}.id`
  const further = `select ${next.text}, ${steps}.n + 1 from ${reached}${next.from ? `, ${next.from}` : ''}
    where ${steps}.n < ${depth} and ${textsOf(next)}`
  return `with recursive ${steps}(id, n) as (${start} union ${further}) select 1 from ${reached}`
}
