/** The lists of one resource's table: filtered, sorted, page by page. Statements are compiled once for each shape. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { LRUCache } from 'lru-cache'
import type { Condition } from '../../../decide/condition.ts'
import { simplify } from '../../../decide/simplify-condition.ts'
import type { Comparison, ListedObject, ObjectQuery } from '../../contract.ts'
import { DamagedObject } from '../../errors.ts'
import { JsonRow } from '../../json-row.ts'
import { documentNamed } from '../../parse-stored.ts'
import { isMalformedJson } from '../database.ts'
import { boundValues, conditionShape, conditionSql } from './condition.ts'
import { filterShape, filterSql, filterValues } from './filter.ts'
import {
  BY_ID,
  orderedBy,
  orderShape,
  type Segment,
  segmentSql,
  segmentsAfter,
  segmentValues,
  type TableColumns,
} from './order.ts'
import { quoteName } from './text.ts'

/** Policies and filters determine shapes: a caller can cause many, and each statement takes memory. */
export const STATEMENTS = 128

const DOCUMENT = 'document'

/**
 * Null if the document is larger than the first parameter. The row's header holds the length, so the text isn't read.
 */
const SMALL_DOCUMENT = 'case when octet_length(document) <= ? then document end'

/** The id, the times of creation and of the last write, and the document. */
type ListedRow = readonly [string, string, string, string | null]

type Selection = Pick<ObjectQuery, 'where' | 'filter'>

interface Listing extends Required<Pick<ObjectQuery, 'order' | 'limit' | 'bytes'>> {
  readonly selected: Selected
  readonly segments: readonly Segment[]
}

interface Selected {
  readonly condition: Condition
  readonly filter: readonly Comparison[]
  readonly shape: string
  readonly values: readonly SQLInputValue[]
}

