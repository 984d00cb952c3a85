/** How conditions look at PostgreSQL's tables: at the keys and the instants of an object, by index where it has one. */
import { type Condition, type Lookup, SERVER_FIELDS } from '../../../decide/conditions/condition.ts'
import type { Scalar } from '../../../resources/object.ts'
import {
  type ConditionDialect,
  type ConditionTable,
  conditionSql,
  descentSql,
  type FieldSql,
  findDrivers,
  foundSql,
  looksUp,
  lookupSql,
  type SqlScope,
  within,
} from '../../sql/condition.ts'
import type { IndexKey } from '../../sql/indexes.ts'
import { SERVER_COLUMNS } from '../../sql/objects.ts'
import type { SqlValue, Statement } from '../../sql/statement.ts'
import { quoteName } from '../../sql/statement.ts'
import { KIND, keyOf, LIST } from '../layout/keys.ts'
import { encodeText, quoteText } from '../stored-text.ts'

export interface QueriedTable extends ConditionTable {
  /** The indexed fields, if no stored object has a list there. */
  readonly scalars: ReadonlySet<string>
}

export type QueriedTableOf = (resource: string) => QueriedTable

export type TableScope = SqlScope<QueriedTable>

/** The scope of a table in a statement of its own. */
export function outermost(table: QueriedTable, tableOf: QueriedTableOf, parameters: Parameters): TableScope {
  const bind: SqlScope['bind'] = (value) => parameters.bind(value)
  return { dialect: DIALECT, table, tableOf, depth: 0, alias: 'r0.', source: `${table.name} as r0`, bind }
}

const DIALECT: ConditionDialect<QueriedTable> = {
  values: (field, scope, name) => {
    if (hasOne(field, scope)) return singleOf(field, scope)
    const from = elementsSql(keysSql(field, scope.alias), name)
    return { ...valueOfKey(`(${name}.k collate "C")`), from, guard: `${name}.k <> '${LIST}'` }
  },
  instants: (field, scope, name) => {
    const column = field === 'id' ? undefined : serverColumn(field, scope.alias)
    if (column) return { value: column }
    if (scope.table.scalars.has(field)) return { value: instantSql(field, scope.alias) }
    return { value: `(${name}.k collate "C")`, from: elementsSql(instantsSql(field, scope.alias), name) }
  },
  holds: (field, values, { table, alias, bind }) => {
    const column = serverColumn(field, alias)
    // A simplified condition compares the server's fields only with texts.
    if (column) return `${column} ${among(values.map(textOf), bind)}`
    const keys = values.map(keyOf)
    if (table.scalars.has(field)) return `${keySql(field, alias)} ${among(keys, bind)}`
    return `${keysSql(field, alias)} ?| ${bind(keys)}::text[]`
  },
  number: keyOf,
  isNumber: [`>= '${KIND.number}'`, `< '${KIND.text}'`],
  meets: (own, by, { table, alias }) => {
    const column = serverColumn(by, alias)
    if (column) return { tests: [`${column} = ${own.text}`] }
    const meets = table.scalars.has(by) ? `${keySql(by, alias)} = ${own.value}` : `${keysSql(by, alias)} ? ${own.value}`
    return { tests: [meets] }
  },
  indexed: (field, scope, by, related) => {
    const [own, other] = [singleOf(field, scope), singleOf(by, related)]
    return field === 'id' ? [own.text, other.text] : [own.value, other.value]
  },
  ofId: (id) => `'${KIND.text}' || ${id}`,
  step: () => undefined,
  stepOfElement: () => undefined,
  driving: drivingSql,
}

/** Whether such an object is stored. */
export function lookupIn(lookup: Lookup, tableOf: QueriedTableOf, to: Parameters): string {
  return lookupSql(lookup, (resource) => outermost(tableOf(resource), tableOf, to))
}

/** A key or a text is one of these. */
export function among(values: readonly string[], bind: SqlScope['bind']): string {
  const [only = ''] = values
  return values.length === 1 ? `= ${bind(only)}::text` : `= any(${bind(values)}::text[])`
}

export function textOf(value: Scalar): string {
  return encodeText(String(value))
}

function hasOne(field: string, { table }: TableScope): boolean {
  return SERVER_FIELDS.has(field) || table.scalars.has(field)
}

/** The only value of a field of the server, or of a scalar. */
function singleOf(field: string, { alias }: TableScope): FieldSql {
  const column = serverColumn(field, alias)
  if (!column) return valueOfKey(keySql(field, alias))
  return { value: `('${KIND.text}' || ${column})`, text: column, isText: `${column} is not null` }
}

