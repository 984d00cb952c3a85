/** The lists of one resource's table: filtered, sorted, page by page. */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { type Condition, SERVER_FIELDS } from '../../../decide/conditions/condition.ts'
import { simplify } from '../../../decide/conditions/simplify-condition.ts'
import type { Scalar } from '../../../resources/object.ts'
import type { FieldType } from '../../../resources/resource.ts'
import type { Comparison } from '../../../resources/routing/query.ts'
import {
  type AggregatedGroup,
  type AggregateQuery,
  type Counted,
  type ListedObject,
  LONGEST_GROUPED,
  type NumbersFound,
  type ObjectQuery,
  type SortKey,
  type SortValue,
} from '../../contract.ts'
import { JsonRow } from '../../lists/json-row.ts'
import { type Bound, BY_ID, type Segment, segmentsAfter, simplifySelection } from '../../lists/selection.ts'
import { conditionSql, findDrivers, looksUp } from '../../sql/condition.ts'
import type { Row } from '../../sql/statement.ts'
import { comparableField, instant, LIST_MARK } from '../layout/schema.ts'
import type { SharedReads } from '../shared-reads.ts'
import type { StatementRunner } from '../statements.ts'
import {
  bound,
  drivingSql,
  padded,
  parameters,
  type QueriedTable,
  type QueriedTableOf,
  type TableScope,
  type Text,
  withDriver,
  written,
} from './condition.ts'
import type { Damage } from './lookups.ts'
import { FOUND, PastBound, stepOfRow, type WorkBound, workOf } from './work.ts'

/**
 * The most objects that a driving condition may find: they are all sorted. Where it finds more, a page is full soon if
 * the objects are looked at in the order of the list.
 */
const MOST_DRIVEN = 5000

/** Some four for each object, with what it relates to. */
const MOST_STEPS_UNDRIVEN = 20_000

/** An entry of an index takes 0.25 µs, and an object that is sorted by a field of its document 4 µs. */
const LOOKED_AT_AS_ONE_SORTED = 16

/** The id, the times of creation and of the last write, the document, and 1 or 0 for each mark. */
type ListedRow = readonly [string, string, string, string | null, ...number[]]

type Selection = Pick<ObjectQuery, 'where' | 'filter'>

interface Selected {
  readonly condition: Condition
  readonly filter: readonly Comparison[]
  /** The parts that can find the objects by related ones. */
  readonly drivers: readonly Condition[]
  /** By driver, the condition as it was written. */
  readonly texts: Map<Condition | undefined, Text>
}

interface Listing extends Required<Pick<ObjectQuery, 'order' | 'limit' | 'bytes' | 'marks'>> {
  readonly selected: Selected
  readonly segments: readonly Segment[]
  readonly driver: Condition | undefined
  /** Finds so many objects that the list isn't sorted: it looks in its order for those that this has found. */
  readonly among: Condition | undefined
  /** It looks at few rows for sure, so they aren't counted as steps. */
  readonly isShort: boolean
}

export interface ListsOptions {
  readonly database: DatabaseSync
  readonly statements: StatementRunner
  readonly resource: string
  readonly tableOf: QueriedTableOf
  readonly damage: Damage
  readonly reads: SharedReads
}

export class ObjectLists {
  readonly #options: ListsOptions
  readonly #table: QueriedTable
  readonly #work: ReturnType<typeof workOf>
  /** Lists without a filter, by the policy's condition: the next list of the same caller has the same condition object. */
  readonly #wholes = new WeakMap<Condition, Selected>()

  constructor(options: ListsOptions) {
    this.#options = options
    this.#table = options.tableOf(options.resource)
    this.#work = workOf(options.database)
  }

  /** Throws PastBound. */
  list(query: ObjectQuery, bound: WorkBound = {}): readonly ListedObject[] {
    return this.#work.within(bound, () => this.#list(query))
  }

  /** Throws PastBound. */
  count(selection: Selection, bound: WorkBound): number {
    return this.#work.within(bound, () => this.#count(selection, '*'))
  }

