/** The indexes of an object table: creates those of its plan, and drops those that would refuse valid objects. */
import type { DatabaseSync } from 'node:sqlite'
import { UnfitDatabase } from '../../errors.ts'
import { quoteName } from '../../sql/quote.ts'
import { breaksUnique } from '../database.ts'
import type { IndexedField, TablePlan } from './schema.ts'

/** Throws UnfitDatabase when a field is declared unique and its stored values aren't. */
export function migrateIndexes(database: DatabaseSync, plan: TablePlan): void {
  const unique = plan.indexed.filter((field) => field.unique)
  const present = dropOutdatedIndexes(database, plan, new Set(unique.map((field) => uniqueName(plan, field))))
  for (const field of unique) {
    if (!present.has(uniqueName(plan, field))) createUnique(database, plan, field)
  }
  for (const columns of plan.orders) {
    if (!present.has(orderedName(plan, columns))) createOrdered(database, plan, columns)
  }
}

/**
 * Returns the names of the existing indexes. The name of an index describes it fully. A unique index that isn't planned
 * would refuse objects that are valid now, so it is dropped; any other index stays, because it may serve relations that
 * this opening (by a command, for example) doesn't know.
 */
function dropOutdatedIndexes(
  database: DatabaseSync,
  plan: TablePlan,
  planned: ReadonlySet<string>,
): ReadonlySet<string> {
  const created = database.prepare(`select name, "unique" from pragma_index_list(?) where origin = 'c'`)
  const indexes = created.all(plan.table).map(({ name, unique }) => ({ name: String(name), unique: unique === 1 }))
  const outdated = indexes.filter(({ name, unique }) => unique && !planned.has(name))
  for (const { name } of outdated) database.exec(`drop index ${quoteName(name)}`)
  return new Set(indexes.map(({ name }) => name))
}

/** The id is the last column, so that the index returns objects with the same values in the order of a list. */
function createOrdered(database: DatabaseSync, plan: TablePlan, columns: readonly string[]): void {
  const by = [...columns, 'id'].map(quoteName).join(', ')
  database.exec(`create index ${quoteName(orderedName(plan, columns))} on ${quoteName(plan.table)} (${by})`)
}

function createUnique(database: DatabaseSync, plan: TablePlan, field: IndexedField): void {
  const name = quoteName(uniqueName(plan, field))
  try {
    database.exec(`create unique index ${name} on ${quoteName(plan.table)} (${quoteName(field.column)})`)
  } catch (error) {
    throw breaksUnique(error) ? notUnique(plan, field, error) : error
  }
}

function notUnique({ resource }: TablePlan, { field }: IndexedField, cause: unknown): UnfitDatabase {
  const what = `the field \`${field}\` of \`${resource}\` is declared unique, but stored objects share a value`
  return new UnfitDatabase(`${what}: give them different values, or remove the declaration`, cause)
}

function uniqueName({ table }: TablePlan, { column }: IndexedField): string {
  return `${table} ${column} unique`
}

function orderedName({ table }: TablePlan, columns: readonly string[]): string {
  return `${[table, ...columns].join(' ')} ordered`
}
