/** Reads the rows of a table as they are stored, damaged ones too, and checks what SQLite keeps beside them. */
import type { DatabaseSync } from 'node:sqlite'
import type { Resource, Resources } from '../../../resources/resource.ts'
import { storedResources } from '../../../resources/stored-resources.ts'
import type { CheckedIndexes, RowPage, SharingObjects, StoredRow, UndeclaredObjects } from '../../object-reader.ts'
import { quoteName } from '../../sql/quote.ts'
import { isMalformedJson } from '../database.ts'
import { comparableField, OBJECT_TABLES, planTable, resourceOfTable } from '../layout/schema.ts'

export function tableNameOf(resource: Resource): string {
  return planTable(resource, []).table
}

export function hasTable(database: DatabaseSync, table: string): boolean {
  return database.prepare("select 1 from sqlite_schema where type = 'table' and name = ?").get(table) !== undefined
}

/** The quoted name of the table; undefined without one. */
function quotedTable(database: DatabaseSync, resource: Resource): string | undefined {
  const table = tableNameOf(resource)
  return hasTable(database, table) ? quoteName(table) : undefined
}

export function countRows(database: DatabaseSync, resource: Resource): number {
  const table = quotedTable(database, resource)
  return table === undefined ? 0 : Number(database.prepare(`select count(*) as n from ${table}`).get()?.n)
}

/**
 * No row disagrees with its document: the columns beside the document are virtual, so SQLite computes them from it on
 * reading. Only an index on them can be wrong, which `checkIndexes` finds. A place has the bytes of the id, which is text
 * that may not be well-formed.
 */
export function readRows(database: DatabaseSync, resource: Resource, page: RowPage): readonly StoredRow[] {
  const table = quotedTable(database, resource)
  if (table === undefined) return []
  const { after, limit, bytes = Number.POSITIVE_INFINITY } = page
  const following = after === undefined ? '' : 'where id > cast(unhex(?) as text)'
  const text = `select hex(id) as place, id, version, created_at, updated_at, document from ${table} ${following}
    order by id limit ?`
  const rows: StoredRow[] = []
  let size = 0
  for (const row of database.prepare(text).iterate(...(after === undefined ? [] : [after]), limit)) {
    rows.push({
      id: String(row.id),
      place: String(row.place),
      version: Number(row.version),
      createdAt: String(row.created_at),
      updatedAt: String(row.updated_at),
      text: String(row.document),
      disagreeing: [],
    })
    size += Buffer.byteLength(String(row.document))
    if (size > bytes) break
  }
  return rows
}

export function findExisting(database: DatabaseSync, resource: Resource, ids: readonly string[]): ReadonlySet<string> {
  const table = quotedTable(database, resource)
  if (table === undefined) return new Set()
  // Text that isn't well-formed would be bound with U+FFFD in it, and could match another object.
  const sought = JSON.stringify(ids.filter((id) => id.isWellFormed()))
  const query = database.prepare(`select id from ${table} where id in (select value from json_each(?))`)
  return new Set(query.all(sought).map(({ id }) => String(id)))
}

export function findShared(database: DatabaseSync, resource: Resource, field: string, most: number): SharingObjects {
  const table = quotedTable(database, resource)
  if (table === undefined) return { count: 0, ids: [] }
  const value = `case when json_valid(document) then ${comparableField(field)} end`
  const valued = `with valued as (select id, ${value} as value from ${table}),
    twice as (select value, count(*) as n from valued where value is not null group by value having n > 1)`
  const count = Number(database.prepare(`${valued} select coalesce(sum(n), 0) as n from twice`).get()?.n)
  if (count === 0) return { count, ids: [] }
  const first = `${valued} select id from valued where value in (select value from twice) order by id limit ?`
  return {
    count,
    ids: database
      .prepare(first)
      .all(most)
      .map(({ id }) => String(id)),
  }
}

export function undeclaredObjects(database: DatabaseSync, resources: Resources): readonly UndeclaredObjects[] {
  const declared = new Set(storedResources(resources).map(tableNameOf))
  const stored = database
    .prepare(OBJECT_TABLES)
    .all()
    .map(({ name }) => String(name))
  return stored
    .filter((table) => !declared.has(table))
    .map((table) => {
      const count = Number(database.prepare(`select count(*) as n from ${quoteName(table)}`).get()?.n)
      return { resource: resourceOfTable(table), count }
    })
    .filter(({ count }) => count > 0)
}

/** Also finds broken pages of the table. Writers go on meanwhile; the log of their writes grows until it ends. */
export function checkIndexes(database: DatabaseSync, resource: Resource, most: number): CheckedIndexes {
  const table = quotedTable(database, resource)
  if (table === undefined) return { faults: [] }
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
