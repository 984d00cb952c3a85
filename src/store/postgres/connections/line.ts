/** One connection at a time: opened when it is needed, and opened again after it was lost. */

import type pg from 'pg'
import type { Row } from '../../sql/statement.ts'
import { BEGIN_BOUNDED } from './client-options.ts'
import { type Asked, Connection, type Patience } from './connection.ts'

const [FIRST_WAIT_MS, LONGEST_WAIT_MS] = [50, 1000]

export interface LineOptions extends Patience {
  readonly client: pg.ClientConfig
}

export class Line {
  readonly #options: LineOptions
  #connection: Promise<Connection> | undefined
  #failures = 0
  #retryAt = 0
  #lastError: unknown
  #closed = false

  constructor(options: LineOptions) {
    this.#options = options
  }

  /** The rows of a statement's result. Rejects with the driver's errors. */
  async ask(asked: Asked): Promise<readonly Row[]> {
    return (await (await this.connection()).send(asked)).rows
  }

  /** Statements that change something, sent with their transaction at once. Returns the rows of the first one. */
  async change(first: Asked, ...others: readonly Asked[]): Promise<readonly Row[]> {
    const connection = await this.connection()
    const begun = connection.tell(BEGIN_BOUNDED)
    const changed = [first, ...others].map((asked) => connection.send(asked))
    const ended = connection.tell('commit')
    for (const outcome of await Promise.allSettled([begun, ...changed, ended]))
      if (outcome.status === 'rejected') throw outcome.reason
    const [{ command }, rows] = [await ended, (await changed[0])?.rows ?? []]
    if (command !== 'COMMIT') throw new Error('the transaction was not committed')
    return rows
  }

  /** The open connection. While the server can't be reached, most calls fail at once. */
  async connection(): Promise<Connection> {
    if (this.#closed) throw new Error('the store is closed')
    if (this.#connection) return this.#connection
    if (this.isWaiting) throw this.#lastError
    const opening = this.#open(() => this.#forget(opening))
    this.#connection = opening
    return opening
  }

  /** Whether calls fail at once, because the server couldn't be reached a moment ago. */
  get isWaiting(): boolean {
    return this.#connection === undefined && performance.now() < this.#retryAt
  }

  /** Ends the connection; the next statement opens another one. */
  async drop(connection: Connection): Promise<void> {
    connection.drop()
    if ((await this.#connection?.catch(() => undefined)) === connection) this.#connection = undefined
  }

  async close(): Promise<void> {
    this.#closed = true
    const connection = await this.#connection?.catch(() => undefined)
    await connection?.close()
  }

  async #open(onEnd: () => void): Promise<Connection> {
    try {
      const connection = await Connection.open(this.#options.client, this.#options, onEnd)
      this.#failures = 0
      return connection
    } catch (error) {
      onEnd()
      this.#lastError = error
      const wait = Math.min(FIRST_WAIT_MS * 2 ** this.#failures, LONGEST_WAIT_MS)
      this.#failures += 1
      this.#retryAt = performance.now() + wait * (0.5 + Math.random() / 2)
      throw error
    }
  }

  /** An older connection may end while a newer one is in use. */
  #forget(ended: Promise<Connection>): void {
    if (this.#connection === ended) this.#connection = undefined
  }
}
