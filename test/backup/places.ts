/** Empty databases of each engine, as a server and `restore` get them. */
import { randomUUID } from 'node:crypto'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { type Database, readDatabaseUrl } from '../../src/store/open.ts'
import { sharedPostgres } from '../postgres.ts'

export interface Engine {
  readonly name: 'sqlite' | 'postgres'
  /** The URL of a database without any table. `folder`: for files. */
  empty(folder: string): Promise<string>
}

export const ENGINES: readonly Engine[] = [
  {
    name: 'sqlite',
    empty: async (folder) => `sqlite:${join(await mkdtemp(join(folder, 'database-')), 'sallyport.db')}`,
  },
  {
    name: 'postgres',
    empty: async () => {
      const { url } = await sharedPostgres()
      const name = `b${randomUUID().replaceAll('-', '')}`
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      await client.query(`create database ${name} template template0`)
      await client.end()
      return url.replace(/\/postgres$/, `/${name}`)
    },
  },
]

export function databaseAt(url: string): Database {
  const found = readDatabaseUrl(url)
  if ('fault' in found) throw new Error(found.fault)
  return found
}
