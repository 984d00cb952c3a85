/**
 * A page of a list as one text: PostgreSQL and the driver need half the time for it that they need for rows. It is for
 * the usual page; query/lists.ts reads all others.
 */

import { LRUCache } from 'lru-cache'
import type { Condition, Holds } from '../../../decide/conditions/condition.ts'
import type { ListedObject, ObjectQuery } from '../../contract.ts'
import { JsonRow } from '../../lists/json-row.ts'
import { BY_ID, type Segment, segmentsAfter, simplifySelection } from '../../lists/selection.ts'
import type { Row, Statement } from '../../sql/statement.ts'
import { keyOf } from '../layout/keys.ts'
import { decodeText } from '../stored-text.ts'
import {
  ASKED_FOR,
  AskedValues,
  keySql,
  oneRow,
  outermost,
  type QueriedTable,
  type QueriedTableOf,
  type TableScope,
} from './condition.ts'
import {
  canMisplace,
  indexedOrderSql,
  type Listing,
  markSql,
  misplacedSql,
  planned,
  segmentPage,
  segmentPages,
  selectedSql,
} from './lists.ts'

/** Stands between two cells. No JSON text has it as itself (RFC 7464 uses it likewise). */
const SEPARATOR = '\u001e'
const SEPARATOR_SQL = "E'\\x1e'"

/** The id, both times, and the document. */
const PLAIN_CELLS = 4

/**
 * One row: the number of the page's rows, and their cells: the id, the times of creation and of the last write, the
 * document, then for each mark, and for the row's place, `1` or nothing. A document that takes more than its share of
 * the bytes isn't read: its cell is empty.
 */
export function pageStatement(
  query: ObjectQuery,
  table: QueriedTable,
  tableOf: QueriedTableOf,
  sorted = indexedOrderSql,
): Statement {
  const { where, marks = [] } = query
  return planned([where, ...marks], (parameters) => pageSql(query, outermost(table, tableOf, parameters), { sorted }))
}

/**
 * Pages of lists that an index has in their order: of all objects, or of those with one value, by their ids. Each reads
 * no more objects than it has, so none waits long for the others of its turn; undefined for any other list.
 */
export function gatheredPage(query: ObjectQuery, table: QueriedTable, tableOf: QueriedTableOf) {
  const { condition } = simplifySelection(query.where)
  if (!isDirect(query, condition, table)) return undefined
  const asked = new AskedValues()
  const scope = outermost(table, tableOf, asked)
  const small = { ...query, bytes: Math.min(query.bytes ?? MOST_GATHERED_BYTES, MOST_GATHERED_BYTES) }
  const page = pageSql(small, scope, condition.kind === 'holds' ? inOrderOf(condition, scope) : {})
  const text = `select asked.nth, p.* from ${ASKED_FOR} cross join ${oneRow(page)} as p`
  return { text, texts: asked.values.map(String) }
}

/** One answer has many of these pages, and the smallest waits for the largest. Larger ones are read by themselves. */
const MOST_GATHERED_BYTES = 2 ** 20

function isDirect(query: ObjectQuery, condition: Condition, { scalars }: QueriedTable): boolean {
  const { filter, order = BY_ID, marks } = query
  if (filter?.length || marks?.length || order.length > 1 || order[0]?.field !== 'id') return false
  if (condition.kind !== 'holds' || condition.values.length > 1) return condition.kind === 'always'
  return scalars.has(condition.field)
}

/**
 * Only the index of the field has this order. With a plain `=`, PostgreSQL would know that the field has one value, and
 * could read all objects in the order of their ids: it expects that each owner has as many as any other.
 */
function inOrderOf({ field, values }: Holds, { alias, bind }: TableScope) {
  const sorted: typeof indexedOrderSql = (order, name) =>
    indexedOrderSql([{ field, by: 'value', descending: order[0]?.descending ?? false }, ...order], name)
  const keys = values.map((value) => `${bind(keyOf(value))}::text`)
  return { sorted, selected: `${keySql(field, alias)} = any(array[${keys}])` }
}

