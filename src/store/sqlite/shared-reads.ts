/**
 * Reads that share one transaction see one state, and lock the file once: a lock costs more than most reads. Each state
 * has a number, so that a result can be kept while the state is the same.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { answering } from './database.ts'
import { prepare } from './statements.ts'

export class SharedReads {
  readonly #database: DatabaseSync
  readonly #begin: StatementSync
  readonly #commit: StatementSync
  /** Looks at the file each time, and changes with commits of other connections, of any process. */
  readonly #dataVersion: StatementSync
  /** The rows that this connection has changed. */
  readonly #totalChanges: StatementSync
  #open = false
  #others = Number.NaN
  #own = Number.NaN
  #state = 0
  /** In the transaction that is open, nothing can change it any more. */
  #knowsState = false

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#begin = database.prepare('begin')
    this.#commit = database.prepare('commit')
    this.#dataVersion = prepare(database, 'pragma data_version')
    this.#totalChanges = prepare(database, 'select total_changes()')
  }

  /** Nothing can be undone in it. */
  get isOpen(): boolean {
    return this.#open
  }

  /** Within another transaction, the reads are part of that one. */
  run<T>(work: () => T): T {
    const isWithin = answering(() => {
      if (this.#database.isTransaction) return true
      this.#begin.run()
      return false
    })
    if (isWithin) return work()
    this.#open = true
    try {
      return work()
    } finally {
      this.#open = false
      this.#knowsState = false
      // A fault may have ended it.
      if (this.#database.isTransaction) answering(() => this.#commit.run())
    }
  }

  /**
   * A number that changes with every commit before the call; among shared reads, before the first of them. Undefined in
   * another transaction, because its changes may be undone. Takes half the time of a look-up.
   */
  state(): number | undefined {
    if (this.#knowsState) return this.#state
    if (this.#database.isTransaction && !this.#open) return undefined
    const [others, own] = [numberOf(this.#dataVersion), numberOf(this.#totalChanges)]
    if (others !== this.#others || own !== this.#own) this.#state += 1
    this.#others = others
    this.#own = own
    this.#knowsState = this.#open
    return this.#state
  }
}

function numberOf(statement: StatementSync): number {
  const row = statement.get() as unknown as readonly number[]
  return row[0] ?? Number.NaN
}