  /** Past the bound, as many as it has found. Takes longer, because each is reported. */
  countAtLeast(selection: Selection, bound: WorkBound): Counted {
    try {
      return { found: this.#work.within(bound, () => this.#count(selection, FOUND)), isExact: true }
    } catch (error) {
      if (error instanceof PastBound) return { found: this.#work.found, isExact: false }
      throw error
    }
  }

  #list(query: ObjectQuery): readonly ListedObject[] {
    const { where, filter, order = BY_ID, after, limit, bytes = Number.MAX_SAFE_INTEGER } = query
    const selected = this.#select({ where, ...(filter && { filter }) })
    const [segments, marks] = [segmentsAfter(order, after), (query.marks ?? []).map(simplify)]
    // All segments read one state of the database: an object that another process changes is in one segment only.
    const reading = <T>(work: () => T) =>
      this.#options.damage.naming(() => (segments.length === 1 ? work() : this.#options.reads.run(work)))
    const isDirect = this.#isDirect(selected, order)
    if (!isDirect) this.#work.step()
    const driver = reading(() => this.#driverOf(selected))
    const isShort = isDirect || isFewSorted(selected, driver, order)
    const listing: Listing = { selected, order, segments, limit, bytes, marks, driver, among: undefined, isShort }
    const read = (one: Condition | undefined) => {
      if (!one || one === driver) return this.#read(listing)
      return this.#read({ ...listing, ...(this.#isDense(one) ? { among: one } : { driver: one }), isShort: false })
    }
    return reading(() => this.#unlessLong(selected, driver, read))
  }

  #count(selection: Selection, counted: '*' | typeof FOUND): number {
    return this.#overAll(selection, (where) => {
      this.#work.found = 0
      return this.#number((scope) => `select count(${counted}) from ${scope.source} where ${where(scope)}`)
    })
  }

  /** Throws PastBound. */
  aggregate({ by, of, limit, ...selection }: AggregateQuery, bound: WorkBound): readonly AggregatedGroup[] {
    const read = (where: (scope: TableScope) => string) =>
      this.#options.statements.rows(
        this.#written((scope) => {
          const groups = by.map(({ name, type }) => groupedSql(type, orderedBy({ field: name, by: 'value' }, scope)))
          const numbers = of.map((field) => `sallyport_numbers(${orderedBy({ field, by: 'value' }, scope)})`)
          const grouped = by.length === 0 ? '' : ` group by ${by.map((_, at) => at + 1).join()}`
          const selected = [...groups, 'count(*)', ...numbers].join()
          return `select ${selected} from ${scope.source} where ${where(scope)}${grouped} limit ${scope.bind(limit)} + 0`
        }),
      )
    return this.#work.within(bound, () => this.#overAll(selection, read)).map((row) => groupOf(row, by.length))
  }

  /** Reads something of all objects of a list. */
  #overAll<T>(selection: Selection, read: (where: (scope: TableScope) => string) => T): T {
    this.#work.step()
    const selected = this.#select(selection)
    const by = (driver: Condition | undefined) =>
      read((scope) => {
        const where = this.#selectedSql(selected, driver, { ...scope, plain: driver !== undefined })
        return `${stepOfRow(scope.alias)} and ${where}`
      })
    return this.#options.damage.naming(() => {
      // Without a filter, which may find few objects by itself, nothing is faster than a driver.
      const [usual] = selection.filter?.length ? [] : selected.drivers
      return this.#unlessLong(selected, this.#driverOf(selected) ?? usual, by)
    })
  }

  #select({ where, filter = [] }: Selection): Selected {
    const select = (): Selected => {
      const { condition, rest } = simplifySelection(where, filter)
      const drivers = looksUp(condition) ? findDrivers(condition, this.#table, this.#options.tableOf) : []
      return { condition, filter: rest, drivers, texts: new Map() }
    }
    return filter.length > 0 ? select() : this.#wholes.getOrInsertComputed(where, select)
  }

  /** The first part that finds few objects; undefined where the objects must be looked at in their order. */
  #driverOf({ drivers }: Selected): Condition | undefined {
    return drivers.find((part) => this.#foundBy(part, MOST_DRIVEN + 1) <= MOST_DRIVEN)
  }

  /** Counts no more than `most`. */
  #foundBy(part: Condition, most: number): number {
    return this.#number((scope) => {
      const where = drivingSql(part, scope)
      return `select count(*) from (select 1 from ${scope.source} where ${where} limit ${scope.bind(most)} + 0)`
    })
  }

  /** Whether to look for what the part finds among all objects in their order takes less than to sort it. */
  #isDense(part: Condition): boolean {
    const least = Math.ceil(this.#number(({ source }) => `select max(rowid) from ${source}`) / LOOKED_AT_AS_ONE_SORTED)
    return this.#foundBy(part, least) === least
  }

  #number(write: (scope: TableScope) => string): number {
    return Number(this.#options.statements.rows(this.#written(write))[0]?.[0])
  }

  /** Where the order of the list, or a filter, has the objects far from each other, the first driver finds them. */
  #unlessLong<T>({ drivers }: Selected, driver: Condition | undefined, read: (driver: Condition | undefined) => T): T {
    const [first] = drivers
    if (driver || !first) return read(driver)
    try {
      return this.#work.within({ steps: MOST_STEPS_UNDRIVEN }, () => read(undefined))
    } catch (error) {
      if (!(error instanceof PastBound) || error.of === 'time') throw error
      return read(first)
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
    return condition.kind === 'holds' && condition.values.length === 1 && this.#table.scalars.has(condition.field)
  }

  /** Undefined if an object takes more than its share; its content isn't read then. */
  #atOnce(listing: Listing): readonly ListedObject[] | undefined {
    const { segments, limit, bytes } = listing
    const share = Math.floor(bytes / limit)
    const found: ListedObject[] = []
    for (const segment of segments) {
      if (found.length === limit) break
      const asked = this.#page({ ...listing, limit: limit - found.length }, segment, share)
      for (const row of this.#options.statements.rows(asked) as unknown as readonly ListedRow[]) {
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
      const { text, values } = this.#page({ ...listing, limit: limit - found.length }, segment)
      const rows = this.#options.statements.prepared(text).iterate(...(values as SQLInputValue[]))
      for (const row of rows as unknown as Iterable<ListedRow>) {
        const object = listed(row)
        found.push(object)
        read += object.bytes()
        if (read > bytes && found.length > 1) return found
      }
    }
    return found
  }

  /** Without a document that is larger than the share. The row's header holds the length, so its text isn't read. */
  #page(listing: Listing, segment: Segment, share?: number): Text {
    const { selected, order, marks, driver, among, isShort, limit } = listing
    return this.#written((outer) => {
      const { bind, source } = outer
      const scope: TableScope = { ...outer, plain: driver !== undefined }
      const document =
        share === undefined ? 'document' : `case when octet_length(document) <= ${bind(share)} then document end`
      const marked = marks.map((mark) => `, (${conditionSql(mark, { ...scope, plain: false })}) is true`).join('')
      const step = isShort ? '' : `${stepOfRow(scope.alias)} and `
      const found =
        among && `+${scope.alias}rowid in (select rowid from ${source} where ${drivingSql(among, outer)}) and `
      const allowed = this.#selectedSql(selected, driver, { ...scope, plain: (driver ?? among) !== undefined })
      const following = segment.length === 0 ? '' : ` and ${segmentSql(segment, scope)}`
      const by = orderSql(order, scope)
      // With a bare parameter as the limit, SQLite would plan the statement again for each bound number.
      const page = `where ${step}${found ?? ''}${allowed}${following} order by ${by} limit ${bind(limit)} + 0`
      // The driver's objects are sorted before their documents are read.
      const read = driver ? `where rowid in (select rowid from ${source} ${page}) order by ${by}` : page
      return `select id, created_at, updated_at, ${document}${marked} from ${source} ${read}`
    })
  }

  /** Each row that the statement looks at is a step. */
  #written(write: (scope: TableScope) => string): Text {
    return written(this.#options.tableOf, this.#options.resource, (scope) => write({ ...scope, steps: true }))
  }

  #selectedSql({ condition, filter, texts }: Selected, driver: Condition | undefined, scope: TableScope): string {
    const { text, values } = texts.getOrInsertComputed(driver, () => {
      const parts = condition.kind === 'all' ? condition.of : [condition]
      return this.#written((own) => (driver ? withDriver(parts, driver, own) : conditionSql(condition, own)))
    })
    values.forEach(scope.bind)
    return [text, ...filter.map((one) => comparisonSql(one, scope))].join(' and ')
  }
}

