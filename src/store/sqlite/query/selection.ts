/**
 * What a list selects, by what it is sorted, and the marks of its rows: expressions, the values that they bind, and their
 * shapes, which are the key of a statement.
 */

import type { SQLInputValue } from 'node:sqlite'
import { type Condition, SERVER_FIELDS } from '../../../decide/conditions/condition.ts'
import { simplify } from '../../../decide/conditions/simplify-condition.ts'
import type { Scalar } from '../../../resources/object.ts'
import type { Comparison, SortKey, SortValue } from '../../contract.ts'
import { type Bound, type Segment, simplifySelection } from '../../lists/selection.ts'
import { quoteName } from '../../sql/quote.ts'
import { looksUp } from '../../sql/write-condition.ts'
import { comparableField, instant } from '../layout/schema.ts'
import {
  bound,
  boundValues,
  conditionShape,
  leadersOf,
  padded,
  parameters,
  type Scope,
  type TableColumns,
} from './condition.ts'

export interface Selected {
  readonly condition: Condition
  readonly filter: readonly Comparison[]
  readonly shape: string
  readonly values: readonly SQLInputValue[]
  /** The parts that can find the objects by related ones. */
  readonly leaders: readonly Condition[]
}

export interface Marks {
  readonly conditions: readonly Condition[]
  readonly shape: string
  readonly values: readonly SQLInputValue[]
}

const NO_MARKS: Marks = { conditions: [], shape: '', values: [] }

export function marksOf(marks: readonly Condition[] = []): Marks {
  if (marks.length === 0) return NO_MARKS
  const conditions = marks.map(simplify)
  return { conditions, shape: conditions.map(conditionShape).join(), values: conditions.flatMap(boundValues) }
}

export function selectionOf(where: Condition, filter: readonly Comparison[], scope: Scope): Selected {
  const { condition, rest } = simplifySelection(where, filter)
  return {
    condition,
    filter: rest,
    shape: conditionShape(condition) + filterShape(rest),
    values: [...boundValues(condition), ...filterValues(rest)],
    leaders: looksUp(condition) ? leadersOf(condition, scope) : [],
  }
}

const OPERATORS = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const

type Ordering = keyof typeof OPERATORS

export function filterSql(filter: readonly Comparison[], columns: TableColumns): string {
  if (filter.length === 0) return 'true'
  return filter.map((one) => comparisonSql(one, columns)).join(' and ')
}

/** The values of `filterSql`'s parameters, in their order. */
function filterValues(filter: readonly Comparison[]): readonly SQLInputValue[] {
  return filter.flatMap(({ operator, values }) => (operator === 'in' ? padded(values) : values.slice(0, 1)).map(bound))
}

/** The shape includes the types of the values, because texts and numbers have different bounds. */
function filterShape(filter: readonly Comparison[]): string {
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

/** The SQL that a key orders by. NULL is the least value in SQLite, as "no value" is in the contract. */
export function orderedBy({ field, by }: Pick<SortKey, 'field' | 'by'>, columns: TableColumns): string {
  // The server writes its times as instants.
  const kept = by === 'time' && !SERVER_FIELDS.has(field) ? columns.times : columns.values
  const column = kept.get(field)
  if (column !== undefined) return `${columns.plain ? '+' : ''}${quoteName(column)}`
  return by === 'time' ? instant(field) : comparableField(field)
}

export function segmentSql(segment: Segment, columns: TableColumns): string {
  if (segment.length === 0) return 'true'
  return segment.map(({ key, relation }) => boundSql(orderedBy(key, columns), relation)).join(' and ')
}

export function segmentValues(segment: Segment): readonly SQLInputValue[] {
  return segment.filter(({ relation }) => !relation.endsWith('null')).map(({ value }) => boundOf(value))
}

export function orderShape(order: readonly SortKey[], segment: Segment): string {
  const keys = order.map(({ field, by, descending }) => [field, by, descending])
  return JSON.stringify([keys, segment.map(({ relation }) => relation)])
}

function boundSql(term: string, relation: Bound['relation']): string {
  if (relation === 'null') return `${term} is null`
  if (relation === 'not null') return `${term} is not null`
  return `${term} ${relation} ?`
}

function boundOf(value: SortValue): string | number | Uint8Array {
  if (value === null) throw new Error("a missing value can't be bound")
  // The same as LIST_MARK of layout/schema.ts.
  return typeof value === 'object' ? Uint8Array.of(2) : bound(value)
}
