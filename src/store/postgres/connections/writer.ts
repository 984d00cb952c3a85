/**
 * The writes of one instance, in the order in which they were asked for. Writes that wait together commit together. All
 * instances write one after the other: each transaction first takes the write lock, so it sees everything that was committed
 * before, and records get their numbers in the order of the commits (docs/decisions/0075).
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Ask, Row, Statement } from '../../sql/statement.ts'
import { isAftermath, isLost, isOfOneStatement, isPassing } from '../failures.ts'
import type { Dialer } from './hosts.ts'
import { type Connection, Line, type SentQuery } from './line.ts'
import { reject, type Sending, type StoreWrite, sendingsOf, settle, settleFault, type WaitingWrite } from './sending.ts'

/**
 * The time-outs are shorter than those of clients: a stalled instance loses the write lock before others give up. Nothing is
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

/** Several statements, alone in their transaction. */
interface WaitingWork {
  readonly work: (ask: Ask) => Promise<unknown>
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
}

type WaitingForWriter = WaitingWork | WaitingWrite

interface WriterOptions {
  readonly dialer: Dialer
  readonly named: (statement: Statement) => SentQuery
  /** Whether the server answers other connections. Never rejects. */
  readonly answersOthers: () => Promise<boolean>
}

export class Writer {
  readonly #line: Line
  readonly #named: (statement: Statement) => SentQuery
  readonly #waiting: WaitingForWriter[] = []
  #running: Promise<void> | undefined

  constructor({ dialer, named, answersOthers }: WriterOptions) {
    this.#line = new Line({ dialer, silenceMs: SILENCE_MS, answersOthers })
    this.#named = named
  }

  /**
   * Resolves with the rows of its statement when the write is durable. Rejects with the driver's error: then nothing of it is stored,
   * unless the connection was lost while the transaction committed.
   */
  write(write: StoreWrite): Promise<readonly Row[]> {
    return new Promise((resolve, reject) => this.#add({ ...write, resolve, reject }))
  }

  /**
   * Resolves with the result of the work when it is durable. Rejects with what the work threw, or with the driver's
   * error. The work may run more than once.
   */
  transaction<T>(work: (ask: Ask) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => this.#add({ work, resolve, reject }))
  }

  async close(): Promise<void> {
    await this.#running
    await this.#line.close()
  }

  #add(waiting: WaitingForWriter): void {
    this.#waiting.push(waiting)
    this.#running ??= this.#run()
  }

  async #run(): Promise<void> {
    // Writes of the same turn of the event loop commit together.
    await new Promise(setImmediate)
    while (this.#waiting.length > 0) {
      const next = this.#take()
      await ('work' in next ? this.#finish(next) : this.#settle(next))
    }
    this.#running = undefined
  }

  #take(): WaitingWork | readonly WaitingWrite[] {
    const writes = this.#waiting.findIndex((one) => 'work' in one)
    if (writes === 0) return this.#waiting.shift() as WaitingWork
    return this.#waiting.splice(0, Math.min(writes < 0 ? MOST_AT_ONCE : writes, MOST_AT_ONCE)) as WaitingWrite[]
  }

  /** Never throws. */
  async #finish({ work, resolve, reject: refuse }: WaitingWork): Promise<void> {
    const outcome = await this.#transact((connection) => alone(connection, (asked) => this.#named(asked), work))
    if ('error' in outcome) refuse(outcome.error)
    else resolve(outcome.done as never)
  }

  /** Sends the group until each write of it has succeeded or failed. Never throws. */
  async #settle(group: readonly WaitingWrite[]): Promise<void> {
    for (let left: readonly Sending[] = sendingsOf(group); left.length > 0; ) {
      const asked = left.map(({ statement }) => this.#named(statement))
      const outcome = await this.#transact((connection) => together(connection, asked))
      if ('error' in outcome) left = withoutFault(left, outcome)
      else left = left.flatMap((sending, at) => settle(sending, outcome.done[at] ?? []))
    }
  }

  /** Runs a transaction, and again while its failure may pass. Never throws. */
  async #transact<T>(transaction: Transaction<T>): Promise<WriteOutcome<T>> {
    for (let run = 1; ; run += 1) {
      const outcome = await this.#attempt(transaction).catch((error: unknown): Failure => ({ error }))
      if (!('error' in outcome) || !isPassing(outcome.error) || run === MOST_RUNS) return outcome
      await sleep(Math.min(FIRST_PAUSE_MS * 2 ** run, LONGEST_PAUSE_MS) * Math.random())
    }
  }

  async #attempt<T>(transaction: Transaction<T>): Promise<WriteOutcome<T>> {
    const connection = await this.#line.connection()
    try {
      const outcome = await transaction(connection)
      if ('error' in outcome && isLost(outcome.error)) await this.#line.drop(connection)
      return outcome
    } catch (error) {
      await this.#line.drop(connection)
      throw error
    }
  }
}

type Transaction<T> = (connection: Connection) => Promise<WriteOutcome<T>>

type WriteOutcome<T> = { readonly done: T } | Failure

interface Failure {
  readonly error: unknown
  /** The statement that failed; undefined if the whole transaction did. */
  readonly at?: number
}

/** All statements are sent at once, the commit too: PostgreSQL commits only if none has failed. */
async function together(
  connection: Connection,
  statements: readonly SentQuery[],
): Promise<WriteOutcome<(readonly Row[])[]>> {
  const begun = connection.command(BEGIN)
  const answers = statements.map((statement) => connection.send(statement))
  const ended = connection.command('commit')
  const [beginning, end, ...outcomes] = await Promise.allSettled([begun, ended, ...answers])
  const failed = outcomes.findIndex((outcome) => outcome.status === 'rejected' && !isAftermath(outcome.reason))
  if (beginning.status === 'rejected') return { error: beginning.reason }
  if (failed >= 0) return { error: (outcomes[failed] as PromiseRejectedResult).reason, at: failed }
  if (end.status === 'rejected') return { error: end.reason }
  if (end.value.command !== 'COMMIT') return { error: notCommitted() }
  return { done: outcomes.map((outcome) => (outcome as Fulfilled).value.rows as readonly Row[]) }
}

/** After a failed statement, PostgreSQL takes a commit for a rollback. */
function notCommitted(): Error {
  return new Error('the transaction was not committed')
}

type Fulfilled = PromiseFulfilledResult<pg.QueryArrayResult>

async function alone<T>(
  connection: Connection,
  named: (statement: Statement) => SentQuery,
  work: (ask: Ask) => Promise<T>,
): Promise<WriteOutcome<T>> {
  await connection.command(BEGIN)
  let done: T
  try {
    done = await work(async (statement) => (await connection.send(named(statement))).rows)
  } catch (error) {
    await connection.command('rollback')
    return { error }
  }
  const { command } = await connection.command('commit')
  return command === 'COMMIT' ? { done } : { error: notCommitted() }
}

/** The writes that remain to be sent when the transaction has failed. */
function withoutFault(sent: readonly Sending[], { error, at }: Failure): readonly Sending[] {
  const faulty = at !== undefined && isOfOneStatement(error) ? sent[at] : undefined
  if (faulty) return sent.flatMap((sending) => (sending === faulty ? settleFault(sending, error) : [sending]))
  for (const sending of sent) reject(sending, error)
  return []
}
