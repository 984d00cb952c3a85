/** Migrates a database to what the resources declare: adds tables, triggers and indexes. */
import { USERS } from '../../../decide/policy.ts'
import type { ConnectionSettings } from '../../contract.ts'
import { UnfitDatabase } from '../../errors.ts'
import { migrateChanges } from '../../sql/changes.ts'
import { migrateIndexes, type TablePlan } from '../../sql/indexes.ts'
import { type Ask, done, quoteName, sql } from '../../sql/statement.ts'
import { directoryTables, laterLayout, notMigrated, storeTables } from '../../sql/tables.ts'
import { withoutLimit } from '../connections/client-options.ts'
import { DIALECT } from '../dialect.ts'
import { isOfOtherTable } from '../failures.ts'
import { keySql, type QueriedTable } from '../query/condition.ts'
import { CUT, HASH_LENGTH, TABLE_PREFIX } from '../stored-text.ts'
import { LIST } from './keys.ts'
import {
  CHANGES_TRIGGER,
  changesFunction,
  changesTrigger,
  directoryTriggers,
  indexesOf,
  OWN_TABLES,
  objectTable,
  uniqueIndex,
} from './tables.ts'

/** The layout that this program writes. A later program that changes the layout must migrate the database. */
export const LAYOUT = 2

/**
 * Must run in the transaction of a migration. Throws UnfitDatabase: the database is of a later layout, or has tables of
 * another program, or a field is declared unique and its stored values aren't.
 */
export async function migrate(ask: Ask, plans: readonly TablePlan[]): Promise<void> {
  await refuseOtherEncoding(ask)
  try {
    await addMissing(ask, plans)
  } catch (error) {
    if (!isOfOtherTable(error)) throw error
    const fault = `another program has a table of the same name in the database (${error.message})`
    throw new UnfitDatabase(`${fault}: create a database for Sallyport alone`)
  }
}

async function addMissing(ask: Ask, plans: readonly TablePlan[]): Promise<void> {
  const run = (text: string) => ask({ text, values: [] })
  for (const table of [...OWN_TABLES, ...storeTables(DIALECT), ...directoryTables(DIALECT)]) await run(table)
  await takeLayout(ask)
  await run('insert into turns select 0 where not exists (select 1 from turns)')
  await run(changesFunction())
  for (const plan of plans) {
    await run(objectTable(plan.table))
    await done(migrateIndexes(indexesOf(plan)), ask)
    await done(migrateChanges(plan, await newTriggers(ask, plan)), ask)
  }
  const users = plans.find(({ resource }) => resource === USERS)
  if (users) await createTriggers(ask, users.table)
}

/** Texts of one encoding compare by code points. */
async function refuseOtherEncoding(ask: Ask): Promise<void> {
  const [[encoding] = []] = await ask({ text: 'show server_encoding', values: [] })
  if (encoding === 'UTF8') return
  throw new UnfitDatabase(`the database has the encoding ${encoding}: create one with the encoding UTF8`)
}

async function takeLayout(ask: Ask): Promise<void> {
  const found = await layoutIn(ask)
  if (found === undefined) await ask({ text: `insert into layout values (${LAYOUT})`, values: [] })
  else if (found > LAYOUT) throw laterLayout(found, LAYOUT)
  else if (found < LAYOUT) await leaveFirstLayout(ask)
}

/** The first layout marked the keys of long texts with other characters, which didn't sort them among short texts. */
async function leaveFirstLayout(ask: Ask): Promise<void> {
  const tables = [...(await tablesIn(ask))].filter((name) => name.startsWith(TABLE_PREFIX))
  const [mark, hash] = [String.raw`\\u0001\\u0004`, `([A-Za-z0-9_-]{${HASH_LENGTH}}")`]
  for (const table of tables) {
    const text = `update ${quoteName(table)} set keys = regexp_replace(keys::text, $1, $2, 'g')::jsonb
      where keys::text ~ $1`
    await ask({ text, values: [mark + hash, `${CUT}\\1`] })
  }
  await ask({ text: `update layout set number = ${LAYOUT}`, values: [] })
}

