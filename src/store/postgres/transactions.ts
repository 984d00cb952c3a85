/**
 * Transactions of several requests, among the writes of this instance: one holds the write lock from its begin on. All
 * statements go over its connection.
 */
import type { OpenedStore, OpenTransaction, Transactions } from '../contract.ts'
import { StoreUnavailable } from '../errors.ts'
import { type Ask, type Row, type Statement, sql } from '../sql/statement.ts'
import { inTime, openTransaction, TRANSACTION_MS, TransactionQueue } from '../sql/transactions.ts'
import type { StoreConnections } from './connections/connections.ts'
import { Gathered } from './connections/gathered.ts'
import type { StoreWrite } from './connections/sending.ts'
import { answering, asOfContract } from './failures.ts'
import type { PostgresEngine } from './store.ts'

/** This process ends the transaction itself, unless it is stalled. */
const SETTINGS = [
  `set local statement_timeout = ${TRANSACTION_MS}`,
  `set local idle_in_transaction_session_timeout = ${TRANSACTION_MS + 500}`,
]

/** `assemble`: the database with all its interfaces, over these connections. */
export function postgresTransactions(
  engine: PostgresEngine,
  assemble: (connections: StoreConnections) => { readonly engine: PostgresEngine; readonly opened: OpenedStore },
): Transactions {
  const queue = new TransactionQueue()
  const run = async <T>(work: (open: OpenTransaction) => Promise<T>): Promise<T> => {
    let isBegun = false
    let failure: { readonly error: unknown } | undefined
    try {
      return await engine.connections.writer.transaction(async (ask) => {
        // What the requests have asked of others can't be asked twice.
        if (isBegun) throw new StoreUnavailable(new Error('the database has undone the transaction'))
        isBegun = true
        const held = new HeldConnections(ask)
        const { engine: inside, opened } = assemble(held)
        try {
          for (const setting of SETTINGS) await ask(sql(setting))
          return await inTime(work(openTransaction(opened, inside.sql)))
        } catch (error) {
          failure = { error }
          throw error
        } finally {
          held.end()
        }
      })
    } catch (error) {
      throw failure?.error === error ? error : asOfContract(error)
    }
  }
  // The writer takes other writes between two of them, in the order in which they came.
  return {
    run: (work) =>
      queue.run(
        () => run(work),
        async () => undefined,
      ),
  }
}

/** The one connection of a transaction, as the parts of the store ask it. */
class HeldConnections implements StoreConnections {
  readonly #ask: Ask
  #hasEnded = false

  readonly writer: StoreConnections['writer'] = {
    write: (write: StoreWrite) => this.#alone(() => this.#send(write.alone())),
    transaction: (work) => this.#alone(() => work((asked) => this.#send(asked))),
  }

  constructor(ask: Ask) {
    this.#ask = ask
  }

  /** The connection goes on with the writes of others. */
  end(): void {
    this.#hasEnded = true
  }

  quick(asked: Statement): Promise<readonly Row[]> {
    return answering(() => this.#send(asked))
  }

  /** The transaction has a bound, and so has each statement. */
  slow(asked: Statement): Promise<readonly Row[]> {
    return this.quick(asked)
  }

  long(asked: Statement): Promise<readonly Row[]> {
    return this.quick(asked)
  }

  change(asked: Statement): Promise<readonly Row[]> {
    return this.quick(asked)
  }

  gathered<Found>(text: string, found: (row: Row | undefined) => Found): Gathered<Found> {
    return new Gathered({ ask: (asked) => this.#send(asked), text, found })
  }

  gatheredPages(text: string): Gathered<Row | undefined> {
    return this.gathered(text, (row) => row)
  }

  async close(): Promise<void> {}

  /** A write that fails is undone alone: whoever asked for it may ask why. */
  async #alone<T>(write: () => Promise<T>): Promise<T> {
    await this.#send(sql('savepoint alone'))
    try {
      const done = await write()
      await this.#send(sql('release alone'))
      return done
    } catch (error) {
      if (!this.#hasEnded) await this.#send(sql('rollback to alone'))
      throw error
    }
  }

  async #send(asked: Statement): Promise<readonly Row[]> {
    if (this.#hasEnded) throw new StoreUnavailable(new Error('the transaction has ended'))
    return this.#ask(asked)
  }
}
