/** The statements of one resource's lists: filtered, sorted, page by page. Each reads one state of the database. */

import type { ObjectQuery } from '../../contract.ts'
import { SERVER_FIELDS_BYTES } from '../../lists/json-row.ts'
import { BY_ID, type Segment, segmentsAfter, simplifySelection } from '../../lists/selection.ts'
import { conditionSql } from '../../sql/condition.ts'
import type { Statement } from '../../sql/statement.ts'
import { looksUp } from '../../sql/write-condition.ts'
import { leadingSql, outermost, type TableScope } from './condition.ts'
import {
  canBeLong,
  comparisonSql,
  hasLongSql,
  indexedOrderSql,
  type OrderSql,
  segmentSql,
  wholeOrderSql,
} from './order.ts'
import { type Parameters, type QueriedTable, statement, type TableOf } from './statement.ts'

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

interface Listed {
  readonly table: QueriedTable
  readonly tableOf: TableOf
  readonly order: OrderSql
}

/** Whether `listStatement` may put rows in another order than that of the contract; their last column says whether. */
export function canMisplace({ order = BY_ID }: ObjectQuery): boolean {
  return order.some(canBeLong)
}

/** Rows: the id, the times of creation and of the last write, the document, and a boolean for each mark. */
export function listStatement(query: ObjectQuery, table: QueriedTable, tableOf: TableOf): Statement {
  return rowsStatement(query, { table, tableOf, order: indexedOrderSql }, (alias) => misplacedSql(query, alias))
}

/** Whether rows may be in another order than that of the contract: nothing, or one expression. */
export function misplacedSql(query: ObjectQuery, alias: string): readonly string[] {
  const { order = BY_ID } = query
  return canMisplace(query) ? [hasLongSql(order, alias)] : []
}

/** The same in the order of the contract, where long texts are sorted by: without the last column. */
export function wholeListStatement(query: ObjectQuery, table: QueriedTable, tableOf: TableOf): Statement {
  return rowsStatement(query, { table, tableOf, order: wholeOrderSql }, () => [])
}

function rowsStatement(
  query: ObjectQuery,
  { table, tableOf, order: write }: Listed,
  further: (alias: string) => readonly string[],
): Statement {
  const { where, filter, order = BY_ID, after, limit, bytes, marks = [] } = query
  return planned([where, ...marks], (parameters) => {
    const scope = outermost(table, tableOf, parameters)
    const told = [...marks.map((mark) => `(${markSql(mark, scope)}) is true`), ...further(scope.alias)]
    const columns = COLUMNS.map((column) => `${scope.alias}${column}`)
    const listing: Listing = {
      scope,
      selected: selectedSql({ where, ...(filter && { filter }) }, scope),
      sorted: write(order, scope.alias),
      shown: [...columns, ...told.map((sql, at) => `${sql} as m${at}`)],
      limit: `${parameters.bind(limit)}::bigint`,
    }
    const segments = segmentsAfter(order, after)
    if (segments.length === 1 && bytes === undefined) return segmentPage(listing, segments[0] ?? [])
    const names = [...COLUMNS, ...told.map((_, at) => `m${at}`)]
    return cutPage(listing, segments, { names, bytes: parameters.bind(bytes ?? Number.MAX_SAFE_INTEGER) })
  })
}

export function countStatement(
  selection: Pick<ObjectQuery, 'where' | 'filter'>,
  table: QueriedTable,
  tableOf: TableOf,
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
  return [leadingSql(condition, scope), ...rest.map((one) => comparisonSql(one, scope))].join(' and ')
}

export function segmentPage({ scope, selected, sorted, shown, limit }: Listing, segment: Segment): string {
  const following = segment.length === 0 ? '' : ` and ${segmentSql(segment, scope)}`
  return `select ${shown.join()} from ${scope.source} where ${selected}${following}
    order by ${sorted} limit ${limit}`
}

/** The segments one after the other, up to the object that makes the list too large. */
function cutPage(
  listing: Listing,
  segments: readonly Segment[],
  { names, bytes }: { readonly names: readonly string[]; readonly bytes: string },
): string {
  const nth = `row_number() over (order by ${listing.sorted}) as nth`
  const pages = segments.map((segment, at) => {
    return `(${segmentPage({ ...listing, shown: [`${at} as segment`, nth, ...listing.shown] }, segment)})`
  })
  const size = `octet_length(document) + octet_length(id) + ${SERVER_FIELDS_BYTES}`
  const inOrder = 'order by segment, nth'
  return `select ${names.join()} from (
      select ${names.join()}, row_number() over (${inOrder}) as place,
        sum(${size}) over (${inOrder} rows between unbounded preceding and 1 preceding) as before
      from (${pages.join(' union all ')}) as pages) as placed
    where place <= ${listing.limit} and (place <= 2 or before <= ${bytes}::bigint) order by place`
}
