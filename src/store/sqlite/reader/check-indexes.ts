/** Checks the indexes of a table of objects in a file beside its server. */
import type { DatabaseSync } from 'node:sqlite'
import type { CheckedIndexes } from '../../object-reader.ts'
import { quoteName } from '../../sql/quote.ts'
import { isMalformedJson } from '../database.ts'

/** Also finds broken pages of the table. Writers go on meanwhile; the log of their writes grows until it ends. */
export function checkIndexes(database: DatabaseSync, name: string, most: number): CheckedIndexes {
  const table = quoteName(name)
  // The rows that it tells of are found by their number, in the same state of the database.
  database.exec('begin')
  try {
    const told = database
      .prepare(`pragma integrity_check(${table})`)
      .all()
      .map((row) => String(row.integrity_check))
    const faults = told.filter((line) => line !== 'ok').slice(0, most)
    return { faults: faults.map((fault) => ({ ...idOf(database, table, fault), fault })) }
  } catch (error) {
    if (!isMalformedJson(error)) throw error
    return { faults: [], unchecked: 'a document is not JSON, so its index entries cannot be computed' }
  } finally {
    database.exec('rollback')
  }
}

/** SQLite counts the rows of the table from 1, in the order in which it keeps them. */
function idOf(database: DatabaseSync, table: string, fault: string): { readonly id?: string } {
  const nth = /^row (\d+) /.exec(fault)?.[1]
  if (nth === undefined) return {}
  const row = database.prepare(`select id from ${table} order by rowid limit 1 offset ?`).get(Number(nth) - 1)
  return row ? { id: String(row.id) } : {}
}