/** The value: its key, and the text that it is, or NULL. */
function valueOfKey(key: string): FieldSql {
  const text = `(case when left(${key}, 1) = '${KIND.text}' then substr(${key}, 2) end collate "C")`
  return { value: key, text, isText: `${text} is not null` }
}

/** The same as `conditionSql`, for rows that are selected: each part that can drive is written so that it does. */
export function drivingSql(condition: Condition, scope: TableScope): string {
  if (!looksUp(condition)) return conditionSql(condition, scope)
  if (condition.kind === 'all') return `(${condition.of.map((part) => drivingSql(part, scope)).join(' and ')})`
  if (findDrivers(condition, scope.table, scope.tableOf).length === 0) return conditionSql(condition, scope)
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

/** Each alternative finds its objects by its own index. */
function alternativesSql(alternatives: readonly Condition[], scope: TableScope): string {
  const found = alternatives.map((one) => {
    const same = { ...within({ ...scope, tableOf: () => scope.table }, ''), tableOf: scope.tableOf }
    return `select ${same.alias}id from ${same.source} where ${drivingSql(one, same)}`
  })
  return `${scope.alias}id in (${found.join(' union all ')})`
}

/** The server's fields are texts, and never missing. `alias`: empty where only one table is in sight. */
export function serverColumn(field: string, alias: string): string | undefined {
  const column = SERVER_COLUMNS.get(field)
  return column && `${alias}${quoteName(column)}`
}

/** The keys of all values: JSON, or NULL for a field without a value. */
function keysSql(field: string, alias: string): string {
  return `(${alias}"keys" -> ${quoteText(field)})`
}

/** The instants of all values, likewise. */
function instantsSql(field: string, alias: string): string {
  return `(${alias}"times" -> ${quoteText(field)})`
}

/** The key of the only value; of a list, LIST. */
export function keySql(field: string, alias: string): string {
  return `((${keysSql(field, alias)} ->> 0) collate "C")`
}

/** More keys than this don't fit in an entry of an index, which takes 2704 bytes. */
const MOST_KEYS = 3

/** What an index compares so that no two objects have the same values of these fields. NULL without a value. */
export function uniqueSql(fields: readonly string[], alias: string): readonly string[] {
  return fields.map((field) => uniqueKeySql(keySql(field, alias), fields))
}

/** `key`: of one of these fields, in SQL. */
export function uniqueKeySql(key: string, { length }: readonly string[]): string {
  // Of the functions from texts to bytes, an index takes only this one.
  return length > MOST_KEYS ? `sha256(decode(replace(${key}, E'\\\\', E'\\\\\\\\'), 'escape'))` : key
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

// Statements of PostgreSQL, whose values are collected while their texts are written.

/** Collects the values of a statement while its text is written. */
export class Parameters {
  readonly values: SqlValue[] = []

  /** The parameter that stands for the value. */
  bind(value: SqlValue): string {
    return `$${this.values.push(value)}`
  }
}

/**
 * Values of one of many look-ups that a statement answers (ASKED_FOR): they are texts, and so is what stands for them.
 */
export class AskedValues extends Parameters {
  override bind(value: SqlValue): string {
    if (typeof value !== 'string' && typeof value !== 'number') throw new Error('only texts and numbers are asked for')
    return askedText(this.values.push(String(value)) - 1)
  }
}

/** Writes a statement. */
export function statement(write: (parameters: Parameters) => string): Statement {
  const parameters = new Parameters()
  return { text: write(parameters), values: parameters.values }
}

// Parts of statements that answer many look-ups at once (connections/gathered.ts).

/**
 * What is asked for: a row for each look-up, with its place from 1 as `nth`. It is bound as one JSON list with a list
 * of texts for each look-up. PostgreSQL guesses the length of an `unnest`ed array, and would plan each statement again.
 */
export const ASKED_FOR = 'jsonb_array_elements($1::jsonb) with ordinality as asked(texts, nth)'

/** The nth text of a look-up, from 0. */
export function askedText(nth: number): string {
  return `(asked.texts ->> ${nth})`
}

/**
 * The row that a look-up by a key selects. With its limit, PostgreSQL plans each look-up by itself, by the index;
 * without it, it may read the whole table, as it does for many look-ups in a table that was small when it planned.
 */
export function oneRow(select: string): string {
  return `lateral (${select} limit 1)`
}
