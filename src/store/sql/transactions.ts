/** What both engines share of a transaction that several requests are in (contract.ts, `Transactions`). */
import type { OpenedStore, OpenTransaction } from '../contract.ts'
import { StoreUnavailable, TransactionTooLong } from '../errors.ts'
import { keepReplay } from './idempotency-keys.ts'
import type { SqlEngine } from './statement.ts'

/** Others wait with their writes, so this is less than what they wait at most, on PostgreSQL, for a lock. */
export const TRANSACTION_MS = 2000

/** `opened`, `engine`: of the transaction. */
export function openTransaction(
  { store, directory, outbox, changes }: OpenedStore,
  engine: SqlEngine,
): OpenTransaction {
  const now = () => engine.now().getTime()
  return {
    store,
    directory,
    outbox,
    changes,
    keep: (replay, object) => engine.write(() => keepReplay(engine.dialect, replay, object, now())),
  }
}

/** Throws TransactionTooLong; whoever ends the transaction then ends what the work still does. */
export async function inTime<T>(work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new TransactionTooLong()), TRANSACTION_MS)
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}

/** Whoever has waited so long for those before it is refused. */
const QUEUE_MS = 5000

/** The transactions of a process, one after the other: of other writes, each waits for one of them at most. */
export class TransactionQueue {
  #last: Promise<unknown> = Promise.resolve()

  /** `between`: what comes before the next one. Throws StoreUnavailable. */
  run<T>(transaction: () => Promise<T>, between: () => Promise<unknown>): Promise<T> {
    const begun = performance.now()
    const mine = this.#last.then(() => {
      if (performance.now() - begun > QUEUE_MS) throw new StoreUnavailable(new Error('too many transactions wait'))
      return transaction()
    })
    this.#last = mine.then(ignore, ignore).then(() => between().catch(ignore))
    return mine
  }
}

function ignore(): void {}
