/**
 * Opens a database with its engine. No code outside src/store/ names an engine: a new engine is a folder here and a
 * line in ENGINES.
 */
import { existsSync } from 'node:fs'
import { open } from 'node:fs/promises'
import type { ObjectReader, OpenedStore, OpenOptions, StoreEngine } from './contract.ts'

interface EngineEntry {
  /** The form of its DATABASE_URL; the group `name` is the database. */
  readonly url: RegExp
  readonly form: string
  readonly exists: (database: string) => boolean
  /** The first bytes of its files, if a database is a file. */
  readonly fileHeader?: string
  readonly load: () => Promise<StoreEngine>
}

const ENGINES = {
  sqlite: {
    url: /^sqlite:(?:\/\/)?(?<name>.+)$/,
    form: 'sqlite:<file>',
    exists: existsSync,
    // https://sqlite.org/fileformat.html#the_database_header
    fileHeader: 'SQLite format 3\0',
    load: async () => (await import('./sqlite/open.ts')).sqlite,
  },
} as const satisfies Readonly<Record<string, EngineEntry>>

type EngineName = keyof typeof ENGINES

/** A database: messages and its engine use `name`. */
export interface Database {
  readonly engine: EngineName
  readonly name: string
}

/** The forms of DATABASE_URL. */
export const DATABASE_URL_FORMS = Object.values(ENGINES)
  .map(({ form }) => form)
  .join(' or ')

/** Undefined for a URL that no engine takes. */
export function readDatabaseUrl(url: string): Database | undefined {
  for (const [engine, entry] of Object.entries(ENGINES)) {
    const name = entry.url.exec(url)?.groups?.name
    if (name !== undefined) return { engine: engine as EngineName, name }
  }
  return undefined
}

/**
 * The database in a file, recognized by its first bytes; undefined for any other file. Throws what reading the file
 * throws.
 */
export async function databaseOfFile(file: string): Promise<Database | undefined> {
  const handle = await open(file)
  try {
    for (const [engine, { fileHeader }] of Object.entries<EngineEntry>(ENGINES)) {
      const { buffer } = await handle.read(Buffer.alloc(fileHeader?.length ?? 0), { position: 0 })
      if (fileHeader !== undefined && buffer.toString('latin1') === fileHeader) {
        return { engine: engine as EngineName, name: file }
      }
    }
    return undefined
  } finally {
    await handle.close()
  }
}

/** The default database of a server. */
export function databaseIn(folder: string): Database {
  return { engine: 'sqlite', name: `${folder}/sallyport.db` }
}

export function databaseExists({ engine, name }: Database): boolean {
  return ENGINES[engine].exists(name)
}

/**
 * Migrates the database to what the resources declare. Throws StoreUnavailable if it can't be opened, and UnfitDatabase
 * if its content doesn't fit (a field is newly declared unique but its values aren't; the database is of a later
 * version).
 */
export async function openDatabase({ engine, name }: Database, options: OpenOptions): Promise<OpenedStore> {
  return (await ENGINES[engine].load()).open(name, options)
}

/**
 * Opens a database that a server has migrated, and may have open. Doesn't change the layout, because the caller's
 * schemas may differ from the server's. Throws StoreUnavailable, or UnfitDatabase if a server must migrate it first.
 */
export async function openDatabaseBeside(
  { engine, name }: Database,
  options: Omit<OpenOptions, 'indexFields'>,
): Promise<OpenedStore> {
  return (await ENGINES[engine].load()).openBeside(name, options)
}

/** Loads the engine. Resolves with a function that opens the database read-only, or throws StoreUnavailable. */
export async function loadReader({ engine, name }: Database): Promise<() => ObjectReader> {
  const { openReader } = await ENGINES[engine].load()
  return () => openReader(name)
}
