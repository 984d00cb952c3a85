/** Puts the copied rows into an empty PostgreSQL database, in one transaction: all of them, or nothing. */

import pg from 'pg'
import { type DatabasePlace, lastNumberBefore, NotACopy, OccupiedDatabase } from '../../copies.ts'
import { laterLayout } from '../../sql/layouts.ts'
import type { SqlValue } from '../../sql/statement.ts'
import { clientOptions, DEFAULT_SETTINGS } from '../connections/client-options.ts'
import { asOfContract, isOfOneStatement } from '../failures.ts'
import { LAYOUT, MIGRATION_LOCK, migrate } from '../layout/migrate.ts'
import { TABLE_PREFIX } from '../layout/names.ts'
import { objectTable } from '../layout/tables.ts'
import { RowsInto } from './rows-into.ts'
import { isCopied, OPTIONAL_TABLES, TABLES_PART, type TablesPart, tableIn } from './tables-of-copy.ts'

/** Names of tables and columns; far more than there are. */
const MOST_NAMES_BYTES = 4 * 1024 * 1024

const BEGIN = `begin; set local statement_timeout = 0; set local lock_timeout = 0;
  set local idle_in_transaction_session_timeout = 0`

/** The folders of a restore follow when the tables are committed. */
const OCCUPIED =
  'the database has tables already; name an empty one, or, if a restore that was ended has made them, ' +
  'drop the database, create it again and restore again'

/** Throws OccupiedDatabase or StoreUnavailable. */
export async function placePostgres(url: string): Promise<DatabasePlace> {
  const client = new pg.Client({ ...clientOptions(url, DEFAULT_SETTINGS), pipeline: false } as pg.ClientConfig)
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query(BEGIN)
    // A server that starts meanwhile waits.
    await client.query(`select pg_advisory_xact_lock(${MIGRATION_LOCK})`)
    const { rows } = await client.query('select tablename from pg_tables where schemaname = current_schema() limit 1')
    if (rows.length > 0) throw new OccupiedDatabase(OCCUPIED)
    return new PlaceOfTables(client)
  } catch (error) {
    await client.end().catch(() => undefined)
    throw toldOfCopy(error)
  }
}

class PlaceOfTables implements DatabasePlace {
  readonly #client: pg.Client
  #tables: TablesPart['tables'] = []
  #lastWrite = 0
  /** The table whose rows come in now. */
  #open: { readonly at: number; readonly rows: RowsInto } | undefined

  constructor(client: pg.Client) {
    this.#client = client
  }

  async take(name: string, content: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      if (name === TABLES_PART) return await this.#makeTables(await textIn(content))
      const rows = await this.#rowsOf(Number(/^(?<at>\d{1,6})\/\d{1,9}$/.exec(name)?.groups?.at))
      for await (const chunk of content) await rows.write(chunk)
    } catch (error) {
      throw toldOfCopy(error)
    }
  }

  async #makeTables(text: string): Promise<void> {
    const { layout, lastWrite, tables } = JSON.parse(text) as TablesPart
    if (layout > LAYOUT) throw laterLayout(layout, LAYOUT)
    const unknown = tables.find(({ table }) => !isCopied(table))
    if (unknown) throw new NotACopy(`this version doesn't know the table \`${unknown.table}\` of the copy`)
    const names = new Set(tables.map(({ table }) => table))
    await migrate((asked) => this.#ask(asked.text, asked.values), [])
    for (const statement of OPTIONAL_TABLES) if (names.has(tableIn(statement) ?? '')) await this.#ask(statement)
    for (const name of names) if (name.startsWith(TABLE_PREFIX)) await this.#ask(objectTable(name))
    // A server migrates the rows when it starts.
    await this.#ask('update layout set number = $1', [layout])
    this.#tables = tables
    this.#lastWrite = lastWrite
  }

  async #rowsOf(at: number): Promise<RowsInto> {
    if (this.#open?.at === at) return this.#open.rows
    await this.#endRows()
    const copied = this.#tables[at]
    if (!copied) throw new NotACopy('the copy has rows of a table that it does not name')
    const rows = new RowsInto(this.#client, copied)
    this.#open = { at, rows }
    return rows
  }

  async #endRows(): Promise<void> {
    await this.#open?.rows.end()
    this.#open = undefined
  }

  async finish(): Promise<void> {
    try {
      if (this.#tables.length === 0) throw new NotACopy(`the part \`${TABLES_PART}\` is missing`)
      await this.#endRows()
      await this.#renumber()
      await this.#ask('commit')
      await this.#client.end()
    } catch (error) {
      throw toldOfCopy(error)
    }
  }

  async abandon(): Promise<void> {
    // The transaction ends with its connection.
    await this.#client.end().catch(() => undefined)
  }

  async #renumber(): Promise<void> {
    const next = lastNumberBefore(this.#lastWrite) + 1
    await this.#ask(`alter table outbox alter column sequence restart with ${next}`)
  }

  async #ask(text: string, values: readonly SqlValue[] = []): Promise<readonly (readonly SqlValue[])[]> {
    return (await this.#client.query<SqlValue[]>({ text, values: [...values], rowMode: 'array' })).rows
  }
}

/** Names only: the texts of rows aren't collected. */
async function textIn(content: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of content) {
    bytes += chunk.length
    if (bytes > MOST_NAMES_BYTES) throw new NotACopy(`the part \`${TABLES_PART}\` is too large`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function toldOfCopy(error: unknown): Error {
  if (error instanceof NotACopy || error instanceof OccupiedDatabase) return error
  if (error instanceof SyntaxError) return new NotACopy(`the part \`${TABLES_PART}\` is not JSON`)
  if (isOfOneStatement(error)) return new NotACopy(`the rows of the copy don't fit (${(error as Error).message})`)
  return asOfContract(error)
}
