/** Behind PgBouncer in transaction mode: nothing is kept in a session, so the contract holds. */
import { expect } from 'chai'
import pg from 'pg'
import { openPostgres } from '../../src/store/postgres/open.ts'
import { openPostgresReader } from '../../src/store/postgres/reader/reader.ts'
import { startPgBouncer } from '../pgbouncer.ts'
import { sharedPostgres } from '../postgres.ts'
import { soak } from '../runs.ts'
import { storeContract } from './contract.ts'
import type { TestDatabase } from './engine.ts'
import { failure, type Opened, RESOURCES } from './fixture.ts'
import { emptying } from './postgres-schemas.ts'

const SETTINGS = { most: 4, pooler: 'transaction' } as const

storeContract({ name: 'PostgreSQL behind PgBouncer', keeps: 'shared', share: soak(0.05, 0), create })

let bouncer: Promise<number> | undefined
let made = 0
/** PgBouncer takes no `search_path`, so a schema isn't enough. */
const emptied: string[] = []

async function create(): Promise<TestDatabase & { readonly url: string }> {
  const name = emptied.pop() ?? (await makeDatabase())
  const opened: Opened[] = []
  const url = `postgres://sallyport@127.0.0.1:${await port()}/${name}`
  return {
    url,
    open: async (setup) => {
      const one = await openPostgres({ url, connections: SETTINGS, ...setup })
      opened.push(one)
      return one
    },
    openReader: () => openPostgresReader(url),
    damage: (id, text) => runIn(name, 'update "objects_Things" set document = $2 where id = $1', [id, text]),
    remove: async () => {
      for (const { store } of opened) await store.close()
      await runIn(name, emptying('public'))
      emptied.push(name)
    },
  }
}

async function port(): Promise<number> {
  bouncer ??= startPgBouncer(await sharedPostgres())
  return bouncer
}

async function makeDatabase(): Promise<string> {
  made += 1
  await runIn('postgres', `create database pooled${made}`)
  return `pooled${made}`
}

async function runIn(name: string, text: string, values: readonly string[] = []): Promise<void> {
  const client = new pg.Client({ connectionString: (await sharedPostgres()).url.replace(/postgres$/, name) })
  await client.connect()
  await client.query(text, values.length > 0 ? [...values] : undefined)
  await client.end()
}

describe('PostgreSQL behind PgBouncer', () => {
  it('would be refused with settings of a session', async () => {
    const { url, remove } = await create()
    const connections = { ...SETTINGS, pooler: 'none' } as const
    const opening = openPostgres({ url, connections, resources: RESOURCES, now: () => new Date() })
    expect(await failure(opening))
      .to.have.nested.property('cause.message')
      .that.includes('startup parameter')
    await remove()
  })
})
