/**
 * Finds out whether anything in the database has changed, for half the cost of a look-up: a kept result is valid while
 * the state is the same. `data_version` looks at the file each time and changes with commits of other connections, of
 * any process; `total_changes()` counts the rows that this connection has changed.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { SharedReads } from '../shared-reads.ts'

export class SqliteChanges {
  readonly #database: DatabaseSync
  readonly #reads: Pick<SharedReads, 'isOpen'>
  readonly #dataVersion: StatementSync
  readonly #totalChanges: StatementSync
  #others = Number.NaN
  #own = Number.NaN
  #state = 0

  constructor(database: DatabaseSync, reads: Pick<SharedReads, 'isOpen'>) {
    this.#database = database
    this.#reads = reads
    this.#dataVersion = prepareNumber(database, 'pragma data_version')
    this.#totalChanges = prepareNumber(database, 'select total_changes()')
  }

  /**
   * A number that changes with every commit before the call; among shared reads, before the first of them. Undefined in
   * another transaction, because its changes may be undone.
   */
  state(): number | undefined {
    if (this.#database.isTransaction && !this.#reads.isOpen) return undefined
    const [others, own] = [numberOf(this.#dataVersion), numberOf(this.#totalChanges)]
    if (others !== this.#others || own !== this.#own) this.#state += 1
    this.#others = others
    this.#own = own
    return this.#state
  }
}

function prepareNumber(database: DatabaseSync, sql: string): StatementSync {
  const statement = database.prepare(sql)
  statement.setReturnArrays(true)
  return statement
}

function numberOf(statement: StatementSync): number {
  const row = statement.get() as unknown as readonly number[]
  return row[0] ?? Number.NaN
}
