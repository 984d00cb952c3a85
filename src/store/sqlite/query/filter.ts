/**
 * A client's comparisons for SQLite: expressions, the values that they bind, and their shape, which is part of the
 * statement's key.
 */
import type { SQLInputValue } from 'node:sqlite'
import { SERVER_FIELDS } from '../../../decide/conditions/condition.ts'
import type { Scalar } from '../../../resources/object.ts'
import type { Comparison } from '../../contract.ts'
import { bound, padded } from './condition-values.ts'
import { orderedBy, type TableColumns } from './order.ts'
import { parameters } from './parameters.ts'

const OPERATORS = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const

type Ordering = keyof typeof OPERATORS

export function filterSql(filter: readonly Comparison[], columns: TableColumns): string {
  if (filter.length === 0) return 'true'
  return filter.map((one) => comparisonSql(one, columns)).join(' and ')
}

/** The values of `filterSql`'s parameters, in their order. */
export function filterValues(filter: readonly Comparison[]): readonly SQLInputValue[] {
  return filter.flatMap(({ operator, values }) => (operator === 'in' ? padded(values) : values.slice(0, 1)).map(bound))
}

/** The shape includes the types of the values, because texts and numbers have different bounds. */
export function filterShape(filter: readonly Comparison[]): string {
  return JSON.stringify(
    filter.map(({ field, by, operator, values }) => [
      field,
      by,
      operator,
      operator === 'in' ? padded(values).length : typeof values[0],
    ]),
  )
}

function comparisonSql(comparison: Comparison, columns: TableColumns): string {
  const { operator, values } = comparison
  const term = orderedBy(comparison, columns)
  if (operator === 'in') return `${term} in (${parameters(padded(values).length)})`
  const [value = ''] = values
  // The server's columns are text, and would turn a number into text before comparing; an expression has no such
  // affinity.
  const plain = SERVER_FIELDS.has(comparison.field) && typeof value !== 'string'
  return orderingSql(operator, plain ? `+${term}` : term, value)
}

function orderingSql(operator: Ordering, term: string, value: Scalar): string {
  const compared = `${term} ${OPERATORS[operator]} ?`
  const ofItsType = otherEnd(operator, value)
  return ofItsType ? `${compared} and ${term} ${ofItsType}` : compared
}

/** SQLite orders NULL, numbers, texts, bytes: a comparison must not reach into the next type. */
function otherEnd(operator: Ordering, value: Scalar): string | undefined {
  const upward = operator === 'gt' || operator === 'gte'
  if (typeof value === 'number') return upward ? "< ''" : undefined
  if (typeof value === 'string') return upward ? "< x''" : ">= ''"
  return upward ? "<= x'01'" : ">= x'00'"
}
