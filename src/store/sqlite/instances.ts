/** Where a SQLite file keeps what instances share beside the store: on a connection of its own. */
import type { DatabaseSync } from 'node:sqlite'
import type { InstanceDatabase } from '../sql/instances.ts'
import type { Row, Statement, Work } from '../sql/statement.ts'
import { answering, inTransaction, openDatabaseFile } from './database.ts'
import { DIALECT, StatementRunner } from './statements.ts'

export class InstanceFile implements InstanceDatabase {
  readonly dialect = DIALECT
  readonly #database: DatabaseSync
  readonly #statements: StatementRunner

  /** A missing file is created; its folder must exist. Throws StoreUnavailable. */
  constructor(file: string) {
    this.#database = answering(() => openDatabaseFile(file))
    this.#statements = new StatementRunner(this.#database)
  }

  async ask(statement: Statement): Promise<readonly Row[]> {
    return answering(() => this.#statements.ask(statement))
  }

  look(statement: Statement): Promise<readonly Row[]> {
    return this.ask(statement)
  }

  async change(first: Statement, ...others: readonly Statement[]): Promise<readonly Row[]> {
    return this.#transaction(() => {
      const rows = this.#statements.ask(first)
      for (const other of others) this.#statements.ask(other)
      return rows
    })
  }

  async make(work: () => Work<void>): Promise<void> {
    this.#transaction(() => this.#statements.run(work()))
  }

  async close(): Promise<void> {
    if (this.#database.isOpen) answering(() => this.#database.close())
  }

  #transaction<T>(work: () => T): T {
    return answering(() => inTransaction(this.#database, work))
  }
}