/** The driver alone selects, and what it finds is sorted by columns that need no document. */
function isFewSorted({ condition, filter }: Selected, driver: Condition | undefined, order: Listing['order']): boolean {
  return driver === condition && filter.length === 0 && order.every(({ field }) => SERVER_FIELDS.has(field))
}

function listed([id, createdAt, updatedAt, text, ...marks]: ListedRow): ListedObject {
  return new JsonRow(id, createdAt, updatedAt, text ?? '', marks.map(Boolean))
}

// Groups of objects, and what is computed of their numbers.

/** Stands for texts that are too long: no value is like it. */
const TOO_LONG = "x'03'"

/** A value of the type; NULL for another one. */
function groupedSql(type: FieldType, value: string): string {
  if (type === 'string')
    return `case when typeof(${value}) = 'text' then
      case when octet_length(${value}) <= ${LONGEST_GROUPED} then ${value} else ${TOO_LONG} end end`
  // A list has a mark of its own.
  if (type === 'boolean') return `case when typeof(${value}) = 'blob' and ${value} < ${LIST_MARK} then ${value} end`
  return `case when typeof(${value}) = 'real' then ${value} end`
}

function groupOf(row: Row, groups: number): AggregatedGroup {
  const found = row.slice(0, groups)
  return {
    values: found.map((value) => (value instanceof Uint8Array ? value[0] === 1 : (value as Scalar | null))),
    isCut: found.some((value) => value instanceof Uint8Array && value[0] === 3),
    count: Number(row[groups]),
    numbers: row.slice(groups + 1).map((text) => JSON.parse(String(text)) as NumbersFound),
  }
}

// By what a list is sorted, where its next page begins, and a client's comparisons, for SQLite.

const OPERATORS = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const

type Ordering = keyof typeof OPERATORS

function comparisonSql(comparison: Comparison, scope: TableScope): string {
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

function orderSql(order: readonly SortKey[], scope: TableScope): string {
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

function segmentSql(segment: Segment, scope: TableScope): string {
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
