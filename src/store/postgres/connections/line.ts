/** One connection at a time: opened when it is needed, and opened again after it was lost. */

import type pg from 'pg'
import type { Row, SqlValue } from '../../sql/statement.ts'
import { BEGIN_BOUNDED } from './client-options.ts'
import { type Dialer, streamOf } from './hosts.ts'

const [FIRST_WAIT_MS, LONGEST_WAIT_MS] = [50, 1000]

export interface LineOptions extends LinePatience {
  readonly dialer: Dialer
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
  async ask(asked: SentQuery): Promise<readonly Row[]> {
    return (await (await this.connection()).send(asked)).rows
  }

  /** Statements that change something, sent with their transaction at once. Returns the rows of the first one. */
  async change(first: SentQuery, ...others: readonly SentQuery[]): Promise<readonly Row[]> {
    const connection = await this.connection()
    const begun = connection.command(BEGIN_BOUNDED)
    const changed = [first, ...others].map((asked) => connection.send(asked))
    const ended = connection.command('commit')
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
      const connection = await Connection.open(this.#options.dialer, this.#options, onEnd)
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

// An open connection that takes statements without waiting for the answers of those before (pipelining).

export interface SentQuery {
  readonly text: string
  readonly values: readonly SqlValue[]
  /** Statements with a name are planned once for each connection. */
  readonly name?: string | undefined
}

export interface LinePatience {
  /** The connection is lost when it hasn't answered for so long. */
  readonly silenceMs: number
  /** Asked several times while it is silent: whether the server answers other connections. If not, it is lost at once. */
  readonly answersOthers?: (() => Promise<boolean>) | undefined
}

/** A silence is counted in ticks, so that a busy event loop isn't taken for a silent server. */
const TICKS = 10

export class Connection {
  readonly #client: pg.Client
  readonly #patience: LinePatience
  #unanswered = 0
  #silentTicks = 0
  #watch: NodeJS.Timeout | undefined
  #isCorked = false
  #isAsking = false

  private constructor(client: pg.Client, patience: LinePatience) {
    this.#client = client
    this.#patience = patience
  }

  /** `onEnd` is called when it is lost. */
  static async open(dialer: Dialer, patience: LinePatience, onEnd: () => void): Promise<Connection> {
    const client = await dialer.open({}, onEnd)
    return new Connection(client, patience)
  }

  /** Rejects with the driver's errors. */
  send({ text, values, name }: SentQuery): Promise<pg.QueryArrayResult<SqlValue[]>> {
    return this.#answer(() => {
      return this.#client.query({ text, values: [...values], rowMode: 'array', ...(name && { name }) })
    })
  }

  /** `begin` and the like, which have no rows: the driver takes longer for a statement with options. */
  command(text: string): Promise<Pick<pg.QueryResult, 'command'>> {
    return this.#answer(() => this.#client.query(text))
  }

  async #answer<T>(ask: () => Promise<T>): Promise<T> {
    this.#unanswered += 1
    this.#watch ??= setInterval(() => this.#tick(), this.#patience.silenceMs / TICKS)
    this.#cork()
    try {
      return await ask()
    } finally {
      this.#unanswered -= 1
      this.#silentTicks = 0
      if (this.#unanswered === 0) this.#stopWatch()
    }
  }

  /** Ends the connection without waiting for the server, which may be gone. */
  drop(): void {
    streamOf(this.#client).destroy()
  }

  async close(): Promise<void> {
    await this.#client.end()
  }

  /** Statements that are sent together leave in one call of the system. */
  #cork(): void {
    if (this.#isCorked) return
    this.#isCorked = true
    streamOf(this.#client).cork()
    process.nextTick(() => {
      this.#isCorked = false
      streamOf(this.#client).uncork()
    })
  }

  #tick(): void {
    this.#silentTicks += 1
    if (this.#silentTicks > TICKS) this.drop()
    else void this.#dropIfServerIsLost()
  }

  /** A statement may take long, but a server that answers nobody is lost. */
  async #dropIfServerIsLost(): Promise<void> {
    const { answersOthers } = this.#patience
    if (!answersOthers || this.#isAsking) return
    const ticks = this.#silentTicks
    this.#isAsking = true
    const isLost = !(await answersOthers())
    this.#isAsking = false
    if (isLost && this.#unanswered > 0 && this.#silentTicks >= ticks) this.drop()
  }

  #stopWatch(): void {
    clearInterval(this.#watch)
    this.#watch = undefined
  }
}