export class ObjectLists {
  readonly #database: DatabaseSync
  /** Quoted. */
  readonly #table: string
  readonly #columns: TableColumns
  /** The id of an object whose document isn't JSON, where one was met. */
  #damaged = ''
  readonly #statements = new LRUCache<string, StatementSync, () => StatementSync>({
    // A cache with `max` would allocate its memory at once, for each resource.
    maxSize: STATEMENTS,
    sizeCalculation: () => 1,
    memoMethod: (_key, _stale, { context: prepare }) => prepare(),
  })
  /**
   * Statements of lists without a filter, by the policy's condition: the next list of the same caller has the same
   * condition object.
   */
  readonly #wholes = new WeakMap<Condition, Selected>()

  constructor(database: DatabaseSync, table: string, columns: TableColumns) {
    this.#database = database
    this.#table = quoteName(table)
    this.#columns = columns
  }

  /** Usually no object takes more than its share of the bytes. Then one statement reads the list, which is fastest. */
  list({ where, filter, order = BY_ID, after, limit, bytes = Number.MAX_SAFE_INTEGER }: ObjectQuery) {
    const selected = this.#select({ where, ...(filter && { filter }) })
    const segments = segmentsAfter(order, after)
    const listing: Listing = { selected, order, segments, limit, bytes }
    // All segments read one state of the database: an object that another process changes is in one segment only.
    const reading = <T>(work: () => T) => this.#naming(() => (segments.length === 1 ? work() : this.#reading(work)))
    return reading(() => this.#atOnce(listing)) ?? reading(() => this.#oneByOne(listing))
  }

  count(selection: Selection): number {
    const selected = this.#select(selection)
    const statement = this.#statements.memo(`count${selected.shape}`, { context: () => this.#prepareCount(selected) })
    return Number(this.#naming(() => statement.get(...selected.values))?.count)
  }

  /** The engine looks into documents if no index answers, and doesn't report which document it can't read. */
  #naming<T>(read: () => T): T {
    try {
      return read()
    } catch (error) {
      throw isMalformedJson(error) ? new DamagedObject(documentNamed(this.#findDamaged())) : error
    }
  }

  /** First checks the damaged object that was found last, because a search reads the whole table. */
  #findDamaged(): string {
    const search = `select id from ${this.#table} where not json_valid(document)`
    const again = this.#database.prepare(`${search} and id = ?`).get(this.#damaged)
    const found = again ?? this.#database.prepare(`${search} limit 1`).get()
    this.#damaged = String(found?.id ?? '')
    return this.#damaged
  }

  #select({ where, filter = [] }: Selection): Selected {
    return filter.length > 0 ? select(where, filter) : this.#wholes.getOrInsertComputed(where, () => select(where, []))
  }

  /** Undefined if an object takes more than its share; its content isn't read then. */
  #atOnce({ selected, order, segments, limit, bytes }: Listing): readonly ListedObject[] | undefined {
    const share = Math.floor(bytes / limit)
    const found: ListedObject[] = []
    for (const segment of segments) {
      if (found.length === limit) break
      const statement = this.#prepared(selected, order, segment, SMALL_DOCUMENT)
      const rows = statement.all(share, ...selected.values, ...segmentValues(segment), limit - found.length)
      for (const row of rows as unknown as readonly ListedRow[]) {
        if (row[3] === null) return undefined
        found.push(listed(row))
      }
    }
    return found
  }

  #oneByOne({ selected, order, segments, limit, bytes }: Listing): readonly ListedObject[] {
    const found: ListedObject[] = []
    let read = 0
    for (const segment of segments) {
      if (found.length === limit) break
      const statement = this.#prepared(selected, order, segment, DOCUMENT)
      const rows = statement.iterate(...selected.values, ...segmentValues(segment), limit - found.length)
      for (const row of rows as unknown as Iterable<ListedRow>) {
        const object = listed(row)
        found.push(object)
        read += object.bytes()
        if (read > bytes && found.length > 1) return found
      }
    }
    return found
  }

  #prepared(selected: Selected, order: readonly ListKey[], segment: Segment, document: string): StatementSync {
    const key = `list${document}${selected.shape}${orderShape(order, segment)}`
    return this.#statements.memo(key, { context: () => this.#prepareList(selected, order, segment, document) })
  }

  #prepareList(selected: Selected, order: readonly ListKey[], segment: Segment, document: string): StatementSync {
    const following = segment.length === 0 ? '' : ` and ${segmentSql(segment, this.#columns)}`
    const where = `${this.#selectedSql(selected)}${following}`
    const by = order.map((key) => `${orderedBy(key, this.#columns)} ${key.descending ? 'desc' : 'asc'}`).join()
    // With a bare parameter as the limit, SQLite would plan the statement again for each bound number.
    const rows = `select id, created_at, updated_at, ${document} from ${this.#table} where ${where}`
    const statement = this.#database.prepare(`${rows} order by ${by} limit ? + 0`)
    statement.setReturnArrays(true)
    return statement
  }

  #prepareCount(selected: Selected): StatementSync {
    const where = this.#selectedSql(selected)
    return this.#database.prepare(`select count(*) as count from ${this.#table} where ${where}`)
  }

  #selectedSql({ condition, filter }: Selected): string {
    const allowed = conditionSql(condition, this.#columns.values)
    return filter.length === 0 ? allowed : `${allowed} and ${filterSql(filter, this.#columns)}`
  }

  #reading<T>(work: () => T): T {
    this.#database.exec('begin')
    try {
      return work()
    } finally {
      if (this.#database.isTransaction) this.#database.exec('commit')
    }
  }
}

function listed([id, createdAt, updatedAt, text]: ListedRow): ListedObject {
  return new JsonRow(id, createdAt, updatedAt, text ?? '')
}

type ListKey = NonNullable<ObjectQuery['order']>[number]

/** Equality of values is a condition like the policy's own, and is simplified together with it. */
function select(where: Condition, filter: readonly Comparison[]): Selected {
  const isEquality = ({ operator, by }: Comparison) => operator === 'in' && by === 'value'
  const equal = filter.filter(isEquality).map(({ field, values }): Condition => ({ kind: 'holds', field, values }))
  const condition = simplify({ kind: 'all', of: [where, ...equal] })
  const rest = filter.filter((one) => !isEquality(one))
  return {
    condition,
    filter: rest,
    shape: conditionShape(condition) + filterShape(rest),
    values: [...boundValues(condition), ...filterValues(rest)],
  }
}
