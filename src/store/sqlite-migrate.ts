/** Brings a database file to what the resources declare: tables, columns and indexes are added. */
import { type Kysely, sql } from 'kysely'
import { USERS } from './directory.ts'
import type { Columns } from './sqlite-condition.ts'
import { createDirectory } from './sqlite-directory-tables.ts'
import { migrateIndexes } from './sqlite-indexes.ts'
import { columnsOf, takeLayout } from './sqlite-layout.ts'
import { comparableField, LIST_MARK, SERVER_COLUMNS, type TablePlan, type Tables } from './sqlite-schema.ts'

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
  await migrateIndexes(db, plan)
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
