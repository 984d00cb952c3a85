/** A simplified condition for PostgreSQL: an expression about one row, which finds related objects by index. */

import { instantBounds } from '../../../base/time.ts'
import type {
  Between,
  Climb,
  Condition,
  Holds,
  Lookup,
  Present,
  Related,
  Time,
} from '../../../decide/conditions/condition.ts'
import { simplify } from '../../../decide/conditions/simplify-condition.ts'
import type { Scalar } from '../../../resources/object.ts'
import type { IndexKey } from '../../sql/indexes.ts'
import { quoteName, SERVER_COLUMNS } from '../../sql/quote.ts'
import { type ConditionKinds, findLeaders, looksUp, writeCondition } from '../../sql/write-condition.ts'
import { KIND, keyOf, LIST } from '../layout/keys.ts'
import { quoteText } from '../layout/names.ts'
import { encodeText } from '../stored-text.ts'
import { outermost, type Parameters, type Scope, type TableOf, within } from './statement.ts'

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
function singleOf(field: string, { alias }: Scope): ValueSql {
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
function stepsSql({ field, depth, start }: Steps, scope: Scope): string {
  const steps = `steps${scope.depth}`
  const next = valuesSql(field, scope, `w${scope.depth}`)
  const reached = `${steps} join ${scope.source} on ${scope.alias}.id = ${steps}.id`
  const further = `select ${next.text}, ${steps}.n + 1 from ${reached}${next.from ? `, ${next.from}` : ''}
    where ${steps}.n < ${depth} and ${textsOf(next)}`
  return `with recursive ${steps}(id, n) as (${start} union ${further}) select 1 from ${reached}`
}

/** The same as `conditionSql`, for rows that are selected: each part that can lead is written so that it can. */
export function leadingSql(condition: Condition, scope: Scope): string {
  if (!looksUp(condition)) return conditionSql(condition, scope)
  if (condition.kind === 'all') return `(${condition.of.map((part) => leadingSql(part, scope)).join(' and ')})`
  if (findLeaders(condition, scope.table, scope.tableOf).length === 0) return conditionSql(condition, scope)
  switch (condition.kind) {
    case 'related':
      return foundSql(condition, scope)
    case 'climb':
      return descentSql(condition, scope)
    case 'some':
      return alternativesSql(condition.of, scope)
    default:
      return conditionSql(condition, scope)
  }
}

function foundSql({ field, resource, by, where }: Related, scope: Scope): string {
  const related = within(scope, resource)
  const [own, other] = [singleOf(field, scope), singleOf(by, related)]
  const found = field === 'id' ? other.text : other.key
  return `${field === 'id' ? own.text : own.key} in (
    select ${found} from ${related.source} where ${leadingSql(where, related)})`
}

/**
 * Starts at the objects that meet the condition, and goes down to the objects that reach them; a circle ends at the
 * depth.
 */
function descentSql({ field, resource, depth, where }: Climb, scope: Scope): string {
  const related = within(scope, resource)
  const [steps, id] = [`steps${related.depth}`, `${related.alias}.id`]
  const own = singleOf(field, scope)
  const up = singleOf(field, related).key
  return `${own.key} in (with recursive ${steps}(id, n) as (
      select ${id}, 1 from ${related.source} where ${leadingSql(where, related)}
      union select ${id}, ${steps}.n + 1 from ${steps} join ${related.source} on ${up} = '2' || ${steps}.id
        where ${steps}.n < ${depth})
    select '2' || ${steps}.id from ${steps})`
}

/** Each alternative finds its objects by its own index. */
function alternativesSql(alternatives: readonly Condition[], scope: Scope): string {
  const found = alternatives.map((one) => {
    const same = { ...within({ ...scope, tableOf: () => scope.table }, ''), tableOf: scope.tableOf }
    return `select ${same.alias}.id from ${same.source} where ${leadingSql(one, same)}`
  })
  return `${scope.alias}.id in (${found.join(' union all ')})`
}

/** The server's fields are texts, and never missing. */
export function serverColumn(field: string, alias: string): string | undefined {
  const column = SERVER_COLUMNS.get(field)
  return column && columnSql(column, alias)
}

/** Without an alias, where only one table is in sight. */
export function columnSql(column: string, alias: string): string {
  return alias === '' ? quoteName(column) : `${alias}.${quoteName(column)}`
}

/** The keys of all values: JSON, or NULL for a field without a value. */
function keysSql(field: string, alias: string): string {
  return `(${columnSql('keys', alias)} -> ${quoteText(field)})`
}

/** The instants of all values, likewise. */
function instantsSql(field: string, alias: string): string {
  return `(${columnSql('times', alias)} -> ${quoteText(field)})`
}

/** The key of the only value; of a list, LIST. */
export function keySql(field: string, alias: string): string {
  return `((${keysSql(field, alias)} ->> 0) collate "C")`
}

/** The instant of the only value; NULL for a list. */
function instantSql(field: string, alias: string): string {
  return `((${instantsSql(field, alias)} ->> 0) collate "C")`
}

/** What a list is sorted by, and an index holds. */
export function sortedSql({ field, by }: IndexKey, alias: string): string {
  return serverColumn(field, alias) ?? (by === 'time' ? instantSql(field, alias) : keySql(field, alias))
}

/** The order of an index: "no value" is the least in the contract, and the server's fields have always one. */
export function indexedSql(key: IndexKey): string {
  return `${sortedSql(key, '')}${SERVER_COLUMNS.has(key.field) ? '' : ' nulls first'}`
}

/** Elements of JSON as a table with the column `k`. */
function elementsSql(json: string, name: string): string {
  return `jsonb_array_elements_text(${json}) as ${name}(k)`
}

/** Whether such an object is stored. */
export function lookupSql({ resource, by, values, climb, where }: Lookup, tableOf: TableOf, to: Parameters): string {
  const named = simplify({ kind: 'holds', field: by, values })
  const met = simplify(where)
  if (named.kind === 'never' || met.kind === 'never') return 'false'
  const scope = outermost(tableOf(resource), tableOf, to)
  if (!climb) {
    const both: Condition = { kind: 'all', of: [named, met] }
    return `exists (select 1 from ${scope.source} where ${conditionSql(both, scope)})`
  }
  const start = `select ${scope.alias}.id, 1 from ${scope.source} where ${conditionSql(named, scope)}`
  const reached = within(scope, resource)
  return `exists (${stepsSql({ ...climb, start }, reached)} where ${conditionSql(met, reached)})`
}
