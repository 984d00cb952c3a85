/** Reads objects of a database file that may belong to a running server; creates, changes and migrates nothing. */
import { existsSync } from 'node:fs'
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import type { StoredObject } from '../../resources/object.ts'
import type { Resource } from '../../resources/resource.ts'
import type { ObjectReader } from '../contract.ts'
import { StoreUnavailable } from '../errors.ts'
import { answering, openReadOnly } from './database.ts'
import { OBJECT_COLUMNS, planTable, stored } from './layout/schema.ts'
import { quoteName } from './query/text.ts'

/** Throws StoreUnavailable when there is no such file or it can't be opened. */
export function openSqliteReader(file: string): ObjectReader {
  if (!existsSync(file)) throw new StoreUnavailable(new Error('there is no such file'))
  const database = answering(() => openReadOnly(file))
  return {
    get: (resource, id) => answering(() => read(database, resource, id)),
    ids: (resource) => answering(() => readIds(database, resource)),
    close: () => database.close(),
  }
}

function read(database: DatabaseSync, resource: Resource, id: string): StoredObject | undefined {
  const { table } = planTable(resource, [])
  const known = database.prepare("select 1 from sqlite_schema where type = 'table' and name = ?").get(table)
  // Text that isn't well-formed would be bound with U+FFFD in it, and could match another object.
  if (!known || !id.isWellFormed()) return undefined
  const query = database.prepare(`select ${OBJECT_COLUMNS.join()} from ${quoteName(table)} where id = ?`)
  query.setReturnArrays(true)
  const row = query.get(id)
  return row && stored(row as unknown as readonly SQLOutputValue[])
}

function readIds(database: DatabaseSync, resource: Resource): ReadonlySet<string> {
  const rows = database.prepare(`select id from ${quoteName(planTable(resource, []).table)}`).all()
  return new Set(rows.map(({ id }) => String(id)))
}
