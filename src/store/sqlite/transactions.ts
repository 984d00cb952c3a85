/**
 * Transactions of several requests, one after the other, each on a connection of its own: nobody else sees what isn't
 * committed, and nothing that is kept of its reads outlives it. The writer of the server waits meanwhile.
 */
import type { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import type { OpenTransaction, Transactions } from '../contract.ts'
import { StoreUnavailable } from '../errors.ts'
import { inTime, openTransaction } from '../sql/transactions.ts'
import { OpenCommits } from './commits.ts'
import { answering, identityOf, isBusy, moved, openDatabaseFile } from './database.ts'
import { assemble, type DatabaseParts } from './engine.ts'

/** The other writes of this process. */
interface OtherWrites {
  /** A transaction has the lock: who waits for it in this thread would keep it from ending. */
  pause(): void
  /** Resolves when the writes that wait now are done. */
  resume(): Promise<unknown>
}

interface TransactionParts extends DatabaseParts {
  readonly identity: string | undefined
  readonly others: OtherWrites
}

/** Each may take TRANSACTION_MS. */
const MOST_WAITING = 8

/** Others hold the lock for one commit, or for a transaction like this one. */
const [LOCK_MS, LOOK_MS] = [3000, 5]

/** A list or a count stops everything that this thread does. */
const READ_MS = 20

export class SqliteTransactions implements Transactions {
  readonly #parts: TransactionParts
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0

  constructor(parts: TransactionParts) {
    const bounds = { ...parts.bounds, listMs: READ_MS, countMs: READ_MS }
    this.#parts = { ...parts, bounds }
  }

  run<T>(work: (open: OpenTransaction) => Promise<T>): Promise<T> {
    if (this.#waiting >= MOST_WAITING) throw new StoreUnavailable(new Error('too many transactions wait'))
    this.#waiting += 1
    const mine = this.#last.then(() => this.#run(work))
    // The next one waits for the writes that have waited for this one, so that they never wait for two.
    this.#last = mine.catch(() => undefined).then(() => this.#end())
    return mine
  }

  async #end(): Promise<void> {
    this.#waiting -= 1
    await this.#parts.others.resume().catch(() => undefined)
  }

  async #run<T>(work: (open: OpenTransaction) => Promise<T>): Promise<T> {
    const { file, identity } = this.#parts
    if (identityOf(file) !== identity) throw moved(file)
    const database = answering(() => openDatabaseFile(file))
    try {
      // The writer makes checkpoints, and this thread must not wait for a lock.
      answering(() => database.exec('pragma busy_timeout = 0; pragma wal_autocheckpoint = 0'))
      const { opened, engine } = answering(() => assemble(database, this.#parts, new OpenCommits(database)))
      await begin(database)
      this.#parts.others.pause()
      const result = await inTime(work(openTransaction(opened, engine.sql)))
      answering(() => database.exec('commit'))
      return result
    } finally {
      // Undoes what isn't committed, and ends what still runs.
      database.close()
    }
  }
}

async function begin(database: DatabaseSync): Promise<void> {
  const until = performance.now() + LOCK_MS
  for (;;) {
    try {
      database.exec('begin immediate')
      return
    } catch (error) {
      if (!isBusy(error) || performance.now() > until) throw new StoreUnavailable(error)
    }
    await sleep(LOOK_MS)
  }
}
