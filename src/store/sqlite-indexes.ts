/** The indexes of an object table: those that its plan asks for are made, and what would refuse too much goes. */
import { type Kysely, sql } from 'kysely'
import { UnfitDatabase } from './contract.ts'
import { constraintOf } from './sqlite-errors.ts'
import type { IndexedField, TablePlan, Tables } from './sqlite-schema.ts'

/** Throws UnfitDatabase when a field is declared unique and its stored values aren't. */
export async function migrateIndexes(db: Kysely<Tables>, plan: TablePlan): Promise<void> {
  const unique = plan.indexed.filter((field) => field.unique)
  const present = await dropOutdatedIndexes(db, plan, new Set(unique.map((field) => uniqueName(plan, field))))
  for (const field of unique) {
    if (!present.has(uniqueName(plan, field))) await createUnique(db, plan, field)
  }
  for (const columns of plan.orders) {
    if (!present.has(orderedName(plan, columns))) await createOrdered(db, plan, columns)
  }
}

/**
 * An index's name says all of it. A unique one that isn't planned would refuse what is allowed now; any other one stays,
 * for it may serve relations that this opening (a command's, say) doesn't know. The names of those that are there.
 */
async function dropOutdatedIndexes(
  db: Kysely<Tables>,
  plan: TablePlan,
  planned: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const created = sql<{ name: string; unique: number }>`
    select name, "unique" from pragma_index_list(${plan.table}) where origin = 'c'`
  const { rows } = await created.execute(db)
  const outdated = rows.filter((row) => row.unique === 1 && !planned.has(row.name))
  for (const { name } of outdated) await db.schema.dropIndex(name).execute()
  return new Set(rows.map((row) => row.name))
}

/** With the id behind them, objects of the same values come out of the index in the order of a list. */
async function createOrdered(db: Kysely<Tables>, plan: TablePlan, columns: readonly string[]): Promise<void> {
  const name = sql.id(orderedName(plan, columns))
  const by = sql.join([...columns, 'id'].map((column) => sql.ref(column)))
  await sql`create index ${name} on ${sql.table(plan.table)} (${by})`.execute(db)
}

async function createUnique(db: Kysely<Tables>, plan: TablePlan, field: IndexedField): Promise<void> {
  const name = sql.id(uniqueName(plan, field))
  try {
    await sql`create unique index ${name} on ${sql.table(plan.table)} (${sql.ref(field.column)})`.execute(db)
  } catch (error) {
    throw constraintOf(error) === undefined ? error : notUnique(plan, field, error)
  }
}

function notUnique({ resource }: TablePlan, { field }: IndexedField, cause: unknown): UnfitDatabase {
  const what = `the field \`${field}\` of \`${resource}\` is declared unique, but stored objects share a value`
  return new UnfitDatabase(`${what}: make them differ or take the declaration back`, cause)
}

function uniqueName({ table }: TablePlan, { column }: IndexedField): string {
  return `${table} ${column} unique`
}

function orderedName({ table }: TablePlan, columns: readonly string[]): string {
  return `${[table, ...columns].join(' ')} ordered`
}
