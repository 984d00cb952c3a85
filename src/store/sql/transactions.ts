/** What both engines share of a transaction that several requests are in (contract.ts, `Transactions`). */
import type { OpenedStore, OpenTransaction } from '../contract.ts'
import { TransactionTooLong } from '../errors.ts'
import { keepReplay } from './idempotency-keys.ts'
import type { SqlEngine } from './statement.ts'

/** Others wait with their writes, so this is less than what they wait at most, on PostgreSQL, for a lock. */
export const TRANSACTION_MS = 2000

/** `opened`, `engine`: of the transaction. */
export function openTransaction({ store, directory, outbox }: OpenedStore, engine: SqlEngine): OpenTransaction {
  const now = () => engine.now().getTime()
  return {
    store,
    directory,
    outbox,
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
