/**
 * Finds out whether anything in the database has changed, for half the cost of a look-up: a kept result is valid while
 * the state is the same. `data_version` looks at the file each time and changes with commits of other connections, of
 * any process; `total_changes()` counts the rows that this connection has changed.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'

export class SqliteChanges {
  readonly #database: DatabaseSync
  readonly #dataVersion: StatementSync
  readonly #totalChanges: StatementSync
  #others = Number.NaN
  #own = Number.NaN
  #state = 0

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#dataVersion = prepareNumber(database, 'pragma data_version')
    this.#totalChanges = prepareNumber(database, 'select total_changes()')
  }

  /**
   * A number that changes with every commit before the call. Undefined in a transaction, because its changes may be
   * undone.
   */
  state(): number | undefined {
    if (this.#database.isTransaction) return undefined
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
