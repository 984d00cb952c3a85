/**
 * Copies the rows of a PostgreSQL database beside running servers: COPY in one transaction that sees one state and
 * writes nothing. docs/decisions/0065 says why not pg_dump.
 */

import pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import type { CopiedPart, CopyFacts, DatabaseCopy } from '../../copies.ts'
import { quoteName } from '../../sql/quote.ts'
import type { SqlValue } from '../../sql/statement.ts'
import { clientOptions, DEFAULT_SETTINGS } from '../connections/client-options.ts'
import { asOfContract } from '../failures.ts'
import { TABLE_PREFIX } from '../layout/names.ts'
import { decodeText } from '../stored-text.ts'
import { type CopiedTable, isCopied, TABLES_PART, type TablesPart } from './tables-of-copy.ts'

const PART_BYTES = 4 * 1024 * 1024

const BEGIN = `begin isolation level repeatable read, read only; set local statement_timeout = 0;
  set local lock_timeout = 0; set local idle_in_transaction_session_timeout = 0`

/** Throws StoreUnavailable. */
export async function copyPostgres(url: string): Promise<DatabaseCopy> {
  const client = clientFor(url)
  try {
    await client.connect()
    const lastWrite = await betweenWrites(url, () => seeOneState(client))
    return await CopyOfTables.begin(client, lastWrite)
  } catch (error) {
    await client.end().catch(() => undefined)
    throw asOfContract(error)
  }
}

/**
 * No server writes during this work, so the number of the last write is exact: the sequence of the outbox belongs to no
 * transaction. Servers wait for a few milliseconds.
 */
async function betweenWrites<T>(url: string, work: () => Promise<T>): Promise<T> {
  const client = clientFor(url)
  await client.connect()
  try {
    await client.query('begin; lock table turns in share mode')
    return await work()
  } finally {
    await client.end()
  }
}

/** Returns the number of the last write in this state. */
async function seeOneState(client: pg.Client): Promise<number> {
  await client.query(BEGIN)
  const text = 'select case when is_called then last_value else 0 end from outbox_sequence_seq'
  const { rows } = await client.query<SqlValue[]>({ text, rowMode: 'array' })
  return Number(rows[0]?.[0])
}

function clientFor(url: string): pg.Client {
  const client = new pg.Client({ ...clientOptions(url, DEFAULT_SETTINGS), pipeline: false } as pg.ClientConfig)
  // The statement that runs is rejected too.
  client.on('error', () => undefined)
  return client
}

class CopyOfTables implements DatabaseCopy {
  readonly #client: pg.Client
  readonly #tables: readonly CopiedTable[]
  readonly #facts: CopyFacts

  private constructor(client: pg.Client, tables: readonly CopiedTable[], facts: CopyFacts) {
    this.#client = client
    this.#tables = tables
    this.#facts = facts
  }

  static async begin(client: pg.Client, lastWrite: number): Promise<CopyOfTables> {
    const ask = async (text: string) => (await client.query<SqlValue[]>({ text, values: [], rowMode: 'array' })).rows
    const present = (await ask('select tablename from pg_tables where schemaname = current_schema()')).map(String)
    const copied = present.filter(isCopied).sort()
    // Until the end, nobody changes their columns or removes one.
    await ask(`lock table ${copied.map(quoteName).join()} in access share mode`)
    const tables: CopiedTable[] = []
    for (const table of copied) tables.push({ table, columns: await columnsOf(client, table) })
    return new CopyOfTables(client, tables, await factsOf(ask, copied, lastWrite))
  }

  facts(): CopyFacts {
    return this.#facts
  }

  async *parts(): AsyncGenerator<CopiedPart> {
    try {
      const list: TablesPart = {
        layout: this.#facts.layout,
        lastWrite: this.#facts.outbox.lastWrite,
        tables: this.#tables,
      }
      yield partOf(TABLES_PART, [Buffer.from(JSON.stringify(list))])
      for (const [at, table] of this.#tables.entries()) yield* this.#rowsOf(table, at)
    } catch (error) {
      throw asOfContract(error)
    }
  }

  async *#rowsOf({ table, columns }: CopiedTable, at: number): AsyncGenerator<CopiedPart> {
    const rows = this.#client.query(copyTo(`copy ${quoteName(table)} (${columns.map(quoteName).join()}) to stdout`))
    let [number, bytes] = [0, 0]
    let pending: Buffer[] = []
    for await (const chunk of rows as AsyncIterable<Buffer>) {
      pending.push(chunk)
      bytes += chunk.length
      if (bytes < PART_BYTES) continue
      yield partOf(`${at}/${number}`, pending)
      ;[number, bytes, pending] = [number + 1, 0, []]
    }
    if (bytes > 0) yield partOf(`${at}/${number}`, pending)
  }

  async close(): Promise<void> {
    await this.#client.end().catch(() => undefined)
  }
}

function partOf(name: string, chunks: readonly Buffer[]): CopiedPart {
  const bytes = chunks.reduce((sum, { length }) => sum + length, 0)
  return {
    name,
    bytes,
    content: (async function* () {
      yield* chunks
    })(),
  }
}

async function columnsOf(client: pg.Client, table: string): Promise<readonly string[]> {
  const text = `select attname from pg_attribute
    where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`
  const { rows } = await client.query<SqlValue[]>({ text, values: [quoteName(table)], rowMode: 'array' })
  return rows.map(([name]) => String(name))
}

type AskAll = (text: string) => Promise<readonly (readonly SqlValue[])[]>

async function factsOf(ask: AskAll, tables: readonly string[], lastWrite: number): Promise<CopyFacts> {
  const number = async (text: string) => Number((await ask(text))[0]?.[0] ?? 0)
  const objects: Record<string, number> = {}
  for (const table of tables.filter((name) => name.startsWith(TABLE_PREFIX))) {
    objects[table] = await number(`select count(*) from ${quoteName(table)}`)
  }
  const [[waiting, first] = []] = await ask('select count(*), min(sequence) from outbox')
  const keys = tables.includes('signing_keys') ? await ask('select text from signing_keys') : []
  return {
    layout: await number('select number from layout'),
    objects,
    outbox: {
      lastWrite,
      waiting: Number(waiting),
      firstWaiting: first === null || first === undefined ? undefined : Number(first),
    },
    policySequence: tables.includes('policy_versions') ? await number('select max(number) from policy_versions') : 0,
    signingKeys: keys.map(([text]) => decodeText(String(text))),
  }
}
