/** Tables as other people have them, in a real PostgreSQL and a real SQLite: plain columns, filled from objects. */

import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import pg from 'pg'
import type { Representation } from '../../../src/resources/resource.ts'
import type { Dialect, Sql } from '../../../src/server/authzen/filter/condition-sql.ts'
import { postgresqlDialect } from '../../../src/server/authzen/filter/postgresql.ts'
import { sqliteDialect } from '../../../src/server/authzen/filter/sqlite.ts'
import { sharedPostgres } from '../../postgres.ts'

/** A column, its type in the database, and its value in a row. */
export interface PlainColumn {
  readonly name: string
  readonly type: string
  readonly inRow: (object: Representation) => unknown
}

export interface PlainTable {
  readonly name: string
  readonly columns: readonly PlainColumn[]
}

/** A database of somebody else. */
export interface ForeignDatabase {
  readonly dialect: Dialect
  run(statement: string): Promise<void>
  create(table: PlainTable): Promise<void>
  /** Replaces all rows. */
  fill(table: PlainTable, objects: readonly Representation[]): Promise<void>
  /** The values of the column of the rows for which the condition is true, in order. */
  select(column: string, table: string, where: Sql): Promise<readonly string[]>
  close(): Promise<void>
}

export function openForeignSqlite(): ForeignDatabase {
  const database = new DatabaseSync(':memory:')
  return {
    dialect: sqliteDialect,
    run: async (statement) => void database.exec(statement),
    create: async (table) => database.exec(createSql(table)),
    fill: async (table, objects) => {
      database.exec(`delete from ${table.name}`)
      if (objects.length === 0) return
      const insert = database.prepare(insertSql(table, objects.length, () => '?'))
      insert.run(...(valuesOf(table, objects) as SQLInputValue[]))
    },
    select: async (column, table, { text, parameters }) => {
      const rows = database.prepare(`select "${column}" as k from ${table} where ${text}`)
      return rows
        .all(...(parameters as SQLInputValue[]))
        .map(({ k }) => String(k))
        .toSorted()
    },
    close: async () => database.close(),
  }
}

let databases = 0

export async function openForeignPostgres(): Promise<ForeignDatabase> {
  const { url } = await sharedPostgres()
  const name = `foreign_${process.pid}_${++databases}`
  const admin = new pg.Client({ connectionString: url })
  await admin.connect()
  await admin.query(`create database ${name}`)
  await admin.end()
  const client = new pg.Client({ connectionString: url.replace(/\/postgres$/, `/${name}`) })
  await client.connect()
  return {
    dialect: postgresqlDialect,
    run: async (statement) => void (await client.query(statement)),
    create: async (table) => void (await client.query(createSql(table))),
    fill: async (table, objects) => {
      await client.query(`delete from ${table.name}`)
      if (objects.length === 0) return
      const insert = insertSql(table, objects.length, (i) => `$${i}`)
      await client.query(insert, [...valuesOf(table, objects)])
    },
    select: async (column, table, { text, parameters }) => {
      const { rows } = await client.query(`select "${column}"::text as k from ${table} where ${text}`, [...parameters])
      return rows.map(({ k }) => String(k)).toSorted()
    },
    close: () => client.end(),
  }
}

function createSql({ name, columns }: PlainTable): string {
  return `create table ${name} (${columns.map((column) => `"${column.name}" ${column.type}`).join(', ')})`
}

function insertSql({ name, columns }: PlainTable, rows: number, placeholder: (i: number) => string): string {
  const row = (n: number) => `(${columns.map((_, i) => placeholder(n * columns.length + i + 1)).join(', ')})`
  return `insert into ${name} values ${Array.from({ length: rows }, (_, n) => row(n)).join(', ')}`
}

function valuesOf({ columns }: PlainTable, objects: readonly Representation[]): readonly unknown[] {
  return objects.flatMap((object) => columns.map(({ inRow }) => inRow(object)))
}
