/** Databases for tests: each is a schema of its own on the server of this process. */
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import type { ConnectionSettings } from '../../src/store/contract.ts'
import { StoreUnavailable } from '../../src/store/errors.ts'
import { openPostgres } from '../../src/store/postgres/open.ts'
import { openPostgresReader } from '../../src/store/postgres/reader/reader.ts'
import { sharedPostgres } from '../postgres.ts'
import type { TestDatabase } from './engine.ts'
import type { Opened } from './fixture.ts'

const SETTINGS: ConnectionSettings = { most: 4, pooler: 'none' }

export interface TestSchema extends TestDatabase {
  readonly url: string
  /** A connection of its own to the same schema, as an operator has it. */
  raw(): Promise<pg.Client>
}

/** Schemas that were emptied: their tables are there already, so they open faster. */
const emptied: string[] = []

export async function createSchema(settings = SETTINGS): Promise<TestSchema> {
  const server = await sharedPostgres()
  const name = emptied.pop() ?? (await makeSchema(server.url))
  const url = `${server.url}?options=-c%20search_path%3D${name}`
  const opened: Opened[] = []
  const clients: pg.Client[] = []
  const raw = async () => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    clients.push(client)
    return client
  }
  return {
    url,
    open: async (setup) => {
      const one = await openPatiently(() => openPostgres({ url, connections: settings, ...setup }))
      opened.push(one)
      return one
    },
    openReader: () => openPostgresReader(url),
    damage: async (id, text) => {
      await (await raw()).query('update "objects_Things" set document = $2 where id = $1', [id, text])
    },
    raw,
    remove: async () => {
      for (const client of clients) await client.end()
      for (const { store } of opened) await store.close()
      await onServer(server.url, emptying(name))
      emptied.push(name)
    },
  }
}

/** On a busy machine, a new connection may take longer than an opening waits for it. */
export async function openPatiently<T>(open: () => Promise<T>, again = 5): Promise<T> {
  try {
    return await open()
  } catch (error) {
    if (again === 0 || !(error instanceof StoreUnavailable)) throw error
    return openPatiently(open, again - 1)
  }
}

async function makeSchema(url: string): Promise<string> {
  const name = `s${randomUUID().replaceAll('-', '')}`
  await onServer(url, `create schema ${name}`)
  return name
}

/**
 * Deletes all rows and keeps the tables, so that the next database opens faster. Rows of objects go first, because a
 * deleted user leaves an account.
 */
export function emptying(schema: string): string {
  return `do $$ declare one text; begin
    for one in select tablename from pg_tables where schemaname = '${schema}'
      order by tablename like 'objects%' desc loop
      execute format('delete from %I.%I', '${schema}', one);
    end loop;
    if to_regclass('${schema}.outbox') is not null then
      alter table ${schema}.outbox alter column sequence restart;
    end if;
  end $$`
}

let client: Promise<pg.Client> | undefined

async function onServer(url: string, text: string): Promise<void> {
  client ??= connected(url)
  await (await client).query(text)
}

async function connected(url: string): Promise<pg.Client> {
  const made = new pg.Client({ connectionString: url })
  // It is left open, and ends with the process.
  made.on('error', () => undefined)
  await made.connect()
  return made
}
