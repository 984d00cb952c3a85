/** A database that instances share, on each engine. */
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadResources } from '../../src/resources/load/load-resources.ts'
import type { OpenedStore } from '../../src/store/contract.ts'
import { type Database, openDatabase, readDatabaseUrl } from '../../src/store/open.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { createSchema } from '../store/postgres-schemas.ts'

const SCHEMAS = new URL('../../schemas', import.meta.url).pathname

export interface SharedDatabase {
  /** DATABASE_URL. */
  readonly url: string
  readonly database: Database
  /** Opens it once more, as another instance does. */
  open(): Promise<OpenedStore>
  remove(): Promise<void>
}

/** By engine: creates an empty database. */
export const DATABASES: Readonly<Record<string, () => Promise<SharedDatabase>>> = {
  SQLite: async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sallyport-database-'))
    return shared(`sqlite:${join(folder, 'shared.db')}`, () => removeFolder(folder))
  },
  PostgreSQL: async () => {
    const schema = await createSchema()
    return shared(schema.url, () => schema.remove())
  },
}

function shared(url: string, remove: () => Promise<void>): SharedDatabase {
  const database = readDatabaseUrl(url)
  if ('fault' in database) throw new Error(database.fault)
  return {
    url,
    database,
    open: async () => openDatabase(database, { resources: await loadResources(SCHEMAS), now: () => new Date() }),
    remove,
  }
}
