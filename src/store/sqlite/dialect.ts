/** SQLite's dialect. */
import type { SqlDialect } from '../sql/statement.ts'

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
  text: (text) => text,
  // It would be bound with U+FFFD in it, and could find another row.
  sought: (text) => (text.isWellFormed() ? text : null),
  told: String,
}
