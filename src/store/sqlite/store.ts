/** The contract's Store on SQLite: a write is one transaction with its decision record, durable when it returns. */
import type { DatabaseSync } from 'node:sqlite'
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
import { StaleObject } from '../errors.ts'
import type { ReadBounds } from '../lists/read-bounds.ts'
import { ParsedObjects } from '../parse-stored.ts'
import type { SqlCounters } from '../sql/attempts.ts'
import { attributed } from '../sql/changes.ts'
import { findReplay, keepReplay, keptOf } from '../sql/idempotency-keys.ts'
import { PROBED, readMark, readSecret, sharedSecret, writeMark } from '../sql/named-values.ts'
import { getOrFail, writeAlong } from '../sql/objects.ts'
import { addRecord } from '../sql/outbox.ts'
import { withinBounds } from '../sql/people-with-role.ts'
import type { SqlEngine, Work } from '../sql/statement.ts'
import { WriteProbe } from '../sql/write-probe.ts'
import type { Commits } from './commits.ts'
import { answering, identityOf, moved, ofContract, renewStatistics } from './database.ts'
import type { HoldsLookup } from './query/lookups.ts'
import { PastBound, type WorkBound } from './query/work.ts'
import type { SharedReads } from './shared-reads.ts'
import { DIALECT, type StatementRunner } from './statements.ts'
import type { ObjectTable } from './table.ts'
import type { Remote } from './thread/thread.ts'

/** The parts of an open database, shared by the classes that implement the contract. */
export interface SqliteEngine extends WritingEngine {
  readonly file: string | ':memory:'
  /** Of the file that is open. */
  readonly identity: string | undefined
  readonly reads: SharedReads
  readonly counters: SqlCounters
  readonly bounds: ReadBounds
  readonly writes: ObjectWrites
}

interface WritingEngine {
  readonly database: DatabaseSync
  readonly statements: StatementRunner
  readonly sql: SqlEngine
  /** By the resource's name. */
  readonly tables: ReadonlyMap<string, ObjectTable>
  readonly holds: HoldsLookup
  readonly commits: Commits
  readonly now: () => Date
}

/** Longer than a group waits for another process's lock. A disk may not answer for minutes, and readiness must tell. */
const PROBE_MS = 2500
/** A failed write may have waited for a lock and blocked the whole process meanwhile. */
const AFTER_FAILURE_MS = 3000

/** In a server, a thread writes, and reads that take long go on beside the thread that answers requests. */
interface Threaded {
  readonly writes: Remote<ObjectWrites>
  readonly long: Pick<Store, 'list' | 'count' | 'aggregate'>
  readonly close: () => Promise<void>
}

export class SqliteStore implements Store {
  readonly #engine: SqliteEngine
  readonly #threaded: Threaded | undefined
  readonly #writes: Remote<ObjectWrites>
  readonly #probe: WriteProbe
  readonly #parsed = new ParsedObjects()

  constructor(engine: SqliteEngine, threaded?: Threaded) {
    this.#engine = engine
    this.#threaded = threaded
    this.#writes = threaded?.writes ?? engine.writes
    const write = () => this.#writes.probe()
    this.#probe = new WriteProbe({ write, patienceMs: PROBE_MS, afterFailureMs: AFTER_FAILURE_MS })
  }