async function layoutIn(ask: Ask): Promise<number | undefined> {
  const [row] = await ask({ text: 'select number from layout', values: [] })
  return row && Number(row[0])
}

async function newTriggers(ask: Ask, { resource, table, keepMs }: TablePlan) {
  const isLogged = (await triggersOf(ask, table)).has(CHANGES_TRIGGER)
  return {
    drop: isLogged && keepMs === undefined ? [`drop trigger ${CHANGES_TRIGGER} on ${quoteName(table)}`] : [],
    // Waits for the writes that have begun: their changes are missing.
    make: !isLogged && keepMs !== undefined ? [changesTrigger({ resource, table })] : [],
  }
}

/** Creating a trigger waits for all writes, so it is done once. */
async function createTriggers(ask: Ask, users: string): Promise<void> {
  if ((await triggersOf(ask, users)).has('users_deleted')) return
  for (const trigger of directoryTriggers(users)) await ask({ text: trigger, values: [] })
}

async function triggersOf(ask: Ask, table: string): Promise<ReadonlySet<string>> {
  const text = `select trigger_name from information_schema.triggers
    where event_object_schema = current_schema() and event_object_table = $1`
  return new Set((await ask({ text, values: [table] })).map(([name]) => String(name)))
}

/** Changes no table, because a server may be running. Throws UnfitDatabase if a server must migrate first. */
export async function refuseOtherLayout(ask: Ask, plans: readonly TablePlan[]): Promise<void> {
  const present = await tablesIn(ask)
  const found = present.has('layout') ? await layoutIn(ask) : undefined
  if (found !== undefined && found > LAYOUT) throw laterLayout(found, LAYOUT)
  const unique = plans.flatMap((plan) => plan.unique.map(({ fields }) => uniqueIndex(plan.table, fields)))
  const isFit = found === LAYOUT && plans.every(({ table }) => present.has(table)) && (await haveIndexes(ask, unique))
  if (isFit) return
  throw notMigrated()
}

/** Without them, a command could store a value twice. */
async function haveIndexes(ask: Ask, names: readonly string[]): Promise<boolean> {
  const text = 'select count(*) from pg_indexes where schemaname = current_schema() and indexname = any($1::text[])'
  const [[count] = []] = await ask({ text, values: [names] })
  return Number(count) === names.length
}

export async function tablesIn(ask: Ask): Promise<ReadonlySet<string>> {
  return new Set((await ask(sql(DIALECT.tables))).map(([name]) => String(name)))
}

/**
 * The table as conditions look at it. A field that holds a list in some object has more than one key: such an object was
 * stored before the field was declared a scalar, and the list's elements count.
 */
export async function queriedTable(ask: Ask, { table, indexed, driving }: TablePlan): Promise<QueriedTable> {
  const source = quoteName(table)
  if (indexed.length === 0) return { name: source, driving, scalars: new Set() }
  const lists = indexed.map((field) => {
    return `exists (select 1 from ${source} as o where ${keySql(field, 'o.')} = '${LIST}')`
  })
  const [found = []] = await ask({ text: `select ${lists.join()}`, values: [] })
  return { name: source, driving, scalars: new Set(indexed.filter((_, at) => found[at] === false)) }
}

/** The advisory lock of migrations: any number that no other program uses. */
const MIGRATION_LOCK = 7_255_311

/**
 * When two instances start together, the second one waits and finds everything done. An index of a large table takes its
 * time.
 */
export function migrating(url: string, settings: ConnectionSettings, work: (ask: Ask) => Promise<void>): Promise<void> {
  return withoutLimit({ url, settings, begin: 'begin; set local lock_timeout = 0' }, async (ask) => {
    await ask(sql(`select pg_advisory_xact_lock(${MIGRATION_LOCK})`))
    await work(ask)
  })
}
