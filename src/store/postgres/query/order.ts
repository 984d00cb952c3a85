/** The order of a list, the segments of its next page, and a client's comparisons, for PostgreSQL. */

import { SERVER_FIELDS } from '../../../decide/conditions/condition.ts'
import type { Scalar } from '../../../resources/object.ts'
import type { Comparison, SortKey, SortValue } from '../../contract.ts'
import type { Bound, Segment } from '../../lists/selection.ts'
import { isLongSql, KIND, keyOf, keyOfSortValue, longKeysOf, withoutHashSql } from '../layout/keys.ts'
import { quoteText } from '../layout/names.ts'
import { among, keySql, serverColumn, sortedSql, type TableScope, textOf } from './condition.ts'

/** Writes the order of a list. "No value" is the least in the contract; the server's fields have always one. */
export type OrderSql = (order: readonly SortKey[], alias: string) => string

/** As indexes have it: long texts with the same beginning come in an order of their own. */
export const indexedOrderSql: OrderSql = (order, alias) =>
  order.map((key) => `${sortedSql(key, alias)} ${directionOf(key)}`).join()

/** The order of the contract, also of long texts. No index has it. */
export const wholeOrderSql: OrderSql = (order, alias) =>
  order
    .flatMap((key) => {
      const terms = canBeLong(key) ? wholeTermsSql(key.field, alias) : [sortedSql(key, alias)]
      return terms.map((term) => `${term} ${directionOf(key)}`)
    })
    .join()

function directionOf({ field, descending }: SortKey): string {
  const direction = descending ? 'desc' : 'asc'
  return SERVER_FIELDS.has(field) ? direction : `${direction} nulls ${descending ? 'last' : 'first'}`
}

export function segmentSql(segment: Segment, scope: TableScope): string {
  return segment.map((bound) => boundSql(bound, scope)).join(' and ')
}

function boundSql({ key, relation, value }: Bound, scope: TableScope): string {
  const { alias, bind } = scope
  const term = sortedSql(key, alias)
  if (relation === 'null') return `${term} is null`
  if (relation === 'not null') return `${term} is not null`
  const whole = relation !== '=' && canBeLong(key) ? comparedWhole(key.field, relation, value, scope) : undefined
  return whole ?? `${term} ${relation} ${bind(boundOf(key, value))}`
}

function boundOf({ field, by }: SortKey, value: SortValue): string {
  if (value === null) throw new Error("a missing value can't be bound")
  return by === 'time' || SERVER_FIELDS.has(field) ? textOf(value as Scalar) : keyOfSortValue(value)
}

const OPERATORS = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const

export function comparisonSql(comparison: Comparison, scope: TableScope): string {
  const { alias, bind } = scope
  const { field, by, operator, values } = comparison
  const term = sortedSql(comparison, alias)
  const plain = by === 'time' || serverColumn(field, alias) !== undefined
  if (operator === 'in') return `${term} ${among(values.map(plain ? textOf : keyOf), bind)}`
  const [value = ''] = values
  const compared = `${term} ${OPERATORS[operator]}`
  if (!plain) {
    const whole = comparedWhole(field, OPERATORS[operator], value, scope)
    return `${whole ?? `${compared} ${bind(keyOf(value))}`} and ${ofTypeOf(value, term)}`
  }
  // The server's fields and instants are texts.
  return typeof value === 'string' ? `${compared} ${bind(textOf(value))}` : 'false'
}

/** A comparison must not reach into the values of another type. */
function ofTypeOf(value: Scalar, term: string): string {
  const [first, end] = typesOf(value)
  return `${term} >= '${first}' and ${term} < '${end}'`
}

function typesOf(value: Scalar): readonly [string, string] {
  if (typeof value === 'number') return [KIND.number, KIND.text]
  return typeof value === 'string' ? [KIND.text, KIND.no] : [KIND.no, KIND.list]
}

type Ordering = '>' | '>=' | '<' | '<='

/** The field's values can be texts of any length. Instants are short, and the server's columns have whole texts. */
export function canBeLong({ field, by }: Pick<SortKey, 'field' | 'by'>): boolean {
  return by === 'value' && !SERVER_FIELDS.has(field)
}

/** Whether the row is sorted by a long text. */
export function hasLongSql(order: readonly SortKey[], alias: string): string {
  const long = order.filter(canBeLong).map(({ field }) => isLongSql(keySql(field, alias)))
  return `(${long.join(' or ')}) is true`
}

/** What sorts by the beginning, and then by the whole text. */
function wholeTermsSql(field: string, alias: string): readonly [string, string] {
  const key = keySql(field, alias)
  const isLong = isLongSql(key)
  return [
    `(case when ${isLong} then ${withoutHashSql(key)} else ${key} end)`,
    `(case when ${isLong} then ${wholeTextSql(field, alias)} end)`,
  ]
}

/** The comparison of a field with a long text; undefined for any other value, which keys compare. */
function comparedWhole(
  field: string,
  operator: Ordering,
  value: SortValue,
  { alias, bind }: Pick<TableScope, 'alias' | 'bind'>,
): string | undefined {
  const long = longKeysOf(value)
  if (!long) return undefined
  const key = keySql(field, alias)
  const [first, last] = [bind(long.first), bind(long.last)]
  const whole = `${wholeTextSql(field, alias)} ${operator} ${bind(long.whole)}`
  const [near, far] = operator.startsWith('>') ? [`>= ${first}`, `> ${last}`] : [`<= ${last}`, `< ${first}`]
  return `(${key} ${near} and case when ${key} ${far} then true else ${whole} end)`
}

/**
 * The text of a field as `encodeText` encodes it. JSON of PostgreSQL has neither U+0000 nor lone surrogates, so their
 * escapes are replaced; meanwhile U+0002, which no JSON text has as itself, stands for an escaped backslash.
 */
function wholeTextSql(field: string, alias: string): string {
  const backslashes = String.raw`replace(${alias}document, '\\', U&'\0002')`
  const escapes = String.raw`replace(${backslashes}, '\u0001', '\u0001\u0002')`
  const nulls = String.raw`replace(${escapes}, '\u0000', '\u0001\u0001')`
  const surrogates = String.raw`regexp_replace(${nulls}, '\\u(d[89a-f][0-9a-f]{2})', '\\u0001\\u0003\1', 'g')`
  const document = String.raw`replace(${surrogates}, U&'\0002', '\\')`
  return `((${document}::json ->> ${quoteText(field)}) collate "C")`
}
