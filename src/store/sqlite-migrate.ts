/** Brings a database file to what the resources declare: tables, columns and indexes are added. */
import { type Kysely, sql } from 'kysely'
import { UnfitDatabase } from './contract.ts'
import { USERS } from './directory.ts'
import type { Columns } from './sqlite-condition.ts'
import { createDirectory } from './sqlite-directory-tables.ts'
import { constraintOf } from './sqlite-errors.ts'
import { columnsOf, takeLayout } from './sqlite-layout.ts'
import {
  comparableField,
  type IndexedField,
  LIST_MARK,
  SERVER_COLUMNS,
  type TablePlan,
  type Tables,
} from './sqlite-schema.ts'

/** Throws UnfitDatabase: the file is of a later layout, or a field is declared unique and its stored values aren't. */
export async function migrate(db: Kysely<Tables>, plans: readonly TablePlan[]): Promise<void> {
  // Immediate: of two processes that start together, the second one waits and finds everything done.
  await sql`begin immediate`.execute(db)
  try {
    await takeLayout(db)
    await createMetaTables(db)
    await createOutbox(db)
    await createLeases(db)
    await createReplays(db)
    await createAttempts(db)
    for (const plan of plans) await migrateTable(db, plan)
    await createDirectory(
      db,
      plans.find(({ resource }) => resource === USERS),
    )
    await sql`commit`.execute(db)
  } catch (error) {
    // After some errors (a full disk) the engine has rolled back by itself; what went wrong first is what to tell.
    await sql`rollback`.execute(db).catch(() => undefined)
    throw error
  }
}

/**
 * The columns that can answer for their field. A generated one that holds a list can't: such an object is from before
 * the field was declared a scalar, and the list's elements count.
 */
export async function answeringColumns(db: Kysely<Tables>, { table, indexed }: TablePlan): Promise<Columns> {
  const answering = new Map(SERVER_COLUMNS)
  for (const { field, column } of indexed) {
    const list = sql`select 1 from ${sql.table(table)} where ${sql.ref(column)} = ${LIST_MARK} limit 1`
    if ((await list.execute(db)).rows.length === 0) answering.set(field, column)
  }
  return answering
}

async function createMetaTables(db: Kysely<Tables>): Promise<void> {
  const named = (table: 'secrets' | 'marks', type: 'blob' | 'text') =>
    db.schema
      .createTable(table)
      .ifNotExists()
      .addColumn('name', 'text', (column) => column.primaryKey().notNull())
      .addColumn('value', type, (column) => column.notNull())
      .modifyEnd(sql`strict`)
      .execute()
  await named('secrets', 'blob')
  await named('marks', 'text')
}

/** Who may do what one process at a time does. */
async function createLeases(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .createTable('leases')
    .ifNotExists()
    .addColumn('name', 'text', (column) => column.primaryKey().notNull())
    .addColumn('holder', 'text', (column) => column.notNull())
    .addColumn('until', 'integer', (column) => column.notNull())
    .modifyEnd(sql`strict`)
    .execute()
}

