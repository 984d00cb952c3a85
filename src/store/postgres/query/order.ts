/** The order of a list, the segments of its next page, and a client's comparisons, for PostgreSQL. */
import { SERVER_FIELDS } from '../../../decide/conditions/condition.ts'
import type { Scalar } from '../../../resources/object.ts'
import type { Comparison, SortKey, SortValue } from '../../contract.ts'
import type { Bound, Segment } from '../../lists/keyset.ts'
import { KIND, keyOf, keyOfSortValue } from '../layout/keys.ts'
import { among, textOf } from './condition.ts'
import { serverColumn, sortedSql } from './fields.ts'
import { canBeLong, comparedWhole, wholeTermsSql } from './long-texts.ts'
import type { Scope } from './scope.ts'

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

export function segmentSql(segment: Segment, scope: Scope): string {
  return segment.map((bound) => boundSql(bound, scope)).join(' and ')
}

function boundSql({ key, relation, value }: Bound, scope: Scope): string {
  const { alias, parameters } = scope
  const term = sortedSql(key, alias)
  if (relation === 'null') return `${term} is null`
  if (relation === 'not null') return `${term} is not null`
  const whole = relation !== '=' && canBeLong(key) ? comparedWhole(key.field, relation, value, scope) : undefined
  return whole ?? `${term} ${relation} ${parameters.bind(boundOf(key, value))}`
}

function boundOf({ field, by }: SortKey, value: SortValue): string {
  if (value === null) throw new Error("a missing value can't be bound")
  return by === 'time' || SERVER_FIELDS.has(field) ? textOf(value as Scalar) : keyOfSortValue(value)
}

const OPERATORS = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const

export function comparisonSql(comparison: Comparison, scope: Scope): string {
  const { alias, parameters } = scope
  const { field, by, operator, values } = comparison
  const term = sortedSql(comparison, alias)
  const plain = by === 'time' || serverColumn(field, alias) !== undefined
  if (operator === 'in') return `${term} ${among(values.map(plain ? textOf : keyOf), parameters)}`
  const [value = ''] = values
  const compared = `${term} ${OPERATORS[operator]}`
  if (!plain) {
    const whole = comparedWhole(field, OPERATORS[operator], value, scope)
    return `${whole ?? `${compared} ${parameters.bind(keyOf(value))}`} and ${ofTypeOf(value, term)}`
  }
  // The server's fields and instants are texts.
  return typeof value === 'string' ? `${compared} ${parameters.bind(textOf(value))}` : 'false'
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
