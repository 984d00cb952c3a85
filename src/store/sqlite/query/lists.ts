/** The lists of one resource's table: filtered, sorted, page by page. Statements are compiled once for each shape. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { LRUCache } from 'lru-cache'
import { type Condition, SERVER_FIELDS } from '../../../decide/conditions/condition.ts'
import type { Counted, ListedObject, ObjectQuery } from '../../contract.ts'
import { JsonRow } from '../../lists/json-row.ts'
import { BY_ID, type Segment, segmentsAfter } from '../../lists/selection.ts'
import { quoteName } from '../../sql/quote.ts'
import type { SharedReads } from '../shared-reads.ts'
import {
  boundValues,
  conditionShape,
  conditionSql,
  leadingSql,
  outermost,
  type QueriedTable,
  type Scope,
  type TableColumns,
  type TableOf,
  withLeader,
} from './condition.ts'
import type { Damage } from './lookups.ts'
import {
  filterSql,
  type Marks,
  marksOf,
  orderedBy,
  orderShape,
  type Selected,
  segmentSql,
  segmentValues,
  selectionOf,
} from './selection.ts'
import { FOUND, PastBound, stepOfRow, type WorkBound, workOf } from './work.ts'

/** Policies and filters determine shapes: a caller can cause many, and each statement takes memory. */
export const STATEMENTS = 128

const DOCUMENT = 'document'

/**
 * Null if the document is larger than the first parameter. The row's header holds the length, so the text isn't read.
 */
const SMALL_DOCUMENT = 'case when octet_length(document) <= ? then document end'

/**
 * The most objects that a leading condition may find: they are all sorted. Where it finds more, a page is full soon if
 * the objects are looked at in the order of the list.
 */
const MOST_LED = 5000

/** Some four for each object, with what it relates to. */
const MOST_STEPS_IN_ORDER = 20_000

/** The id, the times of creation and of the last write, the document, and 1 or 0 for each mark. */
type ListedRow = readonly [string, string, string, string | null, ...number[]]

type Selection = Pick<ObjectQuery, 'where' | 'filter'>

interface Listing extends Required<Pick<ObjectQuery, 'order' | 'limit' | 'bytes'>> {
  readonly selected: Selected
  readonly segments: readonly Segment[]
  readonly marks: Marks
  readonly leader: Condition | undefined
  /** It looks at few rows for sure, so they aren't counted as steps. */
  readonly isShort: boolean
}

export class ObjectLists {
  readonly #database: DatabaseSync
  readonly #reads: SharedReads
  /** Quoted. */
  readonly #table: string
  readonly #columns: TableColumns
  readonly #scope: Scope
  readonly #work: ReturnType<typeof workOf>
  readonly #damage: Damage
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

  constructor(database: DatabaseSync, table: QueriedTable, tableOf: TableOf, damage: Damage, reads: SharedReads) {
    this.#database = database
    this.#reads = reads
    this.#table = quoteName(table.name)
    this.#columns = table.columns
    this.#scope = { ...outermost(table, tableOf), steps: true }
    this.#work = workOf(database)
    this.#damage = damage
  }

  /** Throws PastBound. */
  list(query: ObjectQuery, bound: WorkBound = {}): readonly ListedObject[] {
    return this.#work.within(bound, () => this.#list(query))
  }

  /** Throws PastBound. */
  count(selection: Selection, bound: WorkBound): number {
    return this.#work.within(bound, () => this.#count(selection, '*'))
  }

