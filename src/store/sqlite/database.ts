/** Opens a database file with Node's own SQLite. */
import { closeSync, openSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { isOfContract, ReadTooLong, StoreUnavailable } from '../errors.ts'
import { PastBound } from './query/work.ts'

/** How long a statement waits for another process's lock before it fails. The whole thread waits with it. */
const BUSY_TIMEOUT_MS = 1000

/**
 * Pages kept in memory, so that frequently used objects aren't read from the file again. SQLite's own default is 2 MiB.
 */
export const CACHE = `pragma cache_size = -${32 * 1024}`

/** A missing file is created with access only for its owner (0600); SQLite gives its side files the same mode. */
export function openDatabaseFile(file: string): DatabaseSync {
  if (file !== ':memory:') closeSync(openSync(file, 'a', 0o600))
  const database = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS, enableForeignKeyConstraints: true })
  try {
    // FULL: a commit waits for the disk, in WAL mode one fsync (https://sqlite.org/pragma.html#pragma_synchronous).
    database.exec(`pragma journal_mode = wal; pragma synchronous = full; ${CACHE}`)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/**
 * Opens an existing file; creates and changes nothing. `immutable`: nobody has the file open. It keeps SQLite from
 * creating a write-ahead log, which a reader couldn't remove again (https://sqlite.org/wal.html#read_only_databases).
 */
export function openReadOnly(file: string, { immutable }: { readonly immutable: boolean }): DatabaseSync {
  const url = pathToFileURL(resolve(file))
  if (immutable) url.searchParams.set('immutable', '1')
  return new DatabaseSync(url, { readOnly: true, timeout: BUSY_TIMEOUT_MS })
}

/** Another one for another file under the same name; undefined without a file. */
export function identityOf(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false })
  return found && `${found.dev} ${found.ino}`
}

export function moved(file: string): StoreUnavailable {
  return new StoreUnavailable(
    new Error(`the database ${file} was moved, deleted or replaced; put it back, or start the server again`),
  )
}

/** One transaction: all of the work is durable, or none of it. */
export function inTransaction<T>(database: DatabaseSync, work: () => T): T {
  database.exec('begin immediate')
  try {
    const result = work()
    database.exec('commit')
    return result
  } catch (error) {
    if (database.isTransaction) database.exec('rollback')
    throw error
  }
}

/** What the work finds in a transaction that is undone: nothing of it is stored. */
export function inUndoneTransaction<T>(database: DatabaseSync, work: () => T): T {
  database.exec('begin immediate')
  try {
    return work()
  } finally {
    if (database.isTransaction) database.exec('rollback')
  }
}

/** Statistics are read with the schema, so other connections read them again only if the schema changes. */
const CHANGE_SCHEMA = 'create view "statistics renewed" as select 1; drop view "statistics renewed"'

/**
 * Updates the statistics of tables that have changed much; the engine chooses indexes by them. Never throws: the
 * written data is durable, and the next round tries again.
 */
export function renewStatistics(database: DatabaseSync): void {
  try {
    const before = statisticsOf(database)
    // 0x10002 looks at all tables (https://sqlite.org/pragma.html#pragma_optimize); the limit bounds the rows read.
    database.exec('pragma analysis_limit = 400; pragma optimize = 0x10002')
    if (statisticsOf(database) !== before) inTransaction(database, () => database.exec(CHANGE_SCHEMA))
  } catch {
    // Another process holds the lock, or the engine can't answer: the next query will report it.
  }
}

function statisticsOf(database: DatabaseSync): unknown {
  if (!database.prepare("select 1 from sqlite_schema where name = 'sqlite_stat1'").get()) return undefined
  return database
    .prepare("select group_concat(tbl || ' ' || coalesce(idx, '') || ' ' || stat) as all_of_it from sqlite_stat1")
    .get()?.all_of_it
}

/** https://sqlite.org/rescode.html */
const SQLITE_CONSTRAINT_PRIMARYKEY = 1555
const SQLITE_CONSTRAINT_UNIQUE = 2067
const SQLITE_BUSY = 5

/** Runs the work, and converts every error to one of the contract. */
export function answering<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw ofContract(error)
  }
}

/** The error of the contract that says what this one means. */
export function ofContract(error: unknown): unknown {
  if (isOfContract(error)) return error
  return error instanceof PastBound ? new ReadTooLong(error) : new StoreUnavailable(error)
}

/** A document that isn't JSON, met by a statement that looks into documents. */
export function isMalformedJson(error: unknown): boolean {
  return error instanceof Error && error.message === 'malformed JSON'
}

/** Whether another row has the value of a unique column, or the primary key. */
export function breaksUnique(error: unknown): boolean {
  if (!(error instanceof Error) || !('errcode' in error)) return false
  return error.errcode === SQLITE_CONSTRAINT_UNIQUE || error.errcode === SQLITE_CONSTRAINT_PRIMARYKEY
}

/** Whether another connection has the lock. The lowest byte is the primary code of the others (SQLITE_BUSY_SNAPSHOT …). */
export function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === SQLITE_BUSY
}
