/** The contract's Store on PostgreSQL: a write is one statement with its decision record, durable when it returns. */

import { LRUCache } from 'lru-cache'
import type { Lookup } from '../../decide/conditions/condition.ts'
import {
  type AlongPermit,
  allReads,
  createdObject,
  type Permit,
  type PermitKind,
  type ReadSet,
  updatedObject,
} from '../../decide/permits/permit.ts'
import { USERS } from '../../decide/policy.ts'
import type { StoredObject } from '../../resources/object.ts'
import type {
  AggregatedGroup,
  AggregateQuery,
  Counted,
  DeleteOptions,
  Kept,
  ListedObject,
  ObjectQuery,
  ReadBy,
  ReplayedOptions,
  ReplayKey,
  Store,
  UpdateOptions,
  WriteOptions,
} from '../contract.ts'
import { ReadTooLong, ReplayTaken, StaleObject, UniqueTaken } from '../errors.ts'
import type { ReadBounds } from '../lists/read-bounds.ts'
import { Turns } from '../lists/turns.ts'
import { ParsedObjects } from '../parse-stored.ts'
import { looksUp } from '../sql/condition.ts'
import { findReplay, keepReplay, keptOf, SWEPT_AT_ONCE, sweepReplays } from '../sql/idempotency-keys.ts'
import { PROBED, sharedSecret, writeMark } from '../sql/named-values.ts'
import { getOrFail, objectRow, writeAlong } from '../sql/objects.ts'
import { withinBounds } from '../sql/people-with-role.ts'
import { all, done, type Row, type SqlEngine, type Statement, sql, type Work } from '../sql/statement.ts'
import { WriteProbe } from '../sql/write-probe.ts'
import type { StoreConnections } from './connections/connections.ts'
import type { Gathered } from './connections/gathered.ts'
import { type StoreWrite, single } from './connections/sending.ts'
import { SharedCreates } from './create-together.ts'
import { DIALECT } from './dialect.ts'
import { answering } from './failures.ts'
import { WRITE_SETTING } from './layout/tables.ts'
import { aggregated } from './query/aggregates.ts'
import { lookupIn, type QueriedTable, type QueriedTableOf, statement } from './query/condition.ts'
import { canMisplace, countStatement, inList, listStatement, unindexedOrderSql, wholeOrderSql } from './query/lists.ts'
import { gatheredPage, KeptPages, pageStatement, readPage } from './query/pages.ts'
import { decodeText, encodeText } from './stored-text.ts'
import { type Beside, createdOf, type KeptReplay, type ObjectTable, unchangedSql } from './table.ts'

/** The parts of an open database, shared by the classes that implement the contract. */
export interface PostgresEngine {
  readonly connections: StoreConnections
  readonly sql: SqlEngine
  /** By the resource's name. */
  readonly tables: ReadonlyMap<string, { readonly objects: ObjectTable; readonly queried: QueriedTable }>
  readonly now: () => Date
  readonly bounds: ReadBounds
}

const PROBE_MS = 900

/** A statement with more takes long to be planned. */
const LOOKUPS_AT_ONCE = 50

/** The texts of statements for pages: filters and orders of clients make ever new ones. */
const MOST_PAGE_TEXTS = 1000

export function tableOf({ tables }: PostgresEngine, resource: string) {
  return getOrFail(tables, resource)
}

