/** A server on a database of each engine, and the database behind its back. */
import { DatabaseSync } from 'node:sqlite'
import { startTestServer, type TestServer, type TestServerOptions } from '../server.ts'
import { createSchema } from '../store/postgres-schemas.ts'

export interface OnEngine {
  readonly server: TestServer
  /** By name: of three members, and of somebody with each other role. */
  readonly tokens: Readonly<Record<string, string>>
  /** Runs a statement as an operator may, or as a disk may change the data. */
  run(sql: string): Promise<void>
  /** DATABASE_URL. */
  readonly url: string
  /** The settings of commands beside the server. */
  readonly env: Readonly<Record<string, string>>
  stop(): Promise<void>
}

const PEOPLE = { alice: 'member', bob: 'member', carol: 'member', ada: 'admin', sue: 'support', otto: 'auditor' }

export const ENGINES: readonly (readonly [string, (options: TestServerOptions) => Promise<OnEngine>])[] = [
  ['SQLite', onSqlite],
  ['PostgreSQL', onPostgres],
]

async function onSqlite(options: TestServerOptions): Promise<OnEngine> {
  const server = await startTestServer(options)
  const file = `${server.folder}/data/sallyport.db`
  const run = async (sql: string) => {
    const database = new DatabaseSync(file)
    database.exec(sql)
    database.close()
  }
  const url = `sqlite:${file}`
  return { server, tokens: await tokensOf(server), run, url, env: besideOf(server, url), stop: () => server.stop() }
}

async function tokensOf(server: TestServer): Promise<OnEngine['tokens']> {
  const entries = Object.entries(PEOPLE).map(async ([name, role]) => [name, await server.token(name, role)] as const)
  return Object.fromEntries(await Promise.all(entries))
}

function besideOf({ folder }: TestServer, url: string) {
  return {
    DATA_DIR: `${folder}/data`,
    DATABASE_URL: url,
    POLICIES: `${folder}/policies`,
    SCHEMAS: `${folder}/schemas`,
  }
}

async function onPostgres(options: TestServerOptions): Promise<OnEngine> {
  const schema = await createSchema()
  const server = await startTestServer({ ...options, env: { ...options.env, DATABASE_URL: schema.url } })
  const raw = await schema.raw()
  return {
    server,
    tokens: await tokensOf(server),
    url: schema.url,
    env: besideOf(server, schema.url),
    run: async (sql) => {
      await raw.query(sql)
    },
    stop: async () => {
      await server.stop()
      await schema.remove()
    },
  }
}
