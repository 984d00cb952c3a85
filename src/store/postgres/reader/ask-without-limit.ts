/** A statement that may read a whole table, on a connection of its own: it locks no writer out, and may take its time. */

import pg from 'pg'
import type { Row, SqlValue, Statement } from '../../sql/statement.ts'
import { clientOptions } from '../connections/client-options.ts'
import { answering } from '../failures.ts'

/** Throws errors of the contract. */
export function askWithoutLimit(url: string, { text, values }: Statement): Promise<readonly Row[]> {
  return answering(async () => {
    const options = { ...clientOptions(url, { most: 1, pooler: 'transaction' }), pipeline: false }
    const client = new pg.Client(options as pg.ClientConfig)
    // The statement that runs is rejected too.
    client.on('error', () => undefined)
    await client.connect()
    try {
      await client.query('begin read only; set local statement_timeout = 0')
      const { rows } = await client.query<SqlValue[]>({ text, values: [...values], rowMode: 'array' })
      await client.query('commit')
      return rows
    } finally {
      await client.end()
    }
  })
}
