/** Runs statements and work on one connection, at once. Each text is prepared when it is first asked. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { LRUCache } from 'lru-cache'
import type { Row, SqlDialect, Statement, Work } from '../sql/statement.ts'

/** Its rows are arrays: rows by names are slow objects. */
export function prepare(database: DatabaseSync, text: string): StatementSync {
  const prepared = database.prepare(text)
  prepared.setReturnArrays(true)
  return prepared
}

/** Filters and policies make ever new texts, and each statement takes memory. */
export const STATEMENTS = 1000

export class StatementRunner {
  readonly #database: DatabaseSync
  /** The program's own texts are few. */
  readonly #own = new Map<string, StatementSync>()
  readonly #prepared: LRUCache<string, StatementSync>

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#prepared = new LRUCache({
      // A cache with `max` would allocate its memory at once.
      maxSize: STATEMENTS,
      sizeCalculation: () => 1,
      memoMethod: (text) => prepare(database, text),
    })
  }

  ask({ text, values }: Statement): readonly Row[] {
    const own = this.#own.getOrInsertComputed(text, () => prepare(this.#database, text.replaceAll(/\$(?=\d)/g, '?')))
    return own.all(...(values as SQLInputValue[])) as unknown as readonly Row[]
  }

  /** For texts that policies and clients cause, with a `?` for each value. */
  rows({ text, values }: Pick<Statement, 'text' | 'values'>): readonly Row[] {
    return this.prepared(text).all(...(values as SQLInputValue[])) as unknown as readonly Row[]
  }

  prepared(text: string): StatementSync {
    return this.#prepared.memo(text)
  }

  run<T>(work: Work<T>): T {
    let step = work.next()
    while (!step.done) {
      let rows: readonly Row[]
      try {
        rows = this.ask(step.value)
      } catch (error) {
        step = work.throw(error)
        continue
      }
      step = work.next(rows)
    }
    return step.value
  }
}

// SQLite's dialect.

export const DIALECT: SqlDialect = {
  number: 'integer',
  key: 'text',
  flag: 'integer',
  bytes: 'blob',
  outboxNumber: 'integer primary key autoincrement',
  hasOneClock: true,
  leaseMark: 'until',
  strict: 'strict',
  now: "cast(unixepoch('subsec') * 1000 as integer)",
  greatest: 'max',
  least: 'min',
  endedBy: (now) => now,
  tables: "select name from sqlite_schema where type = 'table'",
  elements: (list) => `json_each(${list})`,
  // The expression must not look into text that isn't JSON.
  hasRole: (roles) => ({
    test: `case when json_valid(u.document) then json_type(u.document, '$.roles') = 'array' and exists (
      select 1 from json_each(u.document, '$.roles') as r join json_each($1) as s on r.type = 'text' and r.value = s.value
    ) end`,
    value: JSON.stringify(roles),
  }),
  text: (text) => text,
  // It would be bound with U+FFFD in it, and could find another row.
  sought: (text) => (text.isWellFormed() ? text : null),
  fromStored: String,
}
