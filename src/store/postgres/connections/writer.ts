/**
 * The writes of one instance, in the order in which they were asked for. Writes that wait together commit together. All
 * instances write one after the other: each transaction first takes the turn, so it sees everything that was committed
 * before, and records get their numbers in the order of the commits (docs/decisions/0047).
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { isAftermath, isLost, isOfOneStatement, isPassing } from '../failures.ts'
import type { Statement } from '../query/statement.ts'
import type { Asked, Connection, Row } from './connection.ts'
import { Line } from './line.ts'

export type Ask = (statement: Statement) => Promise<readonly Row[]>

/**
 * The time-outs are shorter than those of clients: a stalled instance loses its turn before others give up. Nothing is
 * set for longer than the transaction, so a pooler may stand between.
 */
const BEGIN = `begin isolation level read committed;
  set local lock_timeout = 3000; set local statement_timeout = 5000; set local idle_in_transaction_session_timeout = 1000;
  update turns set taken = taken + 1`

const SILENCE_MS = 8000

const MOST_AT_ONCE = 64

/** How often a transaction is run that can't be serialized, or is part of a deadlock; with growing pauses between. */
const MOST_RUNS = 8
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [4, 200]

interface Waiting {
  /** One statement; it changes everything or nothing. */
  readonly statement?: Statement
  /** Several statements, alone in their transaction. */
  readonly work?: (ask: Ask) => Promise<unknown>
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
}

export class Writer {
  readonly #line: Line
  readonly #named: (statement: Statement) => Asked
  readonly #waiting: Waiting[] = []
  #running: Promise<void> | undefined

  constructor(client: pg.ClientConfig, named: (statement: Statement) => Asked) {
    this.#line = new Line({ client, silenceMs: SILENCE_MS })
    this.#named = named
  }

  /**
   * Resolves with the rows when the statement is durable. Rejects with the driver's error: then nothing of it is stored,
   * unless the connection was lost while the transaction committed.
   */
  write(statement: Statement): Promise<readonly Row[]> {
    return this.#add({ statement })
  }

  /**
   * Resolves with the result of the work when it is durable. Rejects with what the work threw, or with the driver's
   * error. The work may run more than once.
   */
  transaction<T>(work: (ask: Ask) => Promise<T>): Promise<T> {
    return this.#add({ work })
  }

  async close(): Promise<void> {
    await this.#running
    await this.#line.close()
  }

  #add<T>(wanted: Pick<Waiting, 'statement' | 'work'>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ ...wanted, resolve, reject })
      this.#running ??= this.#run()
    })
  }

  async #run(): Promise<void> {
    // Writes of the same turn of the event loop commit together.
    await new Promise(setImmediate)
    while (this.#waiting.length > 0) await this.#settle(this.#take())
    this.#running = undefined
  }

  #take(): Waiting[] {
    if (this.#waiting[0]?.work) return this.#waiting.splice(0, 1)
    const next = this.#waiting.findIndex(({ work }) => work)
    return this.#waiting.splice(0, Math.min(next < 0 ? MOST_AT_ONCE : next, MOST_AT_ONCE))
  }

  /** Runs the group until each write of it has succeeded or failed. Never throws. */
  async #settle(group: Waiting[]): Promise<void> {
    let left = group
    for (let run = 1; left.length > 0; ) {
      const failure = await this.#attempt(left).catch((error: unknown): Failure => ({ error }))
      if (!failure) return
      const { error, at } = failure
      if (isPassing(error) && run < MOST_RUNS) {
        await sleep(Math.min(FIRST_PAUSE_MS * 2 ** run, LONGEST_PAUSE_MS) * Math.random())
        run += 1
      } else {
        const failed = at !== undefined && isOfOneStatement(error) ? [left[at] as Waiting] : left
        for (const { reject } of failed) reject(error)
        left = left.filter((one) => !failed.includes(one))
      }
    }
  }

  /** One transaction. Resolves with its failure; without one, all writes of the group have succeeded. */
  async #attempt(group: readonly Waiting[]): Promise<Failure | undefined> {
    const connection = await this.#line.connection()
    try {
      const failure = group[0]?.work ? await this.#alone(connection, group[0]) : await this.#together(connection, group)
      if (failure && isLost(failure.error)) await this.#line.drop(connection)
      return failure
    } catch (error) {
      await this.#line.drop(connection)
      throw error
    }
  }

  /** All statements are sent at once, the commit too: PostgreSQL commits only if none has failed. */
  async #together(connection: Connection, group: readonly Waiting[]): Promise<Failure | undefined> {
    const begun = connection.send({ text: BEGIN })
    const answers = group.map(({ statement }) => connection.send(this.#named(statement as Statement)))
    const ended = connection.send({ text: 'commit' })
    const [beginning, end, ...outcomes] = await Promise.allSettled([begun, ended, ...answers])
    const failed = outcomes.findIndex((outcome) => outcome.status === 'rejected' && !isAftermath(outcome.reason))
    if (beginning.status === 'rejected') return { error: beginning.reason }
    if (failed >= 0) return { error: (outcomes[failed] as PromiseRejectedResult).reason, at: failed }
    if (end.status === 'rejected') return { error: end.reason }
    if (end.value.command !== 'COMMIT') return { error: new Error('the transaction was not committed') }
    for (const [at, { resolve }] of group.entries()) resolve((outcomes[at] as Fulfilled).value.rows as never)
    return undefined
  }

  async #alone(connection: Connection, { work, resolve }: Waiting): Promise<Failure | undefined> {
    await connection.send({ text: BEGIN })
    let result: unknown
    try {
      result = await work?.(async (statement) => (await connection.send(this.#named(statement))).rows)
    } catch (error) {
      await connection.send({ text: 'rollback' })
      return { error, at: 0 }
    }
    await connection.send({ text: 'commit' })
    resolve(result as never)
    return undefined
  }
}

interface Failure {
  readonly error: unknown
  /** The write that failed; undefined if the whole transaction did. */
  readonly at?: number
}

type Fulfilled = PromiseFulfilledResult<pg.QueryArrayResult>