/** `object` is JSON, as the object was when it was created; `at` in milliseconds since the epoch. */
async function createReplays(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .createTable('replays')
    .ifNotExists()
    .addColumn('subject', 'text', (column) => column.notNull())
    .addColumn('route', 'text', (column) => column.notNull())
    .addColumn('key', 'text', (column) => column.notNull())
    .addColumn('fingerprint', 'text', (column) => column.notNull())
    .addColumn('object', 'text', (column) => column.notNull())
    .addColumn('at', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('replays key', ['subject', 'route', 'key'])
    .modifyEnd(sql`strict`)
    .execute()
  await db.schema.createIndex('replays at').ifNotExists().on('replays').column('at').execute()
}

/** Sign-ins that failed; times in milliseconds since the epoch. */
async function createAttempts(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .createTable('attempts')
    .ifNotExists()
    .addColumn('key', 'text', (column) => column.primaryKey().notNull())
    .addColumn('failures', 'integer', (column) => column.notNull())
    .addColumn('at', 'integer', (column) => column.notNull())
    .addColumn('expires_at', 'integer', (column) => column.notNull())
    .modifyEnd(sql`strict`)
    .execute()
  await db.schema.createIndex('attempts expires').ifNotExists().on('attempts').column('expires_at').execute()
}

/** `autoincrement`: a number that was used is never used again, also when its row is gone. */
async function createOutbox(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .createTable('outbox')
    .ifNotExists()
    .addColumn('sequence', 'integer', (column) => column.primaryKey().autoIncrement())
    .addColumn('record', 'text', (column) => column.notNull())
    .modifyEnd(sql`strict`)
    .execute()
}

async function migrateTable(db: Kysely<Tables>, plan: TablePlan): Promise<void> {
  await createObjectTable(db, plan)
  await addColumns(db, plan)
  const present = await dropOutdatedIndexes(db, plan)
  for (const field of plan.indexed) {
    if (!present.has(indexName(plan, field))) await createIndex(db, plan, field)
  }
  for (const { column } of plan.times) {
    const ordered = { column, unique: false }
    if (!present.has(indexName(plan, ordered))) await createIndex(db, plan, { field: column, ...ordered })
  }
}

async function createObjectTable(db: Kysely<Tables>, { table }: TablePlan): Promise<void> {
  await db.schema
    .createTable(table)
    .ifNotExists()
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('version', 'integer', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('updated_at', 'text', (column) => column.notNull())
    .addColumn('document', 'text', (column) => column.notNull())
    .modifyEnd(sql`strict`)
    .execute()
}

async function addColumns(db: Kysely<Tables>, { table, indexed, times }: TablePlan): Promise<void> {
  const present = await columnsOf(db, table)
  const values = indexed.map(({ field, column }) => ({ column, generated: comparableField(field) }))
  for (const { column, generated } of [...values, ...times]) {
    if (!generated || present.has(column)) continue
    await db.schema
      .alterTable(table)
      .addColumn(column, sql`any`, (definition) => definition.generatedAlwaysAs(generated))
      .execute()
  }
}

/**
 * An index's name says all of it. A unique one that isn't planned would refuse what is allowed now; any other one stays,
 * for it may serve relations that this opening (a command's, say) doesn't know. The names of those that are there.
 */
async function dropOutdatedIndexes(db: Kysely<Tables>, plan: TablePlan): Promise<ReadonlySet<string>> {
  const planned = new Set(plan.indexed.map((field) => indexName(plan, field)))
  const created = sql<{ name: string; unique: number }>`
    select name, "unique" from pragma_index_list(${plan.table}) where origin = 'c'`
  const { rows } = await created.execute(db)
  const outdated = rows.filter((row) => row.unique === 1 && !planned.has(row.name))
  for (const { name } of outdated) await db.schema.dropIndex(name).execute()
  return new Set(rows.map((row) => row.name))
}

async function createIndex(db: Kysely<Tables>, plan: TablePlan, field: IndexedField): Promise<void> {
  const name = sql.id(indexName(plan, field))
  const [table, column] = [sql.table(plan.table), sql.ref(field.column)]
  if (!field.unique) {
    // With the id behind it, one value's objects come out of the index in the order of a list.
    await sql`create index ${name} on ${table} (${column}, id)`.execute(db)
    return
  }
  try {
    await sql`create unique index ${name} on ${table} (${column})`.execute(db)
  } catch (error) {
    throw constraintOf(error) === undefined ? error : notUnique(plan, field, error)
  }
}

function notUnique({ resource }: TablePlan, { field }: IndexedField, cause: unknown): UnfitDatabase {
  const what = `the field \`${field}\` of \`${resource}\` is declared unique, but stored objects share a value`
  return new UnfitDatabase(`${what}: make them differ or take the declaration back`, cause)
}

function indexName({ table }: TablePlan, { column, unique }: Pick<IndexedField, 'column' | 'unique'>): string {
  return `${table} ${column} ${unique ? 'unique' : 'ordered'}`
}
