/** Migrates a database file to what the resources declare: adds tables, columns and indexes. */
import type { DatabaseSync } from 'node:sqlite'
import { USERS } from '../../../decide/policy.ts'
import { addChangeSql, migrateChanges } from '../../sql/changes.ts'
import { type IndexedTable, migrateIndexes, type TablePlan } from '../../sql/indexes.ts'
import { PROBED } from '../../sql/named-values.ts'
import { SERVER_COLUMNS } from '../../sql/objects.ts'
import { quoteLiteral, quoteName, sql } from '../../sql/statement.ts'
import {
  AFTER_INSERTED_USER,
  afterDeletedUser,
  directoryTables,
  laterLayout,
  notMigrated,
  storeTables,
} from '../../sql/tables.ts'
import { breaksUnique, inTransaction } from '../database.ts'
import type { QueriedTable, ValueColumns } from '../query/condition.ts'
import { DIALECT, StatementRunner } from '../statements.ts'
import { columnOf, columnOfKey, comparableField, fieldsWithColumn, LIST_MARK, timeColumn } from './schema.ts'

/** Throws UnfitDatabase: the file is of a later layout, or a field is declared unique and its stored values aren't. */
export function migrate(database: DatabaseSync, plans: readonly TablePlan[]): void {
  // When two processes start together, the second one waits and finds everything done.
  inTransaction(database, () => {
    takeLayout(database)
    for (const table of [...storeTables(DIALECT), ...directoryTables(DIALECT)]) database.exec(table)
    // The readiness check writes this mark; it changes nothing else.
    database.prepare(`insert into marks (name, value) values (?, 'answered') on conflict do nothing`).run(PROBED)
    for (const plan of plans) migrateTable(database, plan)
    const users = plans.find(({ resource }) => resource === USERS)
    if (users) createTriggers(database, users)
  })
}

/**
 * The columns that can answer for their field. A generated column that contains a list can't: such an object was stored
 * before the field was declared a scalar, and the list's elements count.
 */
function answeringColumns(database: DatabaseSync, plan: TablePlan): ValueColumns {
  const answering = new Map(SERVER_COLUMNS)
  for (const field of fieldsWithColumn(plan)) {
    const column = quoteName(columnOf(field))
    const list = `select 1 from ${quoteName(plan.table)} where ${column} = ${LIST_MARK} limit 1`
    if (!database.prepare(list).get()) answering.set(field, column)
  }
  return answering
}

/** The table as conditions look at it. */
export function queriedTable(database: DatabaseSync, plan: TablePlan): QueriedTable {
  const times = new Map(plan.times.map((field) => [field, quoteName(timeColumn(field).column)]))
  return { name: quoteName(plan.table), scalars: answeringColumns(database, plan), times, driving: plan.driving }
}

/** A new table has all columns at once: SQLite reads its whole schema again for each one that is added. */
function migrateTable(database: DatabaseSync, plan: TablePlan): void {
  const generated = generatedColumns(plan).map((column) => `, ${definitionOf(column)}`)
  database.exec(`create table if not exists ${quoteName(plan.table)} (
    id text primary key not null, version integer not null, created_at text not null, updated_at text not null,
    document text not null${generated.join('')}) strict`)
  addColumns(database, plan)
  const statements = new StatementRunner(database)
  statements.run(migrateIndexes(indexesOf(plan)))
  statements.run(migrateChanges(plan, newTriggers(database, plan)))
}

function newTriggers(database: DatabaseSync, { resource, table, keepMs }: TablePlan) {
  const present = new Map<string, string>()
  const found = database.prepare("select name, sql from sqlite_schema where type = 'trigger' and name glob ? || ' *'")
  for (const { name, sql: text } of found.all(table)) present.set(String(name), String(text))
  const wanted = keepMs === undefined ? new Map<string, string>() : changeTriggers(resource, table)
  const isSame = present.size === wanted.size && [...wanted].every(([name, text]) => present.get(name) === text)
  if (isSame) return { drop: [], make: [] }
  return { drop: [...present.keys()].map((name) => `drop trigger ${quoteName(name)}`), make: [...wanted.values()] }
}

/** By their names. */
function changeTriggers(resource: string, table: string): ReadonlyMap<string, string> {
  const events = { insert: ['new'], update: ['old', 'new'], delete: ['old'] } as const
  const now = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"
  const triggers = Object.entries(events).map(([event, sides]): [string, string] => {
    const of = (column: string) => `${sides.at(-1)}.${column}`
    const at = event === 'delete' ? now : of('updated_at')
    const adds = addChangeSql({ resource: quoteLiteral(resource), at, writtenBy: 'null', of, sides })
    const name = `${table} ${event}`
    return [name, `CREATE TRIGGER ${quoteName(name)} after ${event} on ${quoteName(table)} begin ${adds} end`]
  })
  return new Map(triggers)
}

