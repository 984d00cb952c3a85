/** Copies a database file with SQLite's own backup: one reader, which blocks no writer. */
import { closeSync, createWriteStream, existsSync, openSync } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { pipeline } from 'node:stream/promises'
import { COPY, type CopyFacts, type DatabaseCopy, type DatabasePlace, NotACopy, OccupiedDatabase } from '../copies.ts'
import { StoreUnavailable, UnfitDatabase } from '../errors.ts'
import { quoteName } from '../sql/statement.ts'
import { inTransaction, openReadOnly } from './database.ts'
import { layoutOf, refuseLaterLayout } from './layout/migrate.ts'
import { OBJECT_TABLES } from './layout/schema.ts'

/**
 * All pages are read in one step: between two steps a write could change pages, and the copy would begin again. A reader
 * of a write-ahead log sees one state and blocks nobody (https://sqlite.org/wal.html#concurrency).
 */
const ALL_PAGES = 0x7fff_ffff
/** A server may be deleting its write-ahead log at its end. */
const BUSY_MS = 10_000

/** The copy stands in the folder, which must exist. Throws StoreUnavailable. */
export async function copySqlite(location: string, folder: string): Promise<DatabaseCopy> {
  if (!existsSync(location)) throw new StoreUnavailable(new Error('there is no such file'))
  const file = join(folder, COPY)
  try {
    closeSync(openSync(file, 'wx', 0o600))
    await copyPages(location, file)
    return { file, facts: factsOf(file) }
  } catch (error) {
    throw error instanceof StoreUnavailable ? error : new StoreUnavailable(error)
  }
}

/** With the right to write, so that SQLite may make the side files that the readers of a running server need. */
async function copyPages(file: string, copy: string): Promise<void> {
  const source = new DatabaseSync(file, { timeout: BUSY_MS })
  try {
    await backup(source, copy, { rate: ALL_PAGES })
  } finally {
    source.close()
  }
}

/** Throws if the file is damaged: such a copy would be no help. */
function factsOf(copy: string): CopyFacts {
  const database = openReadOnly(copy, { immutable: true })
  try {
    refuseDamage(database)
    const texts = (sql: string) =>
      database
        .prepare(sql)
        .all()
        .map((row) => String(Object.values(row)[0]))
    const number = (sql: string) => Number(Object.values(database.prepare(sql).get() ?? {})[0] ?? 0)
    const names = new Set(texts("select name from sqlite_schema where type = 'table'"))
    const waiting = names.has('outbox') ? number('select count(*) from outbox') : 0
    return {
      layout: layoutOf(database),
      objects: Object.fromEntries(
        texts(OBJECT_TABLES).map((one) => [one, number(`select count(*) from ${quoteName(one)}`)]),
      ),
      outbox: {
        lastWrite: names.has('outbox') ? number("select seq from sqlite_sequence where name = 'outbox'") : 0,
        waiting,
        firstWaiting: waiting > 0 ? number('select min(sequence) from outbox') : undefined,
      },
      policySequence: names.has('policy_versions') ? number('select max(number) from policy_versions') : 0,
      signingKeys: names.has('signing_keys') ? texts('select text from signing_keys') : [],
    }
  } finally {
    database.close()
  }
}

function refuseDamage(database: DatabaseSync): void {
  const [found] = database.prepare('pragma quick_check(1)').all()
  if (found?.quick_check !== 'ok') throw new Error(`the database file is damaged: ${found?.quick_check}`)
}

/** The folder of the file must exist. Throws OccupiedDatabase if the file exists. */
export function placeSqlite(file: string): DatabasePlace {
  if (existsSync(file)) throw new OccupiedDatabase(`the database ${file} exists already`)
  let finished = false
  return {
    take: (content) => pipeline(content, createWriteStream(file, { flags: 'wx', mode: 0o600, flush: true })),
    async finish() {
      if (!existsSync(file)) throw new NotACopy(`the part \`${COPY}\` is missing`)
      prepare(file)
      await using handle = await open(file, 'r+')
      await handle.sync()
      finished = true
    },
    async abandon() {
      if (!finished) for (const side of ['', '-wal', '-shm']) await rm(file + side, { force: true })
    },
  }
}

/** Far more writes than a server makes between a copy and its end, and far below 2^53 after many copies. */
const WRITES_LEFT_OUT = 1_000_000_000

function prepare(file: string): void {
  const database = openCopy(file)
  try {
    refuseLaterLayout(database)
    inTransaction(database, () => {
      database.exec('delete from leases')
      leaveOut(database, 'outbox')
      const { name: kept } = database.prepare("select name from sqlite_schema where name = 'kept_changes'").get() ?? {}
      if (kept === undefined) return
      // Whoever has seen what the server wrote after the copy begins anew.
      const since = leaveOut(database, 'changes')
      database.prepare('update kept_changes set since = ? where since < ?').run(since, since)
    })
  } catch (error) {
    throw error instanceof UnfitDatabase ? error : new StoreUnavailable(error)
  } finally {
    database.close()
  }
}

/** The numbers of the rows that come now begin after the returned one, which no server has used. */
function leaveOut(database: DatabaseSync, table: string): number {
  const seq = Number(database.prepare('select seq from sqlite_sequence where name = ?').get(table)?.seq ?? 0)
  database.prepare('delete from sqlite_sequence where name = ?').run(table)
  const before = (Math.floor(seq / WRITES_LEFT_OUT) + 1) * WRITES_LEFT_OUT
  database.prepare('insert into sqlite_sequence (name, seq) values (?, ?)').run(table, before)
  return before
}

function openCopy(file: string): DatabaseSync {
  const database = new DatabaseSync(file)
  try {
    refuseDamage(database)
    return database
  } catch (error) {
    database.close()
    throw new NotACopy(`the part \`${COPY}\` is no whole database (${(error as Error).message})`)
  }
}
