/** What the driver gets: the parts of DATABASE_URL, time-outs, and how numbers are read. */
import type pg from 'pg'
import { parseIntoClientConfig } from 'pg-connection-string'
import type { ConnectionSettings } from '../../contract.ts'
import { StoreUnavailable } from '../../errors.ts'
import type { Ask, SqlValue } from '../../sql/statement.ts'
import { DIAL_MS, Dialer } from './hosts.ts'
import { readPostgresUrl } from './url.ts'

export const DEFAULT_SETTINGS: ConnectionSettings = { most: 10, pooler: 'none' }

/**
 * Begins a small change. A pooler passes these time-outs on, unlike those of a session. A backend that waits for a lock
 * doesn't notice that its client has gone: without an end, each repeat would leave one more behind.
 */
export const BEGIN_BOUNDED = 'begin; set local lock_timeout = 2000; set local statement_timeout = 5000'

/** After which a session ends a statement. */
export const STATEMENT_MS = 10_000

const INT8 = 20
const NUMERIC = 1700

/** Numbers of eight bytes: counts, versions and times are far below 2^53. */
const TYPES = {
  getTypeParser: (oid: number) => (oid === INT8 || oid === NUMERIC ? Number : parserOf(oid)),
}

const [BOOLEAN, INT4, BYTES] = [16, 23, 17]

function parserOf(oid: number): (text: string) => unknown {
  if (oid === BOOLEAN) return (text) => text === 't'
  if (oid === INT4) return Number
  if (oid === BYTES) return (text) => Buffer.from(text.slice(2), 'hex')
  return (text) => text
}

/** Throws StoreUnavailable for a certificate or key that can't be read. */
export function dialerOf(url: string, { pooler }: ConnectionSettings): Dialer {
  const session = {
    statement_timeout: STATEMENT_MS,
    lock_timeout: 2000,
    idle_in_transaction_session_timeout: 5000,
  }
  const { each, target } = readPostgresUrl(url)
  const place = { target, each: each.map((one) => partsOf(one) as pg.ClientConfig) }
  return new Dialer(url, place, {
    ...(pooler === 'none' && session),
    application_name: 'sallyport',
    connectionTimeoutMillis: DIAL_MS,
    keepAlive: true,
    pipeline: true,
    types: TYPES,
  } as pg.ClientConfig)
}

function partsOf(url: string): ReturnType<typeof parseIntoClientConfig> {
  try {
    return parseIntoClientConfig(url)
  } catch (error) {
    throw new StoreUnavailable(error)
  }
}

interface Unlimited {
  readonly url: string
  readonly settings: ConnectionSettings
  readonly begin: string
}

/** Work in one transaction, on a connection of its own without a time-out for statements. */
export async function withoutLimit<T>({ url, settings, begin }: Unlimited, work: (ask: Ask) => Promise<T>): Promise<T> {
  const client = await dialerOf(url, settings).open({ pipeline: false } as pg.ClientConfig)
  try {
    await client.query(`${begin}; set local statement_timeout = 0`)
    const result = await work(async ({ text, values }) => {
      return (await client.query<SqlValue[]>({ text, values: [...values], rowMode: 'array' })).rows
    })
    await client.query('commit')
    return result
  } finally {
    await client.end()
  }
}