  /** Past the bound, as many as it has found. Takes longer, because each is told. */
  countAtLeast(selection: Selection, bound: WorkBound): Counted {
    try {
      this.#work.forgetFound()
      return { found: this.#work.within(bound, () => this.#count(selection, FOUND)), isExact: true }
    } catch (error) {
      if (error instanceof PastBound) return { found: this.#work.found, isExact: false }
      throw error
    }
  }

  #list(query: ObjectQuery): readonly ListedObject[] {
    const { where, filter, order = BY_ID, after, limit, bytes = Number.MAX_SAFE_INTEGER } = query
    const selected = this.#select({ where, ...(filter && { filter }) })
    const [segments, marks] = [segmentsAfter(order, after), marksOf(query.marks)]
    // All segments read one state of the database: an object that another process changes is in one segment only.
    const reading = <T>(work: () => T) =>
      this.#damage.naming(() => (segments.length === 1 ? work() : this.#reads.run(work)))
    const isDirect = this.#isDirect(selected, order)
    if (!isDirect) this.#work.step()
    const leader = reading(() => this.#leaderOf(selected))
    const isShort = isDirect || isFewSorted(selected, leader, order)
    const listing: Listing = { selected, order, segments, limit, bytes, marks, leader, isShort }
    return reading(() => this.#inOrderOrLed(listing))
  }

  #count(selection: Selection, counted: '*' | typeof FOUND): number {
    this.#work.step()
    const selected = this.#select(selection)
    const leader = this.#damage.naming(() => this.#leaderOf(selected))
    const key = `count${counted}${leadShape(selected, leader)}${selected.shape}`
    const statement = this.#statements.memo(key, { context: () => this.#prepareCount(selected, leader, counted) })
    return Number(this.#damage.naming(() => statement.get(...selected.values))?.count)
  }

  #select({ where, filter = [] }: Selection): Selected {
    const select = () => selectionOf(where, filter, this.#scope)
    return filter.length > 0 ? select() : this.#wholes.getOrInsertComputed(where, select)
  }

  /** The first part that finds few objects; undefined where the objects must be looked at in their order. */
  #leaderOf({ leaders }: Selected): Condition | undefined {
    return leaders.find((part) => {
      const key = `led${conditionShape(part)}`
      const statement = this.#statements.memo(key, { context: () => this.#prepareLed(part) })
      return Number(statement.get(...boundValues(part), MOST_LED + 1)?.found) <= MOST_LED
    })
  }

  /** Where the order of the list has the objects far from each other, the first leader finds them. */
  #inOrderOrLed(listing: Listing): readonly ListedObject[] {
    const { leader, selected } = listing
    const [first] = selected.leaders
    if (leader || !first) return this.#read(listing)
    try {
      return this.#work.within({ steps: MOST_STEPS_IN_ORDER }, () => this.#read(listing))
    } catch (error) {
      if (!(error instanceof PastBound) || error.of === 'time') throw error
      return this.#read({ ...listing, leader: first, isShort: false })
    }
  }

  /** Usually no object takes more than its share of the bytes. Then one statement reads the list, which is fastest. */
  #read(listing: Listing): readonly ListedObject[] {
    return this.#atOnce(listing) ?? this.#oneByOne(listing)
  }

