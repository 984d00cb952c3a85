/** Which layout a database file has, and whether this program may work on it. */
import type { DatabaseSync } from 'node:sqlite'
import { UnfitDatabase } from '../../contract.ts'
import type { TablePlan } from './schema.ts'

/** The layout that this program writes; `user_version` of the file. A later program that changes it migrates. */
const LAYOUT = 2

/** Marks the file as one of this layout. Throws UnfitDatabase for a later one. */
export function takeLayout(database: DatabaseSync): void {
  const found = layoutOf(database)
  if (found > LAYOUT) throw laterLayout(found)
  // Setting it is a write, which waits for the disk.
  if (found !== LAYOUT) database.exec(`pragma user_version = ${LAYOUT}`)
}

/** For work beside a server, which changes no table. Throws UnfitDatabase where a server would have to migrate first. */
export function refuseOtherLayout(database: DatabaseSync, plans: readonly TablePlan[]): void {
  const found = layoutOf(database)
  if (found > LAYOUT) throw laterLayout(found)
  if (found === LAYOUT && plans.every((plan) => hasColumns(database, plan))) return
  throw new UnfitDatabase('the database has not been opened by a server of this version and schemas: start it once')
}

function layoutOf(database: DatabaseSync): number {
  return Number(database.prepare('pragma user_version').get()?.user_version)
}

function hasColumns(database: DatabaseSync, { table, indexed, times }: TablePlan): boolean {
  const present = columnsOf(database, table)
  return ['id', ...[...indexed, ...times].map(({ column }) => column)].every((column) => present.has(column))
}

/** Generated ones among them; none where there is no such table. */
export function columnsOf(database: DatabaseSync, table: string): ReadonlySet<string> {
  const rows = database.prepare('select name from pragma_table_xinfo(?)').all(table)
  return new Set(rows.map(({ name }) => String(name)))
}

function laterLayout(found: number): UnfitDatabase {
  return new UnfitDatabase(`the database has layout ${found} and this version knows ${LAYOUT}: start a later version`)
}
