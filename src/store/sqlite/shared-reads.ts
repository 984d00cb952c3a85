/** Reads that share one transaction see one state, and lock the file once: a lock costs more than most reads. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { answering } from './database.ts'

export class SharedReads {
  readonly #database: DatabaseSync
  readonly #begin: StatementSync
  readonly #commit: StatementSync
  #open = false

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#begin = database.prepare('begin')
    this.#commit = database.prepare('commit')
  }

  /** Nothing can be undone in it. */
  get isOpen(): boolean {
    return this.#open
  }

  /** Within another transaction, the reads are part of that one. */
  run<T>(work: () => T): T {
    if (!answering(() => this.#begins())) return work()
    try {
      return work()
    } finally {
      this.#open = false
      // A fault may have ended it.
      if (this.#database.isTransaction) answering(() => this.#commit.run())
    }
  }

  /** False in another transaction. */
  #begins(): boolean {
    if (this.#database.isTransaction) return false
    this.#begin.run()
    this.#open = true
    return true
  }
}
