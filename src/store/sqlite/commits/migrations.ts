/** The contract's Migrations on SQLite. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type { StoredObject } from '../../../resources/object.ts'
import { LeaseLost, StaleObject, UnfitObject, UniqueTaken } from '../../errors.ts'
import type {
  Batch,
  Changed,
  FittedSchemas,
  Migrations,
  NewMigration,
  PlannedChange,
  StoredMigration,
} from '../../migrations.ts'
import { answering, inTransaction } from '../database.ts'
import type { ObjectTable, ObjectVersion } from '../table.ts'
import type { GroupCommits } from './commits.ts'
import { Lease } from './lease.ts'
import { readFitted, readStored } from './migration-state.ts'
import type { SqliteOutbox } from './outbox.ts'

/** After a crash, the next run waits so long. */
const HOLD_MS = 2000

/**
 * Batches don't wait for the disk: after a loss of power the last ones may be gone, each as a whole with its records and
 * its place, and the next run does them again. The end of the run waits, and so makes all of them durable
 * (https://sqlite.org/pragma.html#pragma_synchronous).
 */
const RELAXED = 'pragma synchronous = normal; pragma wal_autocheckpoint = 10000'
const DURABLE = 'pragma synchronous = full; pragma wal_autocheckpoint = 1000'

const BEGIN = `insert into migrations (number, name, digest, begun_at, objects) values (?, ?, ?, ?, 0)
  on conflict do nothing`

const NOTE_FITTED = `insert into fitted_schemas (one, digest, schemas) values (1, ?, ?)
  on conflict (one) do update set digest = excluded.digest, schemas = excluded.schemas`

interface Parts {
  readonly database: DatabaseSync
  readonly tables: ReadonlyMap<string, ObjectTable>
  readonly commits: GroupCommits
  readonly outbox: SqliteOutbox
  readonly now: () => Date
}

export class SqliteMigrations implements Migrations {
  readonly #parts: Parts
  readonly #lease: Lease
  readonly #statements = new Map<string, StatementSync>()

  constructor(parts: Parts) {
    const { database, commits, now } = parts
    this.#parts = parts
    this.#lease = new Lease(database, commits, { name: 'migration', holdMs: HOLD_MS, now })
  }

  async stored(): Promise<readonly StoredMigration[]> {
    return answering(() => readStored(this.#parts.database))
  }

  async fitted(): Promise<FittedSchemas | undefined> {
    return answering(() => readFitted(this.#parts.database))
  }

  async noteFitted({ digest, schemas }: FittedSchemas): Promise<void> {
    answering(() => this.#run(NOTE_FITTED, digest, schemas))
  }

  async isEmpty(resources: readonly string[]): Promise<boolean> {
    return answering(() => resources.every((resource) => this.#tableOf(resource).page(undefined, 1).length === 0))
  }

  async objects(resource: string, after: string | undefined, limit: number): Promise<readonly StoredObject[]> {
    return answering(() => this.#tableOf(resource).page(after, limit))
  }

  hold(holder: string): Promise<boolean> {
    return this.#lease.hold(holder)
  }

  release(holder: string): Promise<void> {
    answering(() => this.#parts.database.exec(DURABLE))
    return this.#lease.release(holder)
  }

  async begin(holder: string, migrations: readonly NewMigration[], time: string): Promise<void> {
    this.#holding(holder, () => {
      for (const { number, name, digest } of migrations) this.#run(BEGIN, number, name, digest, time)
    })
  }

  async change(batch: Batch): Promise<void> {
    const { resource, upTo, after = '', end } = batch
    const table = this.#tableOf(resource)
    answering(() => this.#parts.database.exec(RELAXED))
    this.#holding(batch.holder, () => {
      const versions = table.versionsIn(batch.after, upTo)
      const changed = changesOf(table, versions, batch)
      for (const one of changed) apply(table, one, batch)
      const { records, reached } = end(changed)
      for (const record of records) this.#parts.outbox.add(record)
      const move = 'update migrations set resource = ?, id = ?, objects = objects + ? where number = ?'
      const last = upTo ?? versions.at(-1)?.id ?? after
      for (const { number, objects } of reached) this.#run(move, resource, last, objects, number)
    })
  }

  async end(holder: string, numbers: readonly number[], fitted: FittedSchemas, time: string): Promise<void> {
    answering(() => this.#parts.database.exec(DURABLE))
    this.#holding(holder, () => {
      for (const number of numbers) this.#run('update migrations set ended_at = ? where number = ?', time, number)
      this.#run(NOTE_FITTED, fitted.digest, fitted.schemas)
    })
  }

  /** In one transaction, which the lease of another process undoes. */
  #holding(holder: string, work: () => void): void {
    answering(() =>
      inTransaction(this.#parts.database, () => {
        if (!this.#lease.isOf(holder)) throw new LeaseLost()
        work()
      }),
    )
  }

  #tableOf(resource: string): ObjectTable {
    const table = this.#parts.tables.get(resource)
    if (!table) throw new Error(`the store has no resource \`${resource}\``)
    return table
  }

  #run(sql: string, ...values: readonly SQLInputValue[]): void {
    this.#prepared(sql).run(...values)
  }

  /** Prepared when it is needed: a command may open a database that no server of this version has opened. */
  #prepared(sql: string): StatementSync {
    const statement = this.#statements.get(sql) ?? this.#parts.database.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }
}

interface Versioned extends Changed {
  readonly version: number
}

/** What becomes of the objects that are in the range now: those that were written meanwhile are planned again. */
function changesOf(
  table: ObjectTable,
  versions: readonly ObjectVersion[],
  { planned, plan }: Batch,
): readonly Versioned[] {
  const read = new Map(planned.map((one) => [one.object.id, one]))
  return versions.flatMap(({ id, version }) => {
    const known = read.get(id)
    const change = known?.object.version === version ? known.change : planAgain(table, id, plan)
    return change.kind === 'keep' ? [] : [{ id, version, change }]
  })
}

function planAgain(table: ObjectTable, id: string, plan: Batch['plan']): PlannedChange {
  const object = table.get(id)
  return object ? plan(object) : { kind: 'keep' }
}

function apply(table: ObjectTable, { id, version, change }: Versioned, { resource, time }: Batch): void {
  try {
    const isDone =
      change.kind === 'delete'
        ? table.delete(id, version)
        : table.update({ id, version, updatedAt: time, document: change.document }) !== undefined
    if (!isDone) throw new StaleObject()
  } catch (error) {
    throw error instanceof UniqueTaken ? new UnfitObject(resource, id, error.message) : error
  }
}
