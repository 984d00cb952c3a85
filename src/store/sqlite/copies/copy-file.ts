/** Copies a database file beside a running server, with SQLite's own backup: one reader, which blocks no writer. */
import { closeSync, createReadStream, existsSync, openSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import type { CopiedPart, CopyFacts, DatabaseCopy } from '../../copies.ts'
import { StoreUnavailable } from '../../errors.ts'
import { quoteName } from '../../sql/quote.ts'
import { openReadOnly } from '../database.ts'
import { layoutOf } from '../layout/migrate.ts'
import { OBJECT_TABLES } from '../layout/schema.ts'

/** The only part. */
export const FILE_PART = 'sallyport.db'

/**
 * All pages are read in one step: between two steps a write could change pages, and the copy would begin again. A reader
 * of a write-ahead log sees one state and blocks nobody (https://sqlite.org/wal.html#concurrency).
 */
const ALL_PAGES = 0x7fff_ffff
/** A server may be deleting its write-ahead log at its end. */
const BUSY_MS = 10_000

/** The copy stands in the folder, which must exist. Throws StoreUnavailable. */
export async function copySqlite(file: string, folder: string): Promise<DatabaseCopy> {
  if (!existsSync(file)) throw new StoreUnavailable(new Error('there is no such file'))
  const copy = join(folder, FILE_PART)
  try {
    closeSync(openSync(copy, 'wx', 0o600))
    await copyPages(file, copy)
    const facts = factsOf(copy)
    return { parts: () => partsOf(copy), facts: () => facts, close: async () => {} }
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

async function* partsOf(copy: string): AsyncGenerator<CopiedPart> {
  yield { name: FILE_PART, bytes: statSync(copy).size, content: createReadStream(copy, { highWaterMark: 1024 * 1024 }) }
}

/** Throws if the file is damaged: such a copy would be no help. */
function factsOf(copy: string): CopyFacts {
  const database = openReadOnly(copy, { immutable: true })
  try {
    refuseDamage(database)
    const number = (sql: string) => Number(Object.values(database.prepare(sql).get() ?? {})[0] ?? 0)
    const names = new Set(database.prepare("select name from sqlite_schema where type = 'table'").all().map(nameOf))
    const tables = database.prepare(OBJECT_TABLES).all().map(nameOf)
    const waiting = names.has('outbox') ? number('select count(*) from outbox') : 0
    return {
      layout: layoutOf(database),
      objects: Object.fromEntries(tables.map((one) => [one, number(`select count(*) from ${quoteName(one)}`)])),
      outbox: {
        lastWrite: names.has('outbox') ? number("select seq from sqlite_sequence where name = 'outbox'") : 0,
        waiting,
        firstWaiting: waiting > 0 ? number('select min(sequence) from outbox') : undefined,
      },
      policySequence: names.has('policy_versions') ? number('select max(number) from policy_versions') : 0,
      signingKeys: names.has('signing_keys') ? database.prepare('select text from signing_keys').all().map(textOf) : [],
    }
  } finally {
    database.close()
  }
}

export function refuseDamage(database: DatabaseSync): void {
  const [found] = database.prepare('pragma quick_check(1)').all()
  if (found?.quick_check !== 'ok') throw new Error(`the database file is damaged: ${found?.quick_check}`)
}

function nameOf({ name }: Record<string, unknown>): string {
  return String(name)
}

function textOf({ text }: Record<string, unknown>): string {
  return String(text)
}
