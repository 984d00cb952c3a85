/** Reads objects of a database file that may belong to a running server; creates, changes and migrates nothing. */
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import { simplify } from '../../../decide/conditions/simplify-condition.ts'
import type { Scalar, StoredObject } from '../../../resources/object.ts'
import type { Resource, Resources } from '../../../resources/resource.ts'
import type { MigrationState } from '../../migrations.ts'
import type { ObjectReader } from '../../object-reader.ts'
import { quoteName } from '../../sql/quote.ts'
import { readFitted, readStored } from '../commits/migration-state.ts'
import { columnsOf, queriedTable } from '../layout/migrate.ts'
import { OBJECT_COLUMNS, planTable, stored } from '../layout/schema.ts'
import { conditionSql } from '../query/condition.ts'
import { boundValues } from '../query/condition-values.ts'
import { Lookups } from '../query/lookups.ts'
import { outermost, type TableOf } from '../query/scope.ts'
import { getOrFail } from '../store.ts'
import { FileBeside } from './file-beside.ts'
import {
  checkIndexes,
  countRows,
  findExisting,
  findShared,
  hasTable,
  readRows,
  tableNameOf,
  undeclaredObjects,
} from './rows.ts'

/** Throws StoreUnavailable when there is no such file or it can't be opened. */
export async function openSqliteReader(file: string): Promise<ObjectReader> {
  const beside = new FileBeside(file)
  return {
    get: (resource, id) => beside.read((database) => read(database, resource, id)),
    ids: (resource) => beside.read((database) => readIds(database, resource)),
    find: (resource, field, values, most) =>
      beside.read((database) => find(database, { resource, field, values, most })),
    lookup: (lookup, resources) =>
      beside.read((database) => new Lookups(database, tablesOf(database, resources)).holds(lookup)),
    hasTable: (resource) => beside.read((database) => hasTable(database, tableNameOf(resource))),
    count: (resource) => beside.read((database) => countRows(database, resource)),
    rows: (resource, page) => beside.read((database) => readRows(database, resource, page)),
    objects: (resource, after, limit) => beside.read((database) => readObjects(database, resource, { after, limit })),
    migrationState: () => beside.read(readMigrationState),
    existing: (resource, ids) => beside.read((database) => findExisting(database, resource, ids)),
    shared: (resource, field, most) => beside.read((database) => findShared(database, resource, field, most)),
    undeclared: (resources) => beside.read((database) => undeclaredObjects(database, resources)),
    checkIndexes: (resource, most) => beside.read((database) => checkIndexes(database, resource, most)),
    close: async () => beside.close(),
  }
}

function read(database: DatabaseSync, resource: Resource, id: string): StoredObject | undefined {
  const { table } = planTable(resource, [])
  // Text that isn't well-formed would be bound with U+FFFD in it, and could match another object.
  if (!hasTable(database, table) || !id.isWellFormed()) return undefined
  const query = database.prepare(`select ${OBJECT_COLUMNS.join()} from ${quoteName(table)} where id = ?`)
  query.setReturnArrays(true)
  const row = query.get(id)
  return row && stored(row as unknown as readonly SQLOutputValue[])
}

interface ObjectPage {
  readonly after: string | undefined
  readonly limit: number
}

function readObjects(
  database: DatabaseSync,
  resource: Resource,
  { after, limit }: ObjectPage,
): readonly StoredObject[] {
  const { table } = planTable(resource, [])
  if (!hasTable(database, table)) return []
  const text = `select ${OBJECT_COLUMNS.join()} from ${quoteName(table)} where id > ? order by id limit ?`
  const query = database.prepare(text)
  query.setReturnArrays(true)
  return (query.all(after ?? '', limit) as unknown as readonly (readonly SQLOutputValue[])[]).map(stored)
}

function readMigrationState(database: DatabaseSync): MigrationState {
  if (!hasTable(database, 'fitted_schemas')) return { stored: [], fitted: undefined }
  return { stored: readStored(database), fitted: readFitted(database) }
}

interface Sought {
  readonly resource: Resource
  readonly field: string
  readonly values: readonly Scalar[]
  readonly most: number
}

function find(database: DatabaseSync, { resource, field, values, most }: Sought): readonly StoredObject[] {
  const tableOf = tablesOf(database, { byName: new Map([[resource.name, resource]]) })
  const table = tableOf(resource.name)
  const holds = simplify({ kind: 'holds', field, values })
  if (holds.kind === 'never' || !hasTable(database, planTable(resource, []).table)) return []
  const where = conditionSql(holds, outermost(table, tableOf))
  const columns = OBJECT_COLUMNS.join()
  const query = database.prepare(`select ${columns} from ${quoteName(table.name)} where ${where} order by id limit ?`)
  query.setReturnArrays(true)
  const rows = query.all(...boundValues(holds), most) as unknown as readonly (readonly SQLOutputValue[])[]
  return rows.map(stored)
}

/**
 * The tables, with the columns that a server has made. A resource without a table gets a temporary one, outside of the
 * file.
 */
function tablesOf(database: DatabaseSync, { byName }: Pick<Resources, 'byName'>): TableOf {
  return (name) => {
    const resource = getOrFail(byName, name)
    const plan = planTable(resource, [...resource.fields.keys()])
    if (!hasTable(database, plan.table)) {
      database.exec(
        `create temp table if not exists ${quoteName(plan.table)} (id text, created_at text, updated_at text, document text)`,
      )
    }
    const present = columnsOf(database, plan.table)
    return queriedTable(database, {
      ...plan,
      indexed: plan.indexed.filter(({ column }) => present.has(column)),
      times: [],
    })
  }
}

function readIds(database: DatabaseSync, resource: Resource): ReadonlySet<string> {
  const rows = database.prepare(`select id from ${quoteName(planTable(resource, []).table)}`).all()
  return new Set(rows.map(({ id }) => String(id)))
}
