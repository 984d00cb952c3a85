/** Runs statements and work on one connection, at once. Each text is prepared when it is first asked. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { LRUCache } from 'lru-cache'
import type { Row, Statement, Work } from '../sql/statement.ts'

/** Filters and policies make ever new texts, and each statement takes memory. */
export const STATEMENTS = 1000

export class StatementRunner {
  readonly #prepared: LRUCache<string, StatementSync>

  constructor(database: DatabaseSync) {
    this.#prepared = new LRUCache({
      max: STATEMENTS,
      memoMethod: (text) => {
        const prepared = database.prepare(text)
        prepared.setReturnArrays(true)
        return prepared
      },
    })
  }

  ask({ text, values }: Statement): readonly Row[] {
    return this.rows({ text: text.replaceAll(/\$(?=\d)/g, '?'), values })
  }

  /** Likewise, with a `?` for each value. */
  rows({ text, values }: Pick<Statement, 'text' | 'values'>): readonly Row[] {
    return this.prepared(text).all(...(values as SQLInputValue[])) as unknown as readonly Row[]
  }

  prepared(text: string): StatementSync {
    return this.#prepared.memo(text)
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
}
