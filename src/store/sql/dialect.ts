/** What differs between the engines in the statements that both of them understand. */
import type { SqlValue } from './statement.ts'

export interface SqlDialect {
  /** The types of columns: whole numbers of eight bytes, texts that compare by code points, true or false, bytes. */
  readonly number: string
  readonly key: string
  readonly flag: string
  readonly bytes: string
  /** A number that grows with every row. */
  readonly outboxNumber: string
  /** The column of leases that each renewal changes. */
  readonly leaseMark: string
  /** The end of `create table`. */
  readonly strict: string
  /** The engine's own clock: milliseconds since the epoch, the same for a whole statement. */
  readonly now: string
  /** The functions that give the greatest and the least of their arguments. */
  readonly greatest: string
  readonly least: string
  /** The latest end that is over. `now`: the parameter of the instance's time. */
  readonly endedBy: (now: string) => string
  /** Selects the names of the tables, as `name`. */
  readonly tables: string
  /** The elements of a JSON list, as rows with a column `value`. `list`: the parameter. */
  readonly elements: (list: string) => string
  /** A text as the engine keeps it. */
  readonly text: (text: string) => string
  /** A text to find a row by: null, which equals nothing, if no row can have it. */
  readonly sought: (text: string) => string | null
  /** A text that was kept. */
  readonly told: (stored: SqlValue | undefined) => string
}