export class PostgresStore implements Store {
  readonly #engine: PostgresEngine
  readonly #queriedOf: QueriedTableOf
  readonly #gathered = new Map<string, Gathered<StoredObject | undefined>>()
  /** By the text of their statement. */
  readonly #gatheredPages = new LRUCache<string, Gathered<Row | undefined>>({
    max: MOST_PAGE_TEXTS,
    memoMethod: (text) => this.#engine.connections.gatheredPages(text),
  })
  readonly #keptPages = new KeptPages()
  readonly #pageTurns: Turns
  readonly #sharedCreates: SharedCreates
  readonly #parsed = new ParsedObjects()
  readonly #probe: WriteProbe

  constructor(engine: PostgresEngine) {
    this.#engine = engine
    this.#pageTurns = new Turns(engine.bounds.most)
    this.#sharedCreates = new SharedCreates(engine.tables.get(USERS)?.objects.name)
    this.#probe = new WriteProbe({
      // Not among the look-ups: a commit may hang, for example while a synchronous replica is away.
      write: () => engine.connections.change(writeMark(PROBED, 'answered')),
      patienceMs: PROBE_MS,
    })
    this.#queriedOf = (resource) => tableOf(engine, resource).queried
  }

  async get(resource: string, id: string): Promise<StoredObject | undefined> {
    return this.#objectsOf(resource).of(encodeText(id))
  }

  async list(resource: string, query: ObjectQuery, by?: ReadBy): Promise<readonly ListedObject[]> {
    const [table, tableOf] = [this.#queriedOf(resource), this.#queriedOf]
    const asked = gatheredPage(query, table, tableOf) ?? pageStatement(query, table, tableOf)
    const page =
      'texts' in asked
        ? await this.#pageTurns.run(by ?? { whose: '' }, () => this.#gatheredPages.memo(asked.text).of(...asked.texts))
        : (await this.#inOrder(table, (order) => pageStatement(query, table, tableOf, order), by))[0]
    const question = `${asked.text}${JSON.stringify('texts' in asked ? asked.texts : asked.values)}`
    const rows = this.#keptPages.rows(question, page ?? [], (row) => readPage(row, query))
    return rows ?? this.#listExactly(table, query, by)
  }

  /**
   * The planner expects that what is related is spread evenly over the order of the list. Where it isn't, a page in the
   * order of an index takes long, and all objects of the list are found first.
   */
  async #inOrder(
    table: QueriedTable,
    write: (order?: typeof unindexedOrderSql) => Statement,
    by?: ReadBy,
  ): Promise<readonly Row[]> {
    const asked = write()
    if (!asked.plannedAnew) return this.#long(asked, by)
    const { inOrderMs } = this.#engine.bounds
    const found = await this.#within(inOrderMs, asked, by)
    if (found) return found
    const again = (await this.#isLarge(table)) ? await this.#within(4 * inOrderMs, asked, by) : undefined
    return again ?? this.#long(write(unindexedOrderSql), by)
  }

  async #within(ms: number, asked: Statement, by?: ReadBy): Promise<readonly Row[] | undefined> {
    try {
      return await this.#long(asked, by, ms)
    } catch (error) {
      if (error instanceof ReadTooLong) return undefined
      throw error
    }
  }

  /** By the database's own estimate. */
  async #isLarge({ name }: QueriedTable): Promise<boolean> {
    const text = 'select reltuples::float8 from pg_class where oid = to_regclass($1)'
    const [row] = await this.#engine.connections.quick({ text, values: [name] })
    return Number(row?.[0]) > this.#engine.bounds.sortedSoon
  }

  /** Row by row: for documents of any size, and for texts of any length that the list is sorted by. */
  async #listExactly(table: QueriedTable, query: ObjectQuery, by?: ReadBy): Promise<readonly ListedObject[]> {
    const tableOf = this.#queriedOf
    const rows = await this.#inOrder(table, (order) => listStatement(query, table, tableOf, order), by)
    if (!canMisplace(query)) return rows.map(inList)
    if (!rows.some((row) => row.at(-1) === true)) return rows.map((row) => inList(row.slice(0, -1)))
    return (await this.#long(listStatement(query, table, tableOf, wholeOrderSql), by)).map(inList)
  }

  /** The database tells nothing of a count that it ends. */
  async count(resource: string, query: Pick<ObjectQuery, 'where' | 'filter'>, by?: ReadBy): Promise<Counted> {
    const { connections, bounds } = this.#engine
    const counting = countStatement(query, this.#queriedOf(resource), this.#queriedOf)
    try {
      const [row] = await connections.long(counting, { ms: bounds.countMs, by })
      return { found: Number(row?.[0]), isExact: true }
    } catch (error) {
      if (error instanceof ReadTooLong) return { found: 0, isExact: false }
      throw error
    }
  }

  async aggregate(resource: string, query: AggregateQuery, by?: ReadBy): Promise<readonly AggregatedGroup[]> {
    return aggregated(resource, query, this.#queriedOf, (asked) => this.#long(asked, by))
  }

  #long(asked: Statement, by?: ReadBy, ms = this.#engine.bounds.listMs): Promise<readonly Row[]> {
    return this.#engine.connections.long(asked, { ms, by })
  }

  async lookup(lookup: Lookup, whose?: string): Promise<boolean> {
    const asked = statement((to) => `select ${lookupIn(lookup, this.#queriedOf, to)}`)
    const [row] = await this.#answerOf(lookup, asked, whose)
    return row?.[0] === true
  }

  inOneReadTransaction<T>(work: () => T): T {
    return work()
  }

  async lookupAfter(permit: Permit<'create'> | Permit<'update'>, lookup: Lookup, whose?: string): Promise<boolean> {
    const { objects, queried } = tableOf(this.#engine, permit.resource)
    const { id, version, document } = permit
    const written = { id, version: version + 1, updatedAt: this.#timeOf({}), document }
    const asked = statement((to) => {
      // Written where it is needed: PostgreSQL refuses values that a statement doesn't use.
      const tables: QueriedTableOf = (resource) => {
        if (resource !== permit.resource) return this.#queriedOf(resource)
        return { ...queried, name: objects.withSql(written, to) }
      }
      const isCurrent = permit.kind === 'create' ? 'true' : objects.hasVersionSql(id, version, to)
      return `select ${isCurrent}, ${objects.takenSql(written, to)}, ${lookupIn(lookup, tables, to)}`
    })
    const [[current, taken, holds] = []] = await this.#answerOf(lookup, asked, whose)
    if (current !== true) throw new StaleObject()
    if (typeof taken === 'string') throw new UniqueTaken(decodeText(taken))
    return holds === true
  }

  async kept(key: ReplayKey): Promise<Kept | undefined> {
    const [row] = await this.#engine.connections.quick(findReplay(DIALECT, key, this.#engine.now().getTime()))
    return row && keptOf(row, key.subject)
  }

  async create(permit: Permit<'create'>, options: ReplayedOptions = {}): Promise<StoredObject> {
    const { objects } = tableOf(this.#engine, permit.resource)
    const object = createdObject(permit, this.#timeOf(options))
    const at = this.#engine.now().getTime()
    const replay = options.replay && { replay: options.replay, object, at }
    const [row] = await this.#write(objects, permit, () => this.#creating(permit, { object, replay, options }))
    const { allowed, free, made, taken } = createdOf(row)
    if (made) {
      if (replay) this.#sweepReplays(at)
      return object
    }
    if (allowed && !free) throw new ReplayTaken()
    // If a program beside this one has taken the value meanwhile, the next decision finds it.
    throw allowed && taken !== null ? new UniqueTaken(taken) : new StaleObject()
  }

  async update(permit: Permit<'update'>, options: UpdateOptions = {}): Promise<StoredObject> {
    const { objects } = tableOf(this.#engine, permit.resource)
    const updatedAt = this.#timeOf(options)
    const { replay, along = [] } = options
    const updating = () => objects.update({ ...permit, updatedAt }, this.#beside(permit, options))
    const isLarger = replay !== undefined || along.length > 0
    const written = isLarger
      ? this.#inTransaction(objects, permit, () => this.#updateWith(permit, updating, { ...options, time: updatedAt }))
      : this.#write(objects, permit, () => single(updating()))
    const [row] = await written.catch(async (error: unknown) => {
      throw error instanceof UniqueTaken ? await this.#firstTaken(permit, error) : error
    })
    if (!row) throw new StaleObject()
    return updatedObject(permit, { createdAt: String(row[0]) }, updatedAt)
  }

  /** All permits are asked first: one write may change what another one rests on. */
  *#updateWith(
    permit: Permit<'update'>,
    updating: () => Statement,
    { replay, along = [], time, ...options }: UpdateOptions & { readonly time: string },
  ): Work<readonly Row[]> {
    if (along.length > 0) yield* this.#refuseChanged(allReads([permit, ...along]))
    const rows = yield updating()
    const [row] = rows
    if (!row) throw new StaleObject()
    const object = updatedObject(permit, { createdAt: String(row[0]) }, time)
    if (replay) yield* keepReplay(DIALECT, replay, object, this.#engine.now().getTime())
    if (along.length > 0) yield* this.#writeAlong(along, { ...options, time })
    return rows
  }

  async delete(permit: Permit<'delete'>, options: DeleteOptions = {}): Promise<void> {
    const { objects } = tableOf(this.#engine, permit.resource)
    const { id, version } = permit
    const deleting = () => objects.delete(id, version, this.#beside(permit, options))
    const [row] = options.along?.length
      ? await this.#inTransaction(objects, permit, () => this.#deleteWith(permit, deleting, options))
      : await this.#write(objects, permit, () => single(deleting()))
    if (!row) throw new StaleObject()
  }

  /** All permits are asked first: one write may change what another one rests on. */
  *#deleteWith(
    permit: Permit<'delete'>,
    deleting: () => Statement,
    { along = [], ...options }: DeleteOptions,
  ): Work<readonly Row[]> {
    yield* this.#refuseChanged(allReads([permit, ...along]))
    yield* this.#writeAlong(along, options)
    const rows = yield deleting()
    if (rows.length === 0) throw new StaleObject()
    return rows
  }

  *#writeAlong(along: readonly AlongPermit[], options: WriteOptions): Work<void> {
    const objectsOf = (resource: string) => tableOf(this.#engine, resource).objects
    const keeps = along.some(({ resource }) => objectsOf(resource).keepsChanges)
    if (keeps) yield sql(`select set_config('${WRITE_SETTING}', $1, true)`, this.#writeTold(options))
    yield* writeAlong(along, { dialect: DIALECT, objectsOf, time: this.#timeOf(options) })
  }

  *#refuseChanged(reads: ReadSet | undefined): Work<void> {
    if (!reads) throw new StaleObject()
    const { lookups, caller } = reads
    for (let at = 0; at === 0 || at < lookups.length; at += LOOKUPS_AT_ONCE) {
      const some = { lookups: lookups.slice(at, at + LOOKUPS_AT_ONCE), caller: at === 0 ? caller : undefined }
      const [row] = yield statement((to) => `select ${unchangedSql(some, this.#tables(), to)}`)
      if (row?.[0] !== true) throw new StaleObject()
    }
  }

  secret(name: string): Promise<Uint8Array> {
    return sharedSecret(this.#engine.sql, name)
  }

  async ping(): Promise<void> {
    await this.#engine.connections.quick({ text: 'select 1', values: [] })
    await this.#probe.ask()
  }

  #objectsOf(resource: string): Gathered<StoredObject | undefined> {
    return this.#gathered.getOrInsertComputed(resource, () => {
      const text = tableOf(this.#engine, resource).objects.gather()
      const found = (row: Row | undefined) => row && this.#parsed.of(resource, objectRow(row, DIALECT))
      return this.#engine.connections.gathered(text, found)
    })
  }

  /** A look-up through further objects may take long: others must not wait behind it. */
  #answerOf({ climb, where }: Lookup, asked: Statement, whose = ''): Promise<readonly Row[]> {
    return climb || looksUp(where) ? this.#long(asked, { whose }) : this.#engine.connections.quick(asked)
  }

  close(): Promise<void> {
    return answering(() => this.#engine.connections.close())
  }

  #creating(permit: Permit<'create'>, { object, replay, options }: Creating): StoreWrite {
    const { objects } = tableOf(this.#engine, permit.resource)
    const alone = () => objects.create(object, this.#beside(permit, options), replay)
    // Each of them tells the log of changes who made it.
    if (replay || objects.keepsChanges) return single(alone())
    const shared = this.#sharedCreates.of(objects.name, permit, { object, record: options.record })
    return shared ? { alone, shared } : single(alone())
  }

  #write(objects: ObjectTable, { bounds }: Permit<PermitKind>, write: () => StoreWrite): Promise<readonly Row[]> {
    const { writer } = this.#engine.connections
    if (bounds.length === 0) return answering(() => objects.writing(async () => writer.write(write())))
    return this.#inTransaction(objects, { bounds }, () => all(write().alone()))
  }

  /** People are counted before and after it. */
  #inTransaction(
    objects: ObjectTable,
    { bounds }: Pick<Permit<PermitKind>, 'bounds'>,
    work: () => Work<readonly Row[]>,
  ): Promise<readonly Row[]> {
    const { writer } = this.#engine.connections
    const people = { ...this.#engine.sql, users: objects.name }
    const counted = () => (bounds.length === 0 ? work() : withinBounds(bounds, people, work()))
    return answering(() => objects.writing(() => writer.transaction((ask) => done(counted(), ask))))
  }

  #beside({ readSet, resource }: Permit<PermitKind>, options: UpdateOptions): Beside {
    const { record, along } = options
    const write = tableOf(this.#engine, resource).objects.keepsChanges ? this.#writeTold(options) : undefined
    // What comes along has been written by then, and perhaps was what the permit rests on: it was asked before.
    return { allowed: along?.length ? () => 'true' : (to) => unchangedSql(readSet, this.#tables(), to), record, write }
  }

  /** Also where there is nothing to tell: an earlier write of the same transaction may have told something. */
  #writeTold(options: WriteOptions): string {
    return options.by ? JSON.stringify({ by: JSON.stringify(options.by), time: this.#timeOf(options) }) : ''
  }

  #tables() {
    return { tableOf: this.#queriedOf, users: this.#engine.tables.get(USERS)?.objects }
  }

  /** PostgreSQL names the value that it meets first, whatever the order of the fields. */
  async #firstTaken({ resource, id, version, document }: Permit<'update'>, met: UniqueTaken): Promise<UniqueTaken> {
    const { objects } = tableOf(this.#engine, resource)
    const asked = statement((to) => `select ${objects.takenSql({ id, version: version + 1, document }, to)}`)
    const [[field] = []] = await this.#engine.connections.quick(asked)
    return typeof field === 'string' ? new UniqueTaken(decodeText(field)) : met
  }

  #sweepReplays(now: number): void {
    // The object is stored; the next sweep deletes what this one leaves.
    this.#engine.connections.change(sweepReplays(DIALECT, now, SWEPT_AT_ONCE)).catch(() => undefined)
  }

  #timeOf({ time }: WriteOptions): string {
    return time ?? this.#engine.now().toISOString()
  }
}

interface Creating {
  readonly object: StoredObject
  readonly replay: KeptReplay | undefined
  readonly options: WriteOptions
}
