/** The rows of one table on their way into PostgreSQL, by COPY. Throws the driver's errors. */
import { once } from 'node:events'
import type pg from 'pg'
import { type CopyStreamQuery, from as copyFrom } from 'pg-copy-streams'
import { quoteName } from '../../sql/quote.ts'
import type { CopiedTable } from './tables-of-copy.ts'

export class RowsInto {
  readonly #stream: CopyStreamQuery
  /** Never resolves. The stream tells of an error once, and isn't destroyed by it. */
  readonly #failed: Promise<never>

  constructor(client: pg.Client, { table, columns }: CopiedTable) {
    this.#stream = client.query(copyFrom(`copy ${quoteName(table)} (${columns.map(quoteName).join()}) from stdin`))
    this.#failed = new Promise((_, reject) => this.#stream.once('error', reject))
    // Whoever writes next, or waits for the end, gets it.
    this.#failed.catch(() => undefined)
  }

  async write(chunk: Uint8Array): Promise<void> {
    await Promise.race([this.#failed, Promise.resolve()])
    if (!this.#stream.write(chunk)) await Promise.race([this.#failed, once(this.#stream, 'drain')])
  }

  /** Resolves when the rows are in the transaction. */
  async end(): Promise<void> {
    await Promise.race([this.#failed, Promise.resolve()])
    const finished = once(this.#stream, 'finish')
    this.#stream.end()
    await Promise.race([this.#failed, finished])
  }
}