  /** An index has the objects in their order, and each is in the list: no more are looked at than are found. */
  #isDirect({ condition, filter }: Selected, order: Listing['order']): boolean {
    if (filter.length > 0 || order.length > 1 || order[0]?.field !== 'id') return false
    if (condition.kind === 'always') return true
    const { values } = this.#columns
    return condition.kind === 'holds' && condition.values.length === 1 && values.has(condition.field)
  }

  /** Undefined if an object takes more than its share; its content isn't read then. */
  #atOnce(listing: Listing): readonly ListedObject[] | undefined {
    const { segments, limit, bytes } = listing
    const share = Math.floor(bytes / limit)
    const found: ListedObject[] = []
    for (const segment of segments) {
      if (found.length === limit) break
      const statement = this.#prepared(listing, segment, SMALL_DOCUMENT)
      const rows = statement.all(share, ...valuesOf(listing, segment), limit - found.length)
      for (const row of rows as unknown as readonly ListedRow[]) {
        if (row[3] === null) return undefined
        found.push(listed(row))
      }
    }
    return found
  }

  #oneByOne(listing: Listing): readonly ListedObject[] {
    const { segments, limit, bytes } = listing
    const found: ListedObject[] = []
    let read = 0
    for (const segment of segments) {
      if (found.length === limit) break
      const statement = this.#prepared(listing, segment, DOCUMENT)
      const rows = statement.iterate(...valuesOf(listing, segment), limit - found.length)
      for (const row of rows as unknown as Iterable<ListedRow>) {
        const object = listed(row)
        found.push(object)
        read += object.bytes()
        if (read > bytes && found.length > 1) return found
      }
    }
    return found
  }

  #prepared(listing: Listing, segment: Segment, document: string): StatementSync {
    const { selected, order, marks, leader, isShort } = listing
    const key = `list${isShort}${document}${marks.shape}${leadShape(selected, leader)}${selected.shape}${orderShape(order, segment)}`
    return this.#statements.memo(key, { context: () => this.#prepareList(listing, segment, document) })
  }

  #prepareList(listing: Listing, segment: Segment, document: string): StatementSync {
    const { selected, order, marks, leader, isShort } = listing
    const marked = marks.conditions.map((mark) => `, (${conditionSql(mark, this.#scope)}) is true`).join('')
    const columns = leader ? { ...this.#columns, plain: true } : this.#columns
    const following = segment.length === 0 ? '' : ` and ${segmentSql(segment, columns)}`
    const step = isShort ? '' : `${stepOfRow('')} and `
    const where = `${step}${this.#selectedSql(selected, leader)}${following}`
    const by = orderSql(order, columns)
    // With a bare parameter as the limit, SQLite would plan the statement again for each bound number.
    const page = `where ${where} order by ${by} limit ? + 0`
    // The leader's objects are sorted before their documents are read.
    const read = leader ? `where rowid in (select rowid from ${this.#table} ${page}) order by ${by}` : page
    const rows = `select id, created_at, updated_at, ${document}${marked} from ${this.#table} ${read}`
    const statement = this.#database.prepare(rows)
    statement.setReturnArrays(true)
    return statement
  }

  #prepareCount(selected: Selected, leader: Condition | undefined, counted: string): StatementSync {
    const where = this.#selectedSql(selected, leader)
    return this.#database.prepare(
      `select count(${counted}) as count from ${this.#table} where ${stepOfRow('')} and ${where}`,
    )
  }

  #prepareLed(leader: Condition): StatementSync {
    const led = `select 1 from ${this.#table} where ${leadingSql(leader, this.#scope)} limit ? + 0`
    return this.#database.prepare(`select count(*) as found from (${led})`)
  }

  #selectedSql({ condition, filter }: Selected, leader: Condition | undefined): string {
    const parts = condition.kind === 'all' ? condition.of : [condition]
    const allowed = leader ? withLeader(parts, leader, this.#scope) : conditionSql(condition, this.#scope)
    if (filter.length === 0) return allowed
    return `${allowed} and ${filterSql(filter, leader ? { ...this.#columns, plain: true } : this.#columns)}`
  }
}

/** The leader alone selects, and what it finds is sorted by columns that need no document. */
function isFewSorted({ condition, filter }: Selected, leader: Condition | undefined, order: Listing['order']): boolean {
  return leader === condition && filter.length === 0 && order.every(({ field }) => SERVER_FIELDS.has(field))
}

function listed([id, createdAt, updatedAt, text, ...marks]: ListedRow): ListedObject {
  return new JsonRow(id, createdAt, updatedAt, text ?? '', marks.map(Boolean))
}

type ListKey = NonNullable<ObjectQuery['order']>[number]

function orderSql(order: readonly ListKey[], columns: TableColumns): string {
  return order.map((key) => `${orderedBy(key, columns)} ${key.descending ? 'desc' : 'asc'}`).join()
}

/** The values of a list's statement, without its limit. */
function valuesOf({ marks, selected }: Listing, segment: Segment): readonly SQLInputValue[] {
  return [...marks.values, ...selected.values, ...segmentValues(segment)]
}

function leadShape({ leaders }: Selected, leader: Condition | undefined): string {
  return leader ? `by${leaders.indexOf(leader)}` : ''
}
