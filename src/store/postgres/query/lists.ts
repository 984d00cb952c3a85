/** The statements of one resource's lists: filtered, sorted, page by page. Each reads one state of the database. */

import { SERVER_FIELDS } from '../../../decide/conditions/condition.ts'
import type { Scalar } from '../../../resources/object.ts'
import type { Comparison } from '../../../resources/routing/query.ts'
import type { ListedObject, ObjectQuery, SortKey, SortValue } from '../../contract.ts'
import { JsonRow, SERVER_FIELDS_BYTES } from '../../lists/json-row.ts'
import { type Bound, BY_ID, type Segment, segmentsAfter, simplifySelection } from '../../lists/selection.ts'
import { conditionSql, looksUp } from '../../sql/condition.ts'
import type { Row, Statement } from '../../sql/statement.ts'
import { isLongSql, KIND, keyOf, keyOfSortValue, longKeysOf, withoutHashSql } from '../layout/keys.ts'
import { decodeText, quoteText } from '../stored-text.ts'
import {
  among,
  drivingSql,
  keySql,
  outermost,
  type Parameters,
  type QueriedTable,
  type QueriedTableOf,
  serverColumn,
  sortedSql,
  statement,
  type TableScope,
  textOf,
} from './condition.ts'

const COLUMNS = ['id', 'created_at', 'updated_at', 'document'] as const

export interface Listing {
  readonly scope: TableScope
  readonly selected: string
  /** By what the rows are sorted. */
  readonly sorted: string
  /** What the rows show: columns, and whether marks hold. */
  readonly shown: readonly string[]
  readonly limit: string
}

/** Whether `listStatement` may put rows in another order than that of the contract; their last column says whether. */
export function canMisplace({ order = BY_ID }: ObjectQuery): boolean {
  return order.some(canBeLong)
}

/** Whether rows may be in another order than that of the contract: nothing, or one expression. */
export function misplacedSql(query: ObjectQuery, alias: string): readonly string[] {
  const { order = BY_ID } = query
  return canMisplace(query) ? [hasLongSql(order, alias)] : []
}

/**
 * Rows: the id, the times of creation and of the last write, the document, and a boolean for each mark; where rows may
 * be misplaced, another one says whether. `write`: the order.
 */
export function listStatement(
  query: ObjectQuery,
  table: QueriedTable,
  tableOf: QueriedTableOf,
  write = indexedOrderSql,
): Statement {
  const { where, filter, order = BY_ID, after, limit, bytes, marks = [] } = query
  return planned([where, ...marks], (parameters) => {
    const scope = outermost(table, tableOf, parameters)
    const further = write === wholeOrderSql ? [] : misplacedSql(query, scope.alias)
    const added = [...marks.map((mark) => `(${markSql(mark, scope)}) is true`), ...further]
    const columns = COLUMNS.map((column) => `${scope.alias}${column}`)
    const listing: Listing = {
      scope,
      selected: selectedSql({ where, ...(filter && { filter }) }, scope),
      sorted: write(order, scope.alias),
      shown: [...columns, ...added.map((sql, at) => `${sql} as m${at}`)],
      limit: `${parameters.bind(limit)}::bigint`,
    }
    const segments = segmentsAfter(order, after)
    if (segments.length === 1 && bytes === undefined) return segmentPage(listing, segments[0] ?? [])
    const names = [...COLUMNS, ...added.map((_, at) => `m${at}`)]
    return cutPage(listing, segments, { names, bytes: parameters.bind(bytes ?? Number.MAX_SAFE_INTEGER) })
  })
}

export function countStatement(
  selection: Pick<ObjectQuery, 'where' | 'filter'>,
  table: QueriedTable,
  tableOf: QueriedTableOf,
): Statement {
  return planned([selection.where], (parameters) => {
    const scope = outermost(table, tableOf, parameters)
    return `select count(*) from ${scope.source} where ${selectedSql(selection, scope)}`
  })
}
export function planned(
  conditions: readonly ObjectQuery['where'][],
  write: (parameters: Parameters) => string,
): Statement {
  return { ...statement(write), plannedAnew: conditions.some(looksUp) }
}

export function markSql(mark: ObjectQuery['where'], scope: TableScope): string {
  return conditionSql(simplifySelection(mark).condition, scope)
}

export function selectedSql({ where, filter }: Pick<ObjectQuery, 'where' | 'filter'>, scope: TableScope): string {
  const { condition, rest } = simplifySelection(where, filter)
  return [drivingSql(condition, scope), ...rest.map((one) => comparisonSql(one, scope))].join(' and ')
}

export function segmentPage({ scope, selected, sorted, shown, limit }: Listing, segment: Segment): string {
  const following = segment.length === 0 ? '' : ` and ${segmentSql(segment, scope)}`
  return `select ${shown.join()} from ${scope.source} where ${selected}${following}
    order by ${sorted} limit ${limit}`
}

/** The pages of all segments, with the place of each object. */
export function segmentPages(listing: Listing, segments: readonly Segment[]): string {
  const nth = `row_number() over (order by ${listing.sorted}) as nth`
  const pages = segments.map((segment, at) => {
    return `(${segmentPage({ ...listing, shown: [`${at} as segment`, nth, ...listing.shown] }, segment)})`
  })
  return pages.join(' union all ')
}

/** The segments one after the other, up to the object that makes the list too large. */
function cutPage(
  listing: Listing,
  segments: readonly Segment[],
  { names, bytes }: { readonly names: readonly string[]; readonly bytes: string },
): string {
  const size = `octet_length(document) + octet_length(id) + ${SERVER_FIELDS_BYTES}`
  const inOrder = 'order by segment, nth'
  return `select ${names.join()} from (
      select ${names.join()}, row_number() over (${inOrder}) as place,
        sum(${size}) over (${inOrder} rows between unbounded preceding and 1 preceding) as before
      from (${segmentPages(listing, segments)}) as pages) as placed
    where place <= ${listing.limit} and (place <= 2 or before <= ${bytes}::bigint) order by place`
}

// The order of a list, the segments of its next page, and a client's comparisons, for PostgreSQL.

/** Writes the order of a list. "No value" is the least in the contract; the server's fields have always one. */
type OrderSql = (order: readonly SortKey[], alias: string) => string

/** As indexes have it: long texts with the same beginning come in an order of their own. */
export const indexedOrderSql: OrderSql = (order, alias) =>
  order.map((key) => `${sortedSql(key, alias)} ${directionOf(key)}`).join()

/** The same order, which no index has: every object that is selected is found first. All keys are texts. */
export const unindexedOrderSql: OrderSql = (order, alias) =>
  order.map((key) => `(${sortedSql(key, alias)} || '') ${directionOf(key)}`).join()

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

function segmentSql(segment: Segment, scope: TableScope): string {
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

function comparisonSql(comparison: Comparison, scope: TableScope): string {
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
function canBeLong({ field, by }: Pick<SortKey, 'field' | 'by'>): boolean {
  return by === 'value' && !SERVER_FIELDS.has(field)
}

/** Whether the row is sorted by a long text. */
function hasLongSql(order: readonly SortKey[], alias: string): string {
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

/** A row of a list's statement, as the list has it. */
export function inList([id, createdAt, updatedAt, text, ...marks]: Row): ListedObject {
  return new JsonRow(decodeText(String(id)), String(createdAt), String(updatedAt), String(text), marks.map(Boolean))
}
