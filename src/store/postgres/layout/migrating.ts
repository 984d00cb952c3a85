/** A transaction that changes the layout of the database, one instance at a time. */

import pg from 'pg'
import type { ConnectionSettings } from '../../contract.ts'
import type { Ask, SqlValue } from '../../sql/statement.ts'
import { clientOptions } from '../connections/client-options.ts'

/** The advisory lock of migrations: any number that no other program uses. */
export const MIGRATION_LOCK = 7_255_311

/**
 * When two instances start together, the second one waits and finds everything done. The connection is of its own and
 * has no time-outs: an index of a large table takes its time.
 */
export async function migrating(
  url: string,
  settings: ConnectionSettings,
  work: (ask: Ask) => Promise<void>,
): Promise<void> {
  const client = new pg.Client({ ...clientOptions(url, settings), pipeline: false } as pg.ClientConfig)
  // The statement that runs is rejected too.
  client.on('error', () => undefined)
  await client.connect()
  try {
    await client.query('begin; set local statement_timeout = 0; set local lock_timeout = 0')
    await client.query(`select pg_advisory_xact_lock(${MIGRATION_LOCK})`)
    await work(async ({ text, values }) => {
      return (await client.query<SqlValue[]>({ text, values: [...values], rowMode: 'array' })).rows
    })
    await client.query('commit')
  } finally {
    await client.end()
  }
}
