/**
 * The connections of one instance: lines for short look-ups, a line for writes, and a pool for everything that may take
 * longer.
 */

import type pg from 'pg'
import type { ConnectionSettings } from '../../contract.ts'
import { StoreUnavailable } from '../../errors.ts'
import { Turns } from '../../lists/turns.ts'
import type { Row, SqlValue, Statement } from '../../sql/statement.ts'
import { answering, asOfContract, isOfServer } from '../failures.ts'
import { BEGIN_BOUNDED, dialerOf, STATEMENT_MS } from './client-options.ts'
import { Gathered } from './gathered.ts'
import { streamOf } from './hosts.ts'
import { Line, type SentQuery } from './line.ts'
import { type LongRead, LongReads } from './long-reads.ts'
import { Writer } from './writer.ts'

/** A lost database is noticed within a second, because every request looks up its caller. */
const QUICK_SILENCE_MS = 900
/** What the server doesn't end after STATEMENT_MS is lost. */
const SLOW_MS = STATEMENT_MS + 1000
const QUICK_LINES = 2
const NAMED_STATEMENTS = 256
const PAGES_AT_ONCE = 16

/** What the parts of the store ask: all connections of an instance, or the one of a transaction. */
export interface StoreConnections
  extends Pick<Connections, 'quick' | 'gathered' | 'gatheredPages' | 'slow' | 'long' | 'change' | 'close'> {
  readonly writer: Pick<Writer, 'write' | 'transaction'>
}

export class Connections {
  readonly writer: Writer
  readonly #lines: readonly Line[]
  readonly #pool: pg.Pool
  readonly #watch: NodeJS.Timeout
  readonly #long: LongReads
  readonly #turns: Turns
  /** A pooler stands between, so the session has no time-outs. */
  readonly #isPooled: boolean
  readonly #names: StatementNames
  #next = 0

  constructor(url: string, settings: ConnectionSettings) {
    const dialer = dialerOf(url, settings)
    this.#isPooled = settings.pooler === 'transaction'
    this.#names = new StatementNames(this.#isPooled ? 0 : NAMED_STATEMENTS)
    const named = (statement: Statement) => this.#names.named(statement)
    this.writer = new Writer({ dialer, named, answersOthers: () => this.#answers() })
    this.#lines = Array.from({ length: QUICK_LINES }, () => new Line({ dialer, silenceMs: QUICK_SILENCE_MS }))
    const max = Math.max(1, settings.most - QUICK_LINES - 1)
    this.#pool = dialer.pool({ pipeline: false, max, query_timeout: SLOW_MS } as pg.PoolConfig)
    // A lost idle connection leaves the pool; the next statement opens another one.
    this.#pool.on('error', ignore)
    this.#watch = endWhenLost(this.#pool, () => this.#answers())
    // Whoever waits in the pool's own queue is refused after a second, because the database may be lost.
    this.#turns = new Turns({ ofCaller: max, ofAll: Math.max(1, max - 1) })
    this.#long = new LongReads({
      pool: this.#pool,
      connections: max,
      sessionMs: this.#isPooled ? undefined : STATEMENT_MS,
      cancel: (backend) => this.#askQuickly({ text: 'select pg_cancel_backend($1::int)', values: [backend] }),
    })
  }

