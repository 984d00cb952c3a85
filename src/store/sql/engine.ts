/** An open database, as the parts of the store that are written once see it. */
import type { SqlDialect } from './dialect.ts'
import { type Ask, done, type Row, type SqlValue, type Statement, sql, type Work } from './statement.ts'

/** Every method throws errors of the contract. */
export interface SqlEngine {
  readonly dialect: SqlDialect
  readonly now: () => Date
  /** Sees everything that any instance committed before the call. */
  readonly ask: Ask
  /** In one transaction, after all writes before it. Durable when it returns. */
  write<T>(work: () => Work<T>): Promise<T>
  /** A small change by itself: it waits for no other write for long. Durable when it returns. */
  readonly change: Ask
  /** A change that no client waits for. */
  readonly changeSoon: (statement: Statement) => Promise<unknown>
}

export function read<T>({ ask }: SqlEngine, work: Work<T>): Promise<T> {
  return done(work, ask)
}

/** The first row. */
export function* first(text: string, ...values: readonly SqlValue[]): Work<Row | undefined> {
  const [row] = yield sql(text, ...values)
  return row
}
