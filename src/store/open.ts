/**
 * Opens a database with its engine. No code outside src/store/ names an engine: a new engine is a folder here and a
 * line in ENGINES.
 */
import { existsSync } from 'node:fs'
import { open } from 'node:fs/promises'
import type { ConnectionSettings, OpenedStore, OpenOptions, StoreEngine, WritePlace } from './contract.ts'
import type { DatabaseCopy, DatabasePlace } from './copies.ts'
import type { StoreUnavailable } from './errors.ts'
import type { ReadBounds } from './lists/read-bounds.ts'
import type { Examined, ObjectReader } from './object-reader.ts'
import { type PolicyVersions, policyVersionsIn } from './policy-versions.ts'
import { completedUrl, faultOfUrl, hasPassword, nameOfUrl } from './postgres/connections/url.ts'
import { type SigningKeys, signingKeysIn } from './signing-keys.ts'

interface EngineEntry {
  /** The beginning of its DATABASE_URL, and the form. */
  readonly scheme: RegExp
  readonly form: string
  readonly read: (url: string) => LocatedStore | UrlFault
  readonly exists: (location: string) => boolean
  /** The first bytes of its files, if a database is a file. */
  readonly fileHeader?: string
  readonly load: () => Promise<StoreEngine>
}

interface LocatedStore {
  readonly name: string
  readonly location: string
  readonly hasPassword?: boolean
}

/** The rest of a sentence about DATABASE_URL, which says what to do. */
interface UrlFault {
  readonly fault: string
  /** The URL with what it lacks, and without its password. */
  readonly completed?: string | undefined
}

const SQLITE_URL = /^sqlite:(?:\/\/)?(?<file>.+)$/

const ENGINES = {
  sqlite: {
    scheme: /^sqlite:./,
    form: 'sqlite:<file>',
    read: (url) => inFile(SQLITE_URL.exec(url)?.groups?.file ?? ''),
    exists: existsSync,
    // https://sqlite.org/fileformat.html#the_database_header
    fileHeader: 'SQLite format 3\0',
    load: loadSqlite,
  },
  postgres: {
    scheme: /^postgres(?:ql)?:/,
    form: 'postgres://<user>:<password>@<host>:<port>/<database>',
    read: (url) => {
      const fault = faultOfUrl(url)
      return fault === undefined
        ? { name: nameOfUrl(url), location: url, hasPassword: hasPassword(url) }
        : { fault, completed: completedUrl(url) }
    },
    // Nobody can tell before it is opened.
    exists: () => true,
    load: async () => (await import('./postgres/open.ts')).postgres,
  },
} as const satisfies Readonly<Record<string, EngineEntry>>

/** Of a database that other machines can use; `<words>` are the reader's, and quoted for a shell. */
export const EXAMPLE_URL = `'${ENGINES.postgres.form}?sslmode=verify-full'`

type EngineName = keyof typeof ENGINES

export interface Database extends LocatedStore {
  readonly engine: EngineName
  /** For messages: without a password. */
  readonly name: string
  /** For the engine: may have a password. */
  readonly location: string
  readonly connections?: ConnectionSettings
  readonly writer?: WritePlace
  readonly reads?: ReadBounds
}

/** The database that a URL names, or the URL's fault. */
export function readDatabaseUrl(url: string): Database | UrlFault {
  for (const [engine, entry] of Object.entries<EngineEntry>(ENGINES)) {
    if (!entry.scheme.test(url)) continue
    const read = entry.read(url)
    return 'fault' in read ? read : { engine: engine as EngineName, ...read }
  }
  const forms = Object.values(ENGINES).map(({ form }) => form)
  return { fault: `names a database that is not supported; set it to ${forms.join(' or ')}` }
}

function inFile(file: string): LocatedStore {
  return { name: file, location: file }
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
        return { engine: engine as EngineName, ...inFile(file) }
      }
    }
    return undefined
  } finally {
    await handle.close()
  }
}

/** The default database of a server. */
export function databaseIn(folder: string): Database {
  return { engine: 'sqlite', ...inFile(`${folder}/sallyport.db`) }
}

/** The settings that name the database, for messages. */
export function settingsOf(database: Pick<Database, 'engine'>): string {
  return isFile(database) ? 'DATA_DIR and DATABASE_URL' : 'DATABASE_URL'
}

