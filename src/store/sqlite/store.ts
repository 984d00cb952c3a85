/** The contract's Store on SQLite: a write is one transaction with its decision record, durable when it returns. */
import { randomBytes } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import type { Lookup } from '../../decide/conditions/condition.ts'
import {
  createdObject,
  type Permit,
  type PermitKind,
  type RestsOn,
  updatedObject,
} from '../../decide/permits/permit.ts'
import { USERS } from '../../decide/policy.ts'
import type { StoredObject } from '../../resources/object.ts'
import type {
  Counted,
  CreateOptions,
  Kept,
  ListedObject,
  ObjectQuery,
  ReplayKey,
  Store,
  WriteOptions,
} from '../contract.ts'
import { StaleObject } from '../errors.ts'
import type { ReadBounds } from '../lists/read-bounds.ts'
import { ParsedObjects } from '../parse-stored.ts'
import type { GroupCommits } from './commits/commits.ts'
import type { SqliteReplays } from './commits/idempotency-keys.ts'
import type { SqliteOutbox } from './commits/outbox.ts'
import { answering, renewStatistics } from './database.ts'
import type { SqliteCounters } from './directory/attempts.ts'
import { type NamedValues, PROBED } from './layout/meta.ts'
import type { SqliteProbe } from './probe.ts'
import type { Lookups } from './query/lookups.ts'
import type { SharedReads } from './shared-reads.ts'
import type { ObjectTable } from './table.ts'

/** The parts of an open database, shared by the classes that implement the contract. */
export interface SqliteEngine {
  readonly database: DatabaseSync
  readonly reads: SharedReads
  /** By the resource's name. */
  readonly tables: ReadonlyMap<string, ObjectTable>
  readonly lookups: Lookups
  readonly values: NamedValues
  readonly commits: GroupCommits
  readonly outbox: SqliteOutbox
  readonly replays: SqliteReplays
  readonly counters: SqliteCounters
  readonly probe: SqliteProbe
  readonly now: () => Date
  readonly bounds: ReadBounds
}

const SECRET_BYTES = 32

/** Small enough that the statistics soon show that a new table has become large. */
const WRITES_PER_STATISTICS = 1000

/** A resource without a table is a bug, so StoreUnavailable would be wrong. */
export function tableOf({ tables }: SqliteEngine, resource: string): ObjectTable {
  return getOrFail(tables, resource)
}

export function getOrFail<T>(tables: ReadonlyMap<string, T>, resource: string): T {
  const table = tables.get(resource)
  if (!table) throw new Error(`the store has no resource \`${resource}\``)
  return table
}

export class SqliteStore implements Store {
  readonly #engine: SqliteEngine
  readonly #parsed = new ParsedObjects()
  #writes = 0

  constructor(engine: SqliteEngine) {
    this.#engine = engine
  }

  get(resource: string, id: string): StoredObject | undefined {
    const table = tableOf(this.#engine, resource)
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

  async list(resource: string, query: ObjectQuery): Promise<readonly ListedObject[]> {
    const table = tableOf(this.#engine, resource)
    const { listMs: ms } = this.#engine.bounds
    return answering(() => table.lists.list(query, { ms }))
  }

  async count(resource: string, query: Pick<ObjectQuery, 'where' | 'filter'>): Promise<Counted> {
    const table = tableOf(this.#engine, resource)
    const { countMs: ms } = this.#engine.bounds
    return answering(() => table.lists.countAtLeast(query, { ms }))
  }

  lookup(lookup: Lookup): boolean {
    return answering(() => this.#engine.lookups.holds(lookup))
  }

  atOnce<T>(work: () => T): T {
    return this.#engine.reads.run(work)
  }

  async lookupAfter(permit: Permit<'create'> | Permit<'update'>, lookup: Lookup): Promise<boolean> {
    const { commits, lookups } = this.#engine
    const work = () => {
      if (permit.kind === 'create') this.#insert(permit, {})
      else this.#change(permit, {})
      return lookups.holds(lookup)
    }
    return commits.undone(() => answering(work))
  }

  async kept(key: ReplayKey): Promise<Kept | undefined> {
    return answering(() => this.#engine.replays.find(key))
  }

  async create(permit: Permit<'create'>, options: CreateOptions = {}): Promise<StoredObject> {
    return this.#write(permit, options, () => {
      const created = this.#insert(permit, options)
      if (options.replay) this.#engine.replays.keep(options.replay, created)
      return created
    })
  }

  async update(permit: Permit<'update'>, options: WriteOptions = {}): Promise<StoredObject> {
    return this.#write(permit, options, () => this.#change(permit, options))
  }

  async delete(permit: Permit<'delete'>, options: WriteOptions = {}): Promise<void> {
    const table = tableOf(this.#engine, permit.resource)
    await this.#write(permit, options, () => {
      if (!table.delete(permit.id, permit.version)) throw new StaleObject()
    })
  }

  async secret(name: string): Promise<Uint8Array> {
    const { commits, values } = this.#engine
    const kept = answering(() => values.secret(name))
    return kept ?? commits.write(() => answering(() => values.keepSecret(name, randomBytes(SECRET_BYTES))))
  }

  async ping(): Promise<void> {
    const { values, probe } = this.#engine
    answering(() => values.mark(PROBED))
    await probe.ask()
  }

  async close(): Promise<void> {
    const { database, commits } = this.#engine
    commits.flush()
    if (database.isOpen) answering(() => database.close())
  }

  #insert(permit: Permit<'create'>, options: WriteOptions): StoredObject {
    const created = createdObject(permit, this.#timeOf(options))
    tableOf(this.#engine, permit.resource).insert(created)
    return created
  }

  #change(permit: Permit<'update'>, options: WriteOptions): StoredObject {
    const { resource, id, version, document } = permit
    const updatedAt = this.#timeOf(options)
    const createdAt = tableOf(this.#engine, resource).update({ id, version, updatedAt, document })
    if (createdAt === undefined) throw new StaleObject()
    return updatedObject(permit, { createdAt }, updatedAt)
  }

  async #write<T>({ restsOn }: Permit<PermitKind>, { record }: WriteOptions, change: () => T): Promise<T> {
    const { commits, outbox } = this.#engine
    const work = () => {
      this.#refuseChanged(restsOn)
      const changed = change()
      if (record !== undefined) outbox.add(record)
      return changed
    }
    const written = await commits.write(() => answering(work))
    this.#countWrite()
    return written
  }

  /** Sees the writes that were made before in the same group. */
  #refuseChanged({ lookups, caller }: RestsOn): void {
    const engine = this.#engine
    // Without users records, every caller is as before.
    const sameCaller = !caller || engine.tables.get(USERS)?.version(caller.id) === caller.version
    const same = sameCaller && lookups.every(({ lookup, holds }) => engine.lookups.holds(lookup) === holds)
    if (!same) throw new StaleObject()
  }

  #timeOf({ time }: WriteOptions): string {
    return time ?? this.#engine.now().toISOString()
  }

  #countWrite(): void {
    this.#writes += 1
    if (this.#writes % WRITES_PER_STATISTICS === 0) renewStatistics(this.#engine.database)
  }
}
