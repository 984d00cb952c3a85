/** By what a list is sorted, where its next page begins, and a client's comparisons, for SQLite. */
import { SERVER_FIELDS } from '../../../decide/conditions/condition.ts'
import type { Scalar } from '../../../resources/object.ts'
import type { Comparison, SortKey, SortValue } from '../../contract.ts'
import type { Bound, Segment } from '../../lists/selection.ts'
import { comparableField, instant } from '../layout/schema.ts'
import { bound, padded, parameters, type TableScope } from './condition.ts'

const OPERATORS = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const

type Ordering = keyof typeof OPERATORS

export function comparisonSql(comparison: Comparison, scope: TableScope): string {
  const { operator, values } = comparison
  const term = orderedBy(comparison, scope)
  if (operator === 'in') return `${term} in (${parameters(padded(values).map(bound), scope)})`
  const [value = ''] = values
  // The server's columns are text, and would turn a number into text before comparing; an expression has no such
  // affinity.
  const plain = SERVER_FIELDS.has(comparison.field) && typeof value !== 'string' ? `+${term}` : term
  const compared = `${plain} ${OPERATORS[operator]} ${scope.bind(bound(value))}`
  const ofItsType = otherEnd(operator, value)
  return ofItsType ? `${compared} and ${plain} ${ofItsType}` : compared
}

/** SQLite orders NULL, numbers, texts, bytes: a comparison must not reach into the next type. */
function otherEnd(operator: Ordering, value: Scalar): string | undefined {
  const upward = operator === 'gt' || operator === 'gte'
  if (typeof value === 'number') return upward ? "< ''" : undefined
  if (typeof value === 'string') return upward ? "< x''" : ">= ''"
  return upward ? "<= x'01'" : ">= x'00'"
}

export function orderSql(order: readonly SortKey[], scope: TableScope): string {
  return order.map((key) => `${orderedBy(key, scope)} ${key.descending ? 'desc' : 'asc'}`).join()
}

/** The SQL that a key orders by. NULL is the least value in SQLite, as "no value" is in the contract. */
function orderedBy({ field, by }: Pick<SortKey, 'field' | 'by'>, { table, alias, plain }: TableScope): string {
  // The server writes its times as instants.
  const kept = by === 'time' && !SERVER_FIELDS.has(field) ? table.times : table.scalars
  const column = kept.get(field)
  if (column !== undefined) return `${plain ? '+' : ''}${alias}${column}`
  return by === 'time' ? instant(field) : comparableField(field)
}

export function segmentSql(segment: Segment, scope: TableScope): string {
  return segment
    .map(({ key, relation, value }) => boundSql(orderedBy(key, scope), relation, value, scope))
    .join(' and ')
}

function boundSql(term: string, relation: Bound['relation'], value: SortValue, { bind }: TableScope): string {
  if (relation === 'null') return `${term} is null`
  if (relation === 'not null') return `${term} is not null`
  if (value === null) throw new Error("a missing value can't be bound")
  // A list is as LIST_MARK of layout/schema.ts.
  return `${term} ${relation} ${bind(typeof value === 'object' ? Uint8Array.of(2) : bound(value))}`
}