function pageSql(query: ObjectQuery, scope: TableScope, found: Partial<ReturnType<typeof inOrderOf>> = {}): string {
  const { selected = selectedSql(query, scope), sorted = indexedOrderSql } = found
  const { order = BY_ID, after, limit, bytes = Number.MAX_SAFE_INTEGER, marks = [] } = query
  const { alias, bind } = scope
  const share = bind(Math.floor(bytes / Math.max(1, limit)))
  const further = [...marks.map((mark) => markSql(mark, scope)), ...misplacedSql(query, alias)]
  const cells = [
    ...['id', 'created_at', 'updated_at'].map((column) => `${alias}${column}`),
    `case when octet_length(${alias}document) <= ${share}::bigint then ${alias}document else '' end`,
    ...further.map((sql) => `case when ${sql} then '1' else '' end`),
  ]
  const listing: Listing = {
    scope,
    selected,
    sorted: sorted(order, alias),
    shown: [`${cells.join(` || ${SEPARATOR_SQL} || `)} as cells`],
    limit: `${bind(limit)}::bigint`,
  }
  // An array has the order of its query. Without `offset`, PostgreSQL would read the page twice.
  return `select cardinality(page.rows), array_to_string(page.rows, ${SEPARATOR_SQL})
    from (select array(${pageOf(listing, segmentsAfter(order, after))}) as rows offset 0) as page`
}

function pageOf(listing: Listing, segments: readonly Segment[]): string {
  const [first = []] = segments
  if (segments.length <= 1) return segmentPage(listing, first)
  return `select cells from (${segmentPages(listing, segments)}) as pages order by segment, nth limit ${listing.limit}`
}

/** Undefined where `listStatement` must read the list: a document is large, or a row may be in a wrong place. */
export function readPage([count, text]: Row, query: ObjectQuery): readonly ListedObject[] | undefined {
  const marks = query.marks?.length ?? 0
  const showsPlaces = canMisplace(query)
  const columns = PLAIN_CELLS + marks + Number(showsPlaces)
  const cells = count === 0 ? [] : String(text).split(SEPARATOR)
  // A cell that has the separator makes more cells, so cells of one row can't be taken for those of another one.
  if (cells.length !== Number(count) * columns) return undefined
  const rows: ListedObject[] = []
  for (let at = 0; at < cells.length; at += columns) {
    const cell = (nth: number) => cells[at + nth] ?? ''
    const document = cell(3)
    if (document === '' || (showsPlaces && cell(columns - 1) !== '')) return undefined
    const marked = marks === 0 ? [] : cells.slice(at + PLAIN_CELLS, at + PLAIN_CELLS + marks).map(Boolean)
    rows.push(new JsonRow(decodeText(cell(0)), cell(1), cell(2), document, marked))
  }
  return rows
}

interface KeptPage {
  readonly count: unknown
  readonly text: string
  readonly rows: readonly ListedObject[]
}

/** In characters of the texts. With their rows and what is made of them, they take some tens of megabytes at most. */
const MOST_KEPT = 4_000_000
const LONGEST_KEPT = 100_000

export class KeptPages {
  readonly #pages = new LRUCache<string, KeptPage>({
    maxSize: MOST_KEPT,
    maxEntrySize: LONGEST_KEPT,
    sizeCalculation: ({ text }, question) => text.length + question.length,
  })

  /**
   * `question`: what the page is an answer to; `read` makes its rows, and returns undefined if they can't be read this
   * way. Rows that are given again are frozen.
   */
  rows(
    question: string,
    page: Row,
    read: (page: Row) => readonly ListedObject[] | undefined,
  ): readonly ListedObject[] | undefined {
    const [count, text] = page
    const known = this.#pages.get(question)
    if (known && known.text === text && known.count === count) return Object.freeze(known.rows)
    const rows = read(page)
    if (rows && typeof text === 'string') this.#pages.set(question, { count, text, rows })
    return rows
  }
}
