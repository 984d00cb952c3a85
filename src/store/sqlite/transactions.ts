/**
 * Transactions of several requests, one after the other, each on a connection of its own: nobody else sees what isn't
 * committed, and nothing that is kept of its reads outlives it. The writer of the server waits meanwhile.
 */
import type { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import type { OpenTransaction, Transactions } from '../contract.ts'
import { StoreUnavailable } from '../errors.ts'
import { inTime, openTransaction, TransactionQueue } from '../sql/transactions.ts'
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

/** Others hold the lock for one commit, or for a transaction like this one. */
const [LOCK_MS, LOOK_MS] = [3000, 5]

/** A list or a count stops everything that this thread does. */
const READ_MS = 20

export class SqliteTransactions implements Transactions {
  readonly #parts: TransactionParts
  readonly #queue = new TransactionQueue()

  constructor(parts: TransactionParts) {
    const bounds = { ...parts.bounds, listMs: READ_MS, countMs: READ_MS }
    this.#parts = { ...parts, bounds }
  }

  run<T>(work: (open: OpenTransaction) => Promise<T>): Promise<T> {
    // The next one waits for the writes that have waited for this one, so that they never wait for two.
    return this.#queue.run(
      () => this.#run(work),
      () => this.#parts.others.resume(),
    )
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