/** Whether the database is a file, which its owner alone can read. */
export function isFile({ engine }: Pick<Database, 'engine'>): boolean {
  return 'fileHeader' in ENGINES[engine]
}

/** Whether other processes can read what a process writes. */
export function isShared({ location }: Pick<Database, 'location'>): boolean {
  return location !== ':memory:'
}

export function databaseExists({ engine, location }: Database): boolean {
  return ENGINES[engine].exists(location)
}

/**
 * Migrates the database to what the resources declare. Throws StoreUnavailable if it can't be opened, and UnfitDatabase
 * if its content doesn't fit (a field is newly declared unique but its values aren't; the database is of a later
 * version).
 */
export async function openDatabase(
  database: Database,
  options: Omit<OpenOptions, keyof StoreOptions>,
): Promise<OpenedStore> {
  const { engine, location } = database
  return (await ENGINES[engine].load()).open(location, { ...options, ...usageOf(database) })
}

type StoreOptions = Pick<OpenOptions, 'connections' | 'writer' | 'reads'>

function usageOf({ connections, writer, reads }: Database): StoreOptions {
  return { ...(connections && { connections }), ...(writer && { writer }), ...(reads && { reads }) }
}

/**
 * What is wrong with a database, beside its servers. `processes`: how many open connections, over all instances. Throws
 * StoreUnavailable, or UnfitDatabase.
 */
export async function examineDatabase(
  { engine, location, connections = { most: 10, pooler: 'none' } }: Database,
  processes: number,
): Promise<Examined> {
  return (await ENGINES[engine].load()).examine(location, { connections, processes })
}

/**
 * The layout of a database in a file, which stays as it is; undefined where there is no such file. Throws an error that
 * says why it can't be told.
 */
export async function storedLayout({ engine, location }: Pick<Database, 'engine' | 'location'>) {
  return (await ENGINES[engine].load()).layoutOf(location)
}

/** The command that fixes what kept the database from being opened; undefined if no command does. */
export async function fixOfDatabase({ engine, location }: Database, { cause }: StoreUnavailable) {
  return (await ENGINES[engine].load()).fixOf(location, cause)
}

/**
 * Opens a database that a server has migrated, and may have open. Doesn't change the layout, because the caller's
 * schemas may differ from the server's. Throws StoreUnavailable, or UnfitDatabase if a server must migrate it first.
 */
export async function openDatabaseBeside(
  database: Database,
  options: Omit<OpenOptions, 'indexFields' | keyof StoreOptions>,
): Promise<OpenedStore> {
  const { engine, location } = database
  return (await ENGINES[engine].load()).openBeside(location, { ...options, ...usageOf(database) })
}

/**
 * Opens what the database keeps of published policies, and creates what is missing. Undefined for a database that can't
 * keep them for other processes. Throws StoreUnavailable.
 */
export async function openPolicyVersions(database: Database): Promise<PolicyVersions | undefined> {
  const { engine, location, writer } = database
  if (!isShared(database)) return undefined
  return policyVersionsIn(await (await ENGINES[engine].load()).openInstances(location, 'versions', writer))
}

/** Opens the database read-only. Throws StoreUnavailable. */
export async function openReader({ engine, location }: Database): Promise<ObjectReader> {
  return (await ENGINES[engine].load()).openReader(location)
}

async function loadSqlite() {
  return (await import('./sqlite/open.ts')).sqlite
}

/**
 * Copies a database file beside running servers. `folder`: for the copy, which goes with it. Throws StoreUnavailable.
 */
export async function copyDatabase({ location }: Database, folder: string): Promise<DatabaseCopy> {
  return (await loadSqlite()).copy(location, folder)
}

/** A place for the copy of a database file. Throws OccupiedDatabase. */
export async function placeDatabase({ location }: Database): Promise<DatabasePlace> {
  return (await loadSqlite()).place(location)
}

/** On connections of their own; creates what is missing. Throws StoreUnavailable. */
export async function openSigningKeys({ engine, location, writer }: Database): Promise<SigningKeys> {
  return signingKeysIn(await (await ENGINES[engine].load()).openInstances(location, 'keys', writer))
}
