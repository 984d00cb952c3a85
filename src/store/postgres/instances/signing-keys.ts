/** The contract's SigningKeys on PostgreSQL. Each method is one statement. */
import type { SigningKeys, StoredKeys } from '../../signing-keys.ts'
import { clientOptions, DEFAULT_SETTINGS } from '../connections/client-options.ts'
import type { Row } from '../connections/connection.ts'
import { Line } from '../connections/line.ts'
import { answering, asOfContract } from '../failures.ts'
import { tablesIn } from '../layout/migrate.ts'
import { migrating } from '../layout/migrating.ts'
import type { SqlValue } from '../query/statement.ts'
import { decodeText, encodeText } from '../stored-text.ts'

/** Times in milliseconds since the epoch. */
export const SIGNING_KEYS_TABLE = `create table if not exists signing_keys (
  number bigint primary key, text text not null, created_at bigint not null, tokens_end_at bigint not null)`

/** The database's own clock, in milliseconds. */
const NOW = '(extract(epoch from clock_timestamp()) * 1000)::bigint'

/** Without keys, this is one row that has only the time. */
const READ = `select ${NOW}, k.number, k.text, k.created_at, k.tokens_end_at
  from (select 1) as one left join signing_keys k on true order by k.number`

const ADD = `insert into signing_keys (number, text, created_at, tokens_end_at)
  select $1::bigint, $2::text, ${NOW}, 0
  where $1::bigint = (select coalesce(max(number), 0) + 1 from signing_keys) on conflict do nothing returning number`

const REPLACE = 'update signing_keys set text = $3 where number = $1 and text = $2 returning number'

const NOTE_TOKEN = `update signing_keys set tokens_end_at = greatest(tokens_end_at, ${NOW} + $2::bigint)
  where number = $1 returning number`

const REMOVE = 'delete from signing_keys where number = $1 and number < (select max(number) from signing_keys)'

/** It names no statements, so a pooler may stand between. */
const SETTINGS = { ...DEFAULT_SETTINGS, pooler: 'transaction' } as const

/** Requests with an unknown key wait for a reading, so a lost database is noticed within a second. */
const SILENCE_MS = 900

/** On one connection. Creates a missing table. Throws StoreUnavailable. */
export async function openPostgresSigningKeys(url: string): Promise<SigningKeys> {
  const line = new Line({ client: clientOptions(url, SETTINGS), silenceMs: SILENCE_MS })
  try {
    const present = await tablesIn((asked) => line.ask(asked))
    if (!present.has('signing_keys')) {
      await migrating(url, SETTINGS, async (ask) => {
        await ask({ text: SIGNING_KEYS_TABLE, values: [] })
      })
    }
    return new PostgresSigningKeys(line)
  } catch (error) {
    await line.close()
    throw asOfContract(error)
  }
}

class PostgresSigningKeys implements SigningKeys {
  readonly #line: Line

  constructor(line: Line) {
    this.#line = line
  }

  async read(): Promise<StoredKeys> {
    const rows = await this.#ask(READ)
    const keys = rows.filter(([, number]) => number !== null)
    return {
      now: Number(rows[0]?.[0]),
      keys: keys.map(([, number, text, createdAt, tokensEndAt]) => ({
        number: Number(number),
        text: decodeText(String(text)),
        createdAt: Number(createdAt),
        tokensEndAt: Number(tokensEndAt),
      })),
    }
  }

  async add(number: number, text: string): Promise<boolean> {
    return (await this.#change(ADD, number, encodeText(text))).length === 1
  }

  async replace(number: number, from: string, to: string): Promise<boolean> {
    return (await this.#change(REPLACE, number, encodeText(from), encodeText(to))).length === 1
  }

  async noteToken(number: number, lastsMs: number): Promise<boolean> {
    return (await this.#change(NOTE_TOKEN, number, Math.ceil(lastsMs))).length === 1
  }

  async remove(number: number): Promise<void> {
    await this.#change(REMOVE, number)
  }

  close(): Promise<void> {
    return this.#line.close()
  }

  #ask(text: string, ...values: readonly SqlValue[]): Promise<readonly Row[]> {
    return answering(() => this.#line.ask({ text, values }))
  }

  #change(text: string, ...values: readonly SqlValue[]): Promise<readonly Row[]> {
    return answering(() => this.#line.change({ text, values }))
  }
}
