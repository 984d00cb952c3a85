/** A filter of the server as a part of Kysely's queries, on a real PostgreSQL and a real SQLite. */

import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { expect } from 'chai'
import { type Dialect, Kysely, PostgresDialect, SqliteDialect, sql } from 'kysely'
import pg from 'pg'
import { fragment } from '../../packages/client/src/adapters/sql.ts'
import { sharedPostgres } from '../postgres.ts'
import { startTestServer, type TestServer } from '../server.ts'

interface Tables {
  readonly my_notes: { readonly id: number; readonly owner: string; readonly archived: boolean | number }
}

const DIALECTS: Readonly<Record<'postgresql' | 'sqlite', () => Promise<Dialect>>> = {
  postgresql: async () => {
    const { url } = await sharedPostgres()
    return new PostgresDialect({ pool: new pg.Pool({ connectionString: url, max: 1 }) })
  },
  sqlite: async () => new SqliteDialect({ database: likeBetterSqlite(new DatabaseSync(':memory:')) }),
}

/** Kysely's dialect speaks to better-sqlite3. */
function likeBetterSqlite(database: DatabaseSync) {
  const prepare = (text: string) => {
    const statement = database.prepare(text)
    const values = (parameters: readonly unknown[]) => parameters as SQLInputValue[]
    return {
      reader: text.startsWith('select'),
      all: (parameters: readonly unknown[]) => statement.all(...values(parameters)),
      run: (parameters: readonly unknown[]) => {
        const { changes, lastInsertRowid } = statement.run(...values(parameters))
        return { changes, lastInsertRowid }
      },
      iterate: (parameters: readonly unknown[]) => statement.iterate(...values(parameters)),
    }
  }
  return { prepare, close: () => database.close() }
}

describe("a filter in Kysely's queries", () => {
  let server: TestServer

  before(async () => {
    server = await startTestServer({ demo: true })
  })
  after(() => server.stop())

  for (const [dialect, open] of Object.entries(DIALECTS)) {
    it(`finds the rows among other conditions (${dialect})`, async () => {
      const db = new Kysely<Tables>({ dialect: await open() })
      try {
        await sql`create table my_notes (id integer, owner text, archived boolean)`.execute(db)
        await sql`insert into my_notes values (1, 'alice', false), (2, 'bob', false), (3, 'alice', true), (4, null, false)`.execute(
          db,
        )
        const { body } = await server.ask('POST', '/access/v1/filter', {
          token: await server.token('shop', 'pdp-client'),
          body: {
            subject: { type: 'user', id: 'alice' },
            action: { name: 'read' },
            resource: { type: 'notes' },
            options: { sql: { dialect, table: 'n', columns: { ownerId: 'owner' }, firstParameter: 5 } },
          },
        })
        const found = await db
          .selectFrom('my_notes as n')
          .select('n.id')
          .where('n.id', '<', 100)
          .where(fragment(sql<boolean>, body.sql))
          .where('n.archived', '=', dialect === 'sqlite' ? 0 : false)
          .execute()
        expect(found).to.deep.equal([{ id: 1 }])
      } finally {
        await sql`drop table if exists my_notes`.execute(db)
        await db.destroy()
      }
    })
  }

  it('has each value at its place, once or twice', () => {
    const tag = (strings: TemplateStringsArray, ...values: unknown[]) => ({ strings: [...strings], values })
    const twice = { text: '(a = $3::text and b = $4 and a collate "C" = $3)', parameters: ['x', 7] }
    expect(fragment(tag, twice).values).to.deep.equal(['x', 7, 'x'])
    expect(fragment(tag, { text: 'a = ? and b = ?', parameters: ['x', 7] }).values).to.deep.equal(['x', 7])
    expect(fragment(tag, { text: 'true', parameters: [] })).to.deep.equal({ strings: ['true'], values: [] })
    expect(() => fragment(tag, { text: 'a = ? and b = ?', parameters: ['x'] })).to.throw(TypeError)
  })
})