function indexesOf({ resource, table, unique, orders }: TablePlan): IndexedTable {
  return {
    resource,
    table,
    unique: unique.map(({ field, fields }) => {
      const columns = fields.map(columnOf)
      return { field, name: `${[table, ...columns].join(' ')} unique`, terms: columns.map(quoteName).join() }
    }),
    // The id is the last column, so that the index returns objects with the same values in the order of a list.
    ordered: orders.map((keys) => {
      const columns = keys.map(columnOfKey)
      return { name: `${[table, ...columns].join(' ')} ordered`, terms: [...columns, 'id'].map(quoteName).join() }
    }),
    present: sql(`select name, "unique" from pragma_index_list($1) where origin = 'c'`, table),
    breaksUnique,
  }
}

function createTriggers(database: DatabaseSync, { table }: TablePlan): void {
  const on = quoteName(table)
  database.exec(
    `create trigger if not exists "users deleted" after delete on ${on} begin ${afterDeletedUser(DIALECT)} end`,
  )
  database.exec(`create trigger if not exists "users inserted" after insert on ${on} begin ${AFTER_INSERTED_USER} end`)
}

function addColumns(database: DatabaseSync, plan: TablePlan): void {
  const { table } = plan
  for (const column of outdatedTimes(database, plan)) dropColumn(database, table, column)
  const present = columnsOf(database, table)
  for (const column of generatedColumns(plan)) {
    if (!present.has(column.column)) database.exec(`alter table ${quoteName(table)} add column ${definitionOf(column)}`)
  }
}

interface GeneratedColumn {
  readonly column: string
  readonly generated: string
}

function generatedColumns(plan: TablePlan): readonly GeneratedColumn[] {
  const values = fieldsWithColumn(plan).map((field) => ({ column: columnOf(field), generated: comparableField(field) }))
  return [...values, ...generatedTimes(plan)]
}

function generatedTimes({ times }: TablePlan): readonly GeneratedColumn[] {
  return times.map(timeColumn).flatMap(({ column, generated }) => (generated ? [{ column, generated }] : []))
}

function definitionOf({ column, generated }: GeneratedColumn): string {
  return `${quoteName(column)} any generated always as (${generated})`
}

/** The columns of instants that an earlier version defined in another way. */
function outdatedTimes(database: DatabaseSync, plan: TablePlan): readonly string[] {
  const present = columnsOf(database, plan.table)
  const schema = String(database.prepare('select sql from sqlite_schema where name = ?').get(plan.table)?.sql)
  return generatedTimes(plan)
    .filter((one) => present.has(one.column) && !schema.includes(definitionOf(one)))
    .map(({ column }) => column)
}

/** With its indexes: `migrateIndexes` makes them again. */
function dropColumn(database: DatabaseSync, table: string, column: string): void {
  const indexes = database.prepare(
    'select l.name from pragma_index_list(?) l join pragma_index_info(l.name) i where i.name = ?',
  )
  for (const { name } of indexes.all(table, column)) database.exec(`drop index ${quoteName(String(name))}`)
  database.exec(`alter table ${quoteName(table)} drop column ${quoteName(column)}`)
}

/**
 * The layout that this program writes; `user_version` of the file. A later program that changes the layout must migrate
 * the file.
 */
export const LAYOUT = 3

/** Marks the file as one of this layout. Throws UnfitDatabase for a later one. */
function takeLayout(database: DatabaseSync): void {
  refuseLaterLayout(database)
  // Setting it is a write that waits for the disk.
  if (layoutOf(database) !== LAYOUT) database.exec(`pragma user_version = ${LAYOUT}`)
}

/** Changes no table, because a server may be running. Throws UnfitDatabase if a server must migrate first. */
export function refuseOtherLayout(database: DatabaseSync, plans: readonly TablePlan[]): void {
  refuseLaterLayout(database)
  if (layoutOf(database) === LAYOUT && plans.every((plan) => hasColumns(database, plan))) return
  throw notMigrated()
}

/** Throws UnfitDatabase. */
export function refuseLaterLayout(database: DatabaseSync): void {
  const found = layoutOf(database)
  if (found > LAYOUT) throw laterLayout(found, LAYOUT)
}

export function layoutOf(database: DatabaseSync): number {
  return Number(database.prepare('pragma user_version').get()?.user_version)
}

function hasColumns(database: DatabaseSync, plan: TablePlan): boolean {
  const present = columnsOf(database, plan.table)
  const wanted = ['id', ...fieldsWithColumn(plan).map(columnOf), ...plan.times.map((field) => timeColumn(field).column)]
  return wanted.every((column) => present.has(column)) && outdatedTimes(database, plan).length === 0
}

export function hasTable(database: DatabaseSync, table: string): boolean {
  return database.prepare("select 1 from sqlite_schema where type = 'table' and name = ?").get(table) !== undefined
}

/** Includes generated columns; empty if there is no such table. */
export function columnsOf(database: DatabaseSync, table: string): ReadonlySet<string> {
  const rows = database.prepare('select name from pragma_table_xinfo(?)').all(table)
  return new Set(rows.map(({ name }) => String(name)))
}
