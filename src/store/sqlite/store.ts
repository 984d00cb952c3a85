/** The contract's Store on SQLite: a write is one transaction with its decision record, durable when it returns. */
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
  Replay,
  ReplayKey,
  Store,
  WriteOptions,
} from '../contract.ts'
import { ReplayTaken, StaleObject } from '../errors.ts'
import type { ReadBounds } from '../lists/read-bounds.ts'
import { ParsedObjects } from '../parse-stored.ts'
import type { SqlCounters } from '../sql/attempts.ts'
import { findReplay, forgottenAt, keptOf, SWEPT_AT_ONCE, sweepReplays } from '../sql/idempotency-keys.ts'
import { PROBED, readMark, sharedSecret } from '../sql/named-values.ts'
import { addRecord } from '../sql/outbox.ts'
import { type SqlEngine, sql, type Work } from '../sql/statement.ts'
import type { GroupCommits } from './commits.ts'
import { answering, renewStatistics } from './database.ts'
import { DIALECT } from './dialect.ts'
import type { SqliteProbe } from './probe.ts'
import type { Lookups } from './query/lookups.ts'
import type { SharedReads } from './shared-reads.ts'
import type { StatementRunner } from './statements.ts'
import type { ObjectTable } from './table.ts'

/** The parts of an open database, shared by the classes that implement the contract. */
export interface SqliteEngine {
  readonly database: DatabaseSync
  readonly statements: StatementRunner
  readonly sql: SqlEngine
  readonly reads: SharedReads
  /** By the resource's name. */
  readonly tables: ReadonlyMap<string, ObjectTable>
  readonly lookups: Lookups
  readonly commits: GroupCommits
  readonly counters: SqlCounters
  readonly probe: SqliteProbe
  readonly now: () => Date
  readonly bounds: ReadBounds
}

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
      this.#engine.statements.run<unknown>(
        permit.kind === 'create' ? this.#insert(permit, {}) : this.#change(permit, {}),
      )
      return lookups.holds(lookup)
    }
    return commits.undone(() => answering(work))
  }

  async kept(key: ReplayKey): Promise<Kept | undefined> {
    const { statements, now } = this.#engine
    return answering(() => {
      const [row] = statements.ask(findReplay(DIALECT, key, now().getTime()))
      return row && keptOf(row, key.subject)
    })
  }

  async create(permit: Permit<'create'>, options: CreateOptions = {}): Promise<StoredObject> {
    return this.#write(permit, options, this.#insert(permit, options))
  }

  async update(permit: Permit<'update'>, options: WriteOptions = {}): Promise<StoredObject> {
    return this.#write(permit, options, this.#change(permit, options))
  }

  async delete(permit: Permit<'delete'>, options: WriteOptions = {}): Promise<void> {
    const table = tableOf(this.#engine, permit.resource)
    await this.#write(permit, options, table.delete(permit.id, permit.version))
  }

  async secret(name: string): Promise<Uint8Array> {
    return sharedSecret(this.#engine.sql, name)
  }

  async ping(): Promise<void> {
    await this.#engine.sql.ask(readMark(PROBED))
    await this.#engine.probe.ask()
  }

  async close(): Promise<void> {
    const { database, commits } = this.#engine
    commits.flush()
    if (database.isOpen) answering(() => database.close())
  }

  *#insert(permit: Permit<'create'>, options: CreateOptions): Work<StoredObject> {
    const created = createdObject(permit, this.#timeOf(options))
    yield* tableOf(this.#engine, permit.resource).insert(created)
    if (options.replay) yield* keepReplay(options.replay, created, this.#engine.now().getTime())
    return created
  }

  *#change(permit: Permit<'update'>, options: WriteOptions): Work<StoredObject> {
    const { resource, id, version, document } = permit
    const updatedAt = this.#timeOf(options)
    const createdAt = yield* tableOf(this.#engine, resource).update({ id, version, updatedAt, document })
    return updatedObject(permit, { createdAt }, updatedAt)
  }

  /** The change runs at most once. */
  async #write<T>({ restsOn }: Permit<PermitKind>, { record }: WriteOptions, change: Work<T>): Promise<T> {
    const written = await this.#engine.sql.write(() => this.#changing(restsOn, record, change))
    this.#countWrite()
    return written
  }

  *#changing<T>(restsOn: RestsOn, record: string | undefined, change: Work<T>): Work<T> {
    yield* this.#refuseChanged(restsOn)
    const changed = yield* change
    if (record !== undefined) yield addRecord(DIALECT, record)
    return changed
  }

  /** Sees the writes that were made before in the same group. */
  *#refuseChanged({ lookups, caller }: RestsOn): Work<void> {
    const engine = this.#engine
    const users = engine.tables.get(USERS)
    // Without users records, every caller is as before.
    const sameCaller = !caller || (users && (yield* users.version(caller.id))) === caller.version
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

/** Replaces an expired key of the same name. Throws ReplayTaken. */
function* keepReplay({ subject, route, key, fingerprint }: Replay, object: StoredObject, now: number): Work<void> {
  const keep = `insert into replays (subject, route, key, fingerprint, object, at) values ($1, $2, $3, $4, $5, $6)
    on conflict (subject, route, key) do update
    set fingerprint = excluded.fingerprint, object = excluded.object, at = excluded.at where replays.at <= $7
    returning 1`
  const values = [subject, route, key, fingerprint, JSON.stringify(object), now, forgottenAt(now)]
  if ((yield sql(keep, ...values)).length === 0) throw new ReplayTaken()
  yield sweepReplays(DIALECT, now, SWEPT_AT_ONCE)
}
