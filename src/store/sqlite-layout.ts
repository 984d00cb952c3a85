/** Which layout a database file has, and whether this program may work on it. */
import { type Kysely, sql } from 'kysely'
import { UnfitDatabase } from './contract.ts'
import type { TablePlan, Tables } from './sqlite-schema.ts'

/** The layout that this program writes; `user_version` of the file. A later program that changes it migrates. */
const LAYOUT = 2

/** Marks the file as one of this layout. Throws UnfitDatabase for a later one. */
export async function takeLayout(db: Kysely<Tables>): Promise<void> {
  const found = await layoutOf(db)
  if (found > LAYOUT) throw laterLayout(found)
  await sql`pragma user_version = ${sql.lit(LAYOUT)}`.execute(db)
}

/** For work beside a server, which changes no table. Throws UnfitDatabase where a server would have to migrate first. */
export async function refuseOtherLayout(db: Kysely<Tables>, plans: readonly TablePlan[]): Promise<void> {
  const found = await layoutOf(db)
  if (found > LAYOUT) throw laterLayout(found)
  if (found === LAYOUT && (await Promise.all(plans.map((plan) => hasColumns(db, plan)))).every(Boolean)) return
  throw new UnfitDatabase('the database has not been opened by a server of this version and schemas: start it once')
}

async function layoutOf(db: Kysely<Tables>): Promise<number> {
  const { rows } = await sql<{ user_version: number }>`pragma user_version`.execute(db)
  return rows[0]?.user_version ?? 0
}

async function hasColumns(db: Kysely<Tables>, { table, indexed, times }: TablePlan): Promise<boolean> {
  const present = await columnsOf(db, table)
  return ['id', ...[...indexed, ...times].map(({ column }) => column)].every((column) => present.has(column))
}

/** Generated ones among them; none where there is no such table. */
export async function columnsOf(db: Kysely<Tables>, table: TablePlan['table']): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ name: string }>`select name from pragma_table_xinfo(${table})`.execute(db)
  return new Set(rows.map(({ name }) => name))
}

function laterLayout(found: number): UnfitDatabase {
  return new UnfitDatabase(`the database has layout ${found} and this version knows ${LAYOUT}: start a later version`)
}
