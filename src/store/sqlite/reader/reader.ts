/** Reads objects of a database file that may belong to a running server; creates, changes and migrates nothing. */
import type { DatabaseSync } from 'node:sqlite'
import { simplify } from '../../../decide/conditions/simplify-condition.ts'
import type { Scalar, StoredObject } from '../../../resources/object.ts'
import type { Resource, Resources } from '../../../resources/resource.ts'
import type { MigrationState } from '../../migrations.ts'
import type { ObjectReader } from '../../object-reader.ts'
import { fittedSchemas, storedMigrations } from '../../sql/migrations.ts'
import { OBJECT_COLUMNS, objectById, objectsAfter, storedObject } from '../../sql/objects.ts'
import { quoteName } from '../../sql/quote.ts'
import { type Statement, sql } from '../../sql/statement.ts'
import { DIALECT } from '../dialect.ts'
import { columnsOf, queriedTable } from '../layout/migrate.ts'
import { planTable } from '../layout/schema.ts'
import { conditionSql } from '../query/condition.ts'
import { boundValues } from '../query/condition-values.ts'
import { Lookups } from '../query/lookups.ts'
import { outermost, type TableOf } from '../query/scope.ts'
import { Statements } from '../statements.ts'
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
    objects: (resource, after, limit) =>
      beside.read((database) => objectsOf(database, resource, (table) => objectsAfter(table, after, limit, DIALECT))),
    migrationState: () => beside.read(readMigrationState),
    existing: (resource, ids) => beside.read((database) => findExisting(database, resource, ids)),
    shared: (resource, field, most) => beside.read((database) => findShared(database, resource, field, most)),
    undeclared: (resources) => beside.read((database) => undeclaredObjects(database, resources)),
    checkIndexes: (resource, most) => beside.read((database) => checkIndexes(database, resource, most)),
    close: async () => beside.close(),
  }
}

function read(database: DatabaseSync, resource: Resource, id: string): StoredObject | undefined {
  return objectsOf(database, resource, (table) => objectById(table, id, DIALECT))[0]
}

/** Those that the statement selects: none without the table. */
function objectsOf(
  database: DatabaseSync,
  resource: Resource,
  select: (table: string) => Statement,
): readonly StoredObject[] {
  const { table } = planTable(resource, [])
  if (!hasTable(database, table)) return []
  return new Statements(database).ask(select(quoteName(table))).map((row) => storedObject(row, DIALECT))
}

function readMigrationState(database: DatabaseSync): MigrationState {
  if (!hasTable(database, 'fitted_schemas')) return { stored: [], fitted: undefined }
  const statements = new Statements(database)
  return { stored: statements.run(storedMigrations(DIALECT)), fitted: statements.run(fittedSchemas(DIALECT)) }
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
  const text = `select ${OBJECT_COLUMNS} from ${quoteName(table.name)} where ${where} order by id limit ?`
  const rows = new Statements(database).ask(sql(text, ...boundValues(holds), most))
  return rows.map((row) => storedObject(row, DIALECT))
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