  /** A look-up that is answered at once: it shares its connection with others. Throws errors of the contract. */
  quick(statement: Statement): Promise<readonly Row[]> {
    return answering(() => this.#askQuickly(statement))
  }

  /** Look-ups that are answered at once, by one statement for all of a turn; see GatheredOptions. */
  gathered<Found>(text: string, found: (row: Row | undefined) => Found): Gathered<Found> {
    return new Gathered({ ask: (statement) => this.#askQuickly(statement), text, found })
  }

  /** Pages of lists: they are large, so others don't wait behind them, and few are asked for with one statement. */
  gatheredPages(text: string): Gathered<Row | undefined> {
    const ask = (statement: Statement) => this.#askSlowly(statement)
    return new Gathered({ ask, text, found: (row) => row, most: PAGES_AT_ONCE, askEach: true })
  }

  /** A statement that may take longer. Throws errors of the contract. */
  slow(statement: Statement): Promise<readonly Row[]> {
    return answering(() => this.#askSlowly(statement))
  }

  /**
   * A read that may take long; callers take turns. Throws errors of the contract, and the reason why its client is gone.
   * Behind a pooler its bound takes two more messages, so that look-ups, for which no client is named, do without.
   */
  long(statement: Statement, read: LongRead): Promise<readonly Row[]> {
    const { by = { whose: '' } } = read
    const isPlain = this.#isPooled && !by.gone
    return this.#turns.run(by, () => (isPlain ? this.slow(statement) : this.#longNow(statement, read)))
  }

  async #longNow(statement: Statement, read: LongRead): Promise<readonly Row[]> {
    if (this.#pool.ended) throw new StoreUnavailable(new Error('the store is closed'))
    try {
      return await this.#long.rows(this.#queryOf(statement), read)
    } catch (error) {
      throw read.by?.gone && error === read.by.gone().reason ? error : asOfContract(error)
    }
  }

  /** A small change that needs no write lock, and waits for no lock for long. Throws errors of the contract. */
  change(statement: Statement): Promise<readonly Row[]> {
    return this.#isPooled ? answering(() => this.#changeBounded(statement)) : this.slow(statement)
  }

  async close(): Promise<void> {
    if (this.#pool.ending) return
    clearInterval(this.#watch)
    await Promise.all([this.writer.close(), this.#pool.end(), ...this.#lines.map((line) => line.close())])
  }

  async #changeBounded(statement: Statement): Promise<readonly Row[]> {
    const client = await this.#pool.connect()
    let isDone = false
    try {
      await client.query(BEGIN_BOUNDED)
      const { rows } = await client.query<SqlValue[]>(this.#queryOf(statement))
      await client.query('commit')
      isDone = true
      return rows
    } finally {
      // Nobody else gets a connection with half a transaction.
      client.release(!isDone)
    }
  }

  #queryOf(statement: Statement) {
    const { text, values, name } = this.#names.named(statement)
    return { text, values: [...(values ?? [])], rowMode: 'array' as const, ...(name && { name }) }
  }

  async #askSlowly(statement: Statement): Promise<readonly Row[]> {
    if (this.#pool.ended) throw new Error('the store is closed')
    return (await this.#pool.query<SqlValue[]>(this.#queryOf(statement))).rows
  }

  /** Whether the server answers within a second, be it with a fault. */
  #answers(): Promise<boolean> {
    return this.#askQuickly({ text: 'select 1', values: [] }).then(() => true, isOfServer)
  }

  #askQuickly(statement: Statement): Promise<readonly Row[]> {
    this.#next = (this.#next + 1) % this.#lines.length
    const next = this.#lines[this.#next] as Line
    const line = next.isWaiting ? (this.#lines.find(({ isWaiting }) => !isWaiting) ?? next) : next
    return line.ask(this.#names.named(statement))
  }
}

function ignore(): void {}

/** Names for the first statements: each takes memory in each connection, and clients can cause many. */
class StatementNames {
  readonly #most: number
  readonly #names = new Map<string, string>()

  constructor(most: number) {
    this.#most = most
  }

  named({ text, values, plannedAnew }: Statement): SentQuery {
    if (plannedAnew) return { text, values }
    let name = this.#names.get(text)
    if (name === undefined && this.#names.size < this.#most) {
      name = `s${this.#names.size}`
      this.#names.set(text, name)
    }
    return { text, values, name }
  }
}

const LOOK_MS = 800

/** `answersOthers`: whether the server answers other connections; never rejects. */
function endWhenLost(pool: pg.Pool, answersOthers: () => Promise<boolean>): NodeJS.Timeout {
  /** By connection in use, how often somebody has looked since it was taken. */
  const looks = new Map<pg.PoolClient, number>()
  pool.on('acquire', (client) => looks.set(client, 0))
  pool.on('release', (_, client) => looks.delete(client))
  let isAsking = false

  async function look(): Promise<void> {
    for (const [client, before] of looks) looks.set(client, before + 1)
    if (isAsking || waiting().length === 0) return
    isAsking = true
    const isLost = !(await answersOthers())
    isAsking = false
    if (isLost) for (const client of waiting()) streamOf(client).destroy()
  }

  /** Those that were in use at two looks already. */
  function waiting(): readonly pg.PoolClient[] {
    return [...looks].filter(([, times]) => times > 1).map(([client]) => client)
  }

  return setInterval(() => void look(), LOOK_MS).unref()
}