  get(resource: string, id: string): StoredObject | undefined {
    const table = getOrFail(this.#engine.tables, resource)
    const { reads } = this.#engine
    return answering(() => {
      // By itself, the question about the state costs more than the read.
      const state = reads.isOpen ? reads.state() : undefined
      const kept = state === undefined ? undefined : this.#parsed.unchanged(resource, id, state)
      if (kept) return kept
      const row = table.row(id)
      return row && this.#parsed.of(resource, row, state)
    })
  }

  async list(resource: string, query: ObjectQuery, by?: ReadBy): Promise<readonly ListedObject[]> {
    const { lists } = getOrFail(this.#engine.tables, resource)
    return this.#read(
      (bound) => lists.list(query, bound),
      (long) => long.list(resource, query, by),
    )
  }

  async count(resource: string, query: Pick<ObjectQuery, 'where' | 'filter'>, by?: ReadBy): Promise<Counted> {
    const { lists } = getOrFail(this.#engine.tables, resource)
    if (!this.#threaded) return answering(() => lists.countAtLeast(query, { ms: this.#engine.bounds.countMs }))
    return this.#read(
      (bound) => ({ found: lists.count(query, bound), isExact: true }),
      (long) => long.count(resource, query, by),
    )
  }

  async aggregate(resource: string, query: AggregateQuery, by?: ReadBy): Promise<readonly AggregatedGroup[]> {
    const { lists } = getOrFail(this.#engine.tables, resource)
    return this.#read(
      (bound) => lists.aggregate(query, bound),
      (long) => long.aggregate(resource, query, by),
    )
  }

  /** Most reads take little time; others go on beside this thread. */
  #read<T>(here: (bound: WorkBound) => T, beside: (long: Threaded['long']) => T | Promise<T>): T | Promise<T> {
    const { hereMs, listMs } = this.#engine.bounds
    if (!this.#threaded) return answering(() => here({ ms: listMs }))
    try {
      return here({ ms: hereMs })
    } catch (error) {
      if (error instanceof PastBound) return beside(this.#threaded.long)
      throw ofContract(error)
    }
  }

  lookup(lookup: Lookup): boolean {
    return answering(() => this.#engine.holds(lookup))
  }

  inOneReadTransaction<T>(work: () => T): T {
    return this.#engine.reads.run(work)
  }

  lookupAfter(permit: Permit<'create'> | Permit<'update'>, lookup: Lookup): Promise<boolean> {
    return this.#writes.lookupAfter(withoutEvidence(permit), lookup)
  }

  async kept(key: ReplayKey): Promise<Kept | undefined> {
    const { statements, now } = this.#engine
    return answering(() => {
      const [row] = statements.ask(findReplay(DIALECT, key, now().getTime()))
      return row && keptOf(row, key.subject)
    })
  }

  async create(permit: Permit<'create'>, options: ReplayedOptions = {}): Promise<StoredObject> {
    const { time, ...timed } = this.#timed(permit, options)
    await this.#writes.create(withoutEvidence(permit), { ...timed, time })
    return createdObject(permit, time)
  }

  async update(permit: Permit<'update'>, options: UpdateOptions = {}): Promise<StoredObject> {
    const { time, ...timed } = this.#timed(permit, options)
    const along = options.along?.map(withoutEvidence)
    const createdAt = await this.#writes.update(withoutEvidence(permit), { ...timed, time, along })
    return updatedObject(permit, { createdAt }, time)
  }

  delete(permit: Permit<'delete'>, options: DeleteOptions = {}): Promise<void> {
    const along = options.along?.map(withoutEvidence)
    const timed = { ...this.#timed(permit, options), ...(along && { along }) }
    return this.#writes.delete(withoutEvidence(permit), timed)
  }

  async secret(name: string): Promise<Uint8Array> {
    const [kept] = await this.#engine.sql.ask(readSecret(name))
    return kept ? (kept[0] as Uint8Array) : this.#writes.secret(name)
  }

  async ping(): Promise<void> {
    const { sql: database, file, identity } = this.#engine
    await database.ask(readMark(PROBED))
    if (identityOf(file) !== identity) throw moved(file)
    await this.#probe.ask()
  }

  async close(): Promise<void> {
    const { database, commits } = this.#engine
    await this.#threaded?.close()
    commits.flush()
    if (database.isOpen) answering(() => database.close())
  }

  /** Who writes is told only where changes are kept. */
  #timed<O extends DeleteOptions>({ resource }: Permit<PermitKind>, { by, ...options }: O) {
    const keeps = ({ resource: name }: Pick<Permit<PermitKind>, 'resource'>) =>
      getOrFail(this.#engine.tables, name).keepsChanges
    const isKept = by && (getOrFail(this.#engine.tables, resource).keepsChanges || options.along?.some(keeps))
    return { ...options, time: options.time ?? this.#engine.now().toISOString(), ...(isKept && { by }) }
  }
}

const NO_EVIDENCE = { relations: [], lines: [], fieldsRefused: [], facts: {} }

/** It is in the record already. */
function withoutEvidence<P extends Permit<PermitKind>>(permit: P): P {
  return { ...permit, evidence: NO_EVIDENCE }
}

/** Small enough that the statistics soon show that a new table has become large. */
const WRITES_PER_STATISTICS = 1000

type TimedWrite<O extends WriteOptions> = O & { readonly time: string }

/**
 * What the store writes: here, or in the thread of a server, so all that is given and returned is plain data. The store
 * knows the objects that it writes, so none is returned.
 */
export class ObjectWrites {
  readonly #engine: WritingEngine
  #writes = 0

  constructor(engine: WritingEngine) {
    this.#engine = engine
  }

  create(permit: Permit<'create'>, options: TimedWrite<ReplayedOptions>): Promise<void> {
    return this.#write(permit, options, this.#insert(permit, options))
  }

  /** The time of the object's creation. */
  update(permit: Permit<'update'>, options: TimedWrite<UpdateOptions>): Promise<string> {
    return this.#write(permit, options, this.#change(permit, options))
  }

  delete(permit: Permit<'delete'>, options: TimedWrite<DeleteOptions>): Promise<void> {
    return this.#write(permit, options, this.#remove(permit, options))
  }

  lookupAfter(permit: Permit<'create'> | Permit<'update'>, lookup: Lookup): Promise<boolean> {
    const { commits, holds, statements, now } = this.#engine
    const time = now().toISOString()
    const work = () => {
      statements.run<unknown>(
        permit.kind === 'create' ? this.#insert(permit, { time }) : this.#change(permit, { time }),
      )
      return holds(lookup)
    }
    return commits.undone(work)
  }

  secret(name: string): Promise<Uint8Array> {
    return sharedSecret(this.#engine.sql, name)
  }

  /** A write that changes nothing. */
  probe(): Promise<void> {
    return this.#engine.sql.write(function* () {
      // Two values: SQLite writes no page whose content stays the same. The second write restores the first value.
      yield writeMark(PROBED, 'asked')
      yield writeMark(PROBED, 'answered')
    })
  }

  *#insert(permit: Permit<'create'>, { time, replay }: TimedWrite<ReplayedOptions>): Work<void> {
    const created = createdObject(permit, time)
    yield* getOrFail(this.#engine.tables, permit.resource).insert(created)
    if (replay) yield* keepReplay(DIALECT, replay, created, this.#engine.now().getTime())
  }

  *#change(permit: Permit<'update'>, { time, replay, along = [] }: TimedWrite<UpdateOptions>): Work<string> {
    const { resource, id, version, document } = permit
    // Asked before anything is written: one write may change what another one rests on.
    if (along.length > 0) yield* this.#refuseChanged(allReads(along))
    const createdAt = yield* getOrFail(this.#engine.tables, resource).update({ id, version, updatedAt: time, document })
    if (replay) {
      const now = this.#engine.now().getTime()
      yield* keepReplay(DIALECT, replay, updatedObject(permit, { createdAt }, time), now)
    }
    if (along.length > 0) yield* this.#writeAlong(along, time)
    return createdAt
  }

  *#remove({ resource, id, version }: Permit<'delete'>, { along = [], time }: TimedWrite<DeleteOptions>): Work<void> {
    yield* this.#refuseChanged(allReads(along))
    if (along.length > 0) yield* this.#writeAlong(along, time)
    yield* getOrFail(this.#engine.tables, resource).delete(id, version)
  }

  #writeAlong(along: readonly AlongPermit[], time: string): Work<void> {
    return writeAlong(along, { dialect: DIALECT, objectsOf: (name) => getOrFail(this.#engine.tables, name), time })
  }

  /** The change runs at most once. */
  async #write<T>(
    { readSet, bounds }: Permit<PermitKind>,
    options: TimedWrite<WriteOptions>,
    change: Work<T>,
  ): Promise<T> {
    const people = { ...this.#engine.sql, users: this.#engine.tables.get(USERS)?.name }
    const counted = bounds.length > 0 ? withinBounds(bounds, people, change) : change
    const written = await this.#engine.sql.write(() => this.#changing(readSet, options, counted))
    this.#writes += 1
    if (this.#writes % WRITES_PER_STATISTICS === 0) renewStatistics(this.#engine.database)
    return written
  }

  *#changing<T>(readSet: ReadSet, { record, by, time }: TimedWrite<WriteOptions>, change: Work<T>): Work<T> {
    yield* this.#refuseChanged(readSet)
    const changed = yield* by ? attributed({ by, time }, change) : change
    if (record !== undefined) yield addRecord(DIALECT, record)
    return changed
  }

  /** Sees the writes that were made before in the same group. */
  *#refuseChanged(reads: ReadSet | undefined): Work<void> {
    if (!reads) throw new StaleObject()
    const { lookups, caller } = reads
    const engine = this.#engine
    const users = engine.tables.get(USERS)
    // Without users records, every caller is as before.
    const sameCaller = !caller || (users && (yield* users.version(caller.id))) === caller.version
    const same = sameCaller && lookups.every(({ lookup, holds }) => engine.holds(lookup) === holds)
    if (!same) throw new StaleObject()
  }
}
