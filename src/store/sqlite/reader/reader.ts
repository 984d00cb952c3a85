/** Reads objects of a database file that may belong to a running server; creates, changes and migrates nothing. */

import type { DatabaseSync } from 'node:sqlite'
import type { Condition } from '../../../decide/conditions/condition.ts'
import { simplify } from '../../../decide/conditions/simplify-condition.ts'
import type { StoredObject } from '../../../resources/object.ts'
import type { Resource, Resources } from '../../../resources/resource.ts'
import type { CheckedIndexes, ObjectReader } from '../../object-reader.ts'
import { conditionSql } from '../../sql/condition.ts'
import { planTable } from '../../sql/indexes.ts'
import { getOrFail, OBJECT_COLUMNS, storedObject } from '../../sql/objects.ts'
import { type ReaderEngine, sqlReader } from '../../sql/reader.ts'
import { quoteName } from '../../sql/statement.ts'
import { isMalformedJson } from '../database.ts'
import { columnsOf, hasTable, queriedTable } from '../layout/migrate.ts'
import {
  columnOf,
  comparableField,
  fieldsWithColumn,
  resourceOfTable,
  TABLE_PREFIX,
  tableNameOf,
} from '../layout/schema.ts'
import { type QueriedTableOf, written } from '../query/condition.ts'
import { holdsIn } from '../query/lookups.ts'
import { DIALECT, StatementRunner } from '../statements.ts'
import { FileBeside } from './file-beside.ts'

/** Throws StoreUnavailable when there is no such file or it can't be opened. */
export async function openSqliteReader(file: string): Promise<ObjectReader> {
  const beside = new FileBeside(file)
  const read: ReaderEngine['read'] = (work) => beside.read((database) => new StatementRunner(database).run(work()))
  return {
    ...sqlReader({
      dialect: DIALECT,
      read,
      readLong: read,
      tableOf: tableNameOf,
      tablePrefix: TABLE_PREFIX,
      resourceOf: resourceOfTable,
      // The bytes of the id, which is text that may not be well-formed.
      placeSql: (id) => `hex(${id})`,
      idAtSql: (place) => `cast(unhex(${place}) as text)`,
      valueSql: (field) => `case when json_valid(document) then ${comparableField(field)} end`,
      // The columns beside the document are virtual: SQLite computes them from it on reading. Only an index on them can
      // be wrong, which `checkIndexes` finds.
      beside: [],
      disagreeing: () => [],
    }),
    find: (resource, field, values, most) => {
      const holds = simplify({ kind: 'holds', field, values })
      return beside.read((database) => find(database, resource, holds, most))
    },
    lookup: (lookup, resources) =>
      beside.read((database) =>
        holdsIn(database, new StatementRunner(database), tablesOf(database, resources))(lookup),
      ),
    checkIndexes: ({ name }, most) =>
      beside.read((database) => {
        return hasTable(database, tableNameOf(name)) ? checkIndexes(database, tableNameOf(name), most) : { faults: [] }
      }),
    close: async () => beside.close(),
  }
}

function find(database: DatabaseSync, resource: Resource, holds: Condition, most: number): readonly StoredObject[] {
  const tableOf = tablesOf(database, { byName: new Map([[resource.name, resource]]) })
  if (holds.kind === 'never' || !hasTable(database, tableNameOf(resource.name))) return []
  const asked = written(tableOf, resource.name, (scope) => {
    const where = conditionSql(holds, scope)
    return `select ${OBJECT_COLUMNS} from ${scope.source} where ${where} order by id limit ${scope.bind(most)}`
  })
  return new StatementRunner(database).rows(asked).map((row) => storedObject(row, DIALECT))
}

/**
 * The tables, with the columns that a server has made. A resource without a table gets a temporary one, outside of the
 * file.
 */
function tablesOf(database: DatabaseSync, { byName }: Pick<Resources, 'byName'>): QueriedTableOf {
  return (name) => {
    const resource = getOrFail(byName, name)
    const plan = planTable(resource, [...resource.fields.keys()], tableNameOf)
    if (!hasTable(database, plan.table)) {
      database.exec(
        `create temp table if not exists ${quoteName(plan.table)} (id text, created_at text, updated_at text, document text)`,
      )
    }
    const present = columnsOf(database, plan.table)
    return queriedTable(database, {
      ...plan,
      indexed: fieldsWithColumn(plan).filter((field) => present.has(columnOf(field))),
      unique: [],
      times: [],
    })
  }
}

/** Also finds broken pages of the table. Writers go on meanwhile; the log of their writes grows until it ends. */
function checkIndexes(database: DatabaseSync, name: string, most: number): CheckedIndexes {
  const table = quoteName(name)
  // The rows that it names are found by their number, in the same state of the database.
  database.exec('begin')
  try {
    const lines = database
      .prepare(`pragma integrity_check(${table})`)
      .all()
      .map((row) => String(row.integrity_check))
    const faults = lines.filter((line) => line !== 'ok').slice(0, most)
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
