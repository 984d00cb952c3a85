/** Runs statements and work on one connection, at once. Each text is prepared when it is first asked. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type { Row, Statement, Work } from '../sql/statement.ts'

export class StatementRunner {
  readonly #database: DatabaseSync
  readonly #prepared = new Map<string, StatementSync>()

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  ask({ text, values }: Statement): readonly Row[] {
    const prepared = this.#prepared.get(text) ?? this.#prepare(text)
    return prepared.all(...(values as SQLInputValue[])) as unknown as readonly Row[]
  }

  run<T>(work: Work<T>): T {
    let step = work.next()
    while (!step.done) step = this.#answer(work, step.value)
    return step.value
  }

  #answer<T>(work: Work<T>, asked: Statement): IteratorResult<Statement, T> {
    let rows: readonly Row[]
    try {
      rows = this.ask(asked)
    } catch (error) {
      return work.throw(error)
    }
    return work.next(rows)
  }

  #prepare(text: string): StatementSync {
    const prepared = this.#database.prepare(text.replaceAll(/\$(?=\d)/g, '?'))
    prepared.setReturnArrays(true)
    this.#prepared.set(text, prepared)
    return prepared
  }
}
