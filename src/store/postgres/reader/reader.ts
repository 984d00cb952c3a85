/** Reads objects of a database that may belong to running servers; creates, changes and migrates nothing. */

import { simplify } from '../../../decide/conditions/simplify-condition.ts'
import { StoreUnavailable } from '../../errors.ts'
import type { ObjectReader } from '../../object-reader.ts'
import { fittedSchemas, storedMigrations } from '../../sql/migrations.ts'
import { OBJECT_COLUMNS, objectById, objectsAfter, storedObject } from '../../sql/objects.ts'
import { quoteName } from '../../sql/quote.ts'
import { done, type Statement, sql } from '../../sql/statement.ts'
import { DEFAULT_SETTINGS } from '../connections/client-options.ts'
import { Connections } from '../connections/connections.ts'
import { DIALECT } from '../dialect.ts'
import { tablesIn } from '../layout/migrate.ts'
import { tableOf } from '../layout/names.ts'
import { conditionSql } from '../query/condition.ts'
import { lookupSql } from '../query/lookups.ts'
import { outermost, type TableOf } from '../query/scope.ts'
import { statement } from '../query/statement.ts'
import { decodeText } from '../stored-text.ts'
import { rowReader } from './row-reader.ts'

/** A tool reads one thing after the other. It names no statements, so a pooler may stand between. */
const SETTINGS = { ...DEFAULT_SETTINGS, most: 1, pooler: 'transaction' } as const

/** The table of a resource that has none. */
const NO_OBJECTS = `(select ''::text as id, ''::text as created_at, ''::text as updated_at, '{}'::jsonb as keys,
  '{}'::jsonb as times where false)`

/** Whichever indexes there are: conditions look at all values of a field. */
const NONE: ReadonlySet<string> = new Set()

/** Throws StoreUnavailable when the database can't be reached. */
export async function openPostgresReader(url: string): Promise<ObjectReader> {
  const connections = new Connections(url, SETTINGS)
  const present = await tablesIn((asked) => connections.slow(asked)).catch(async (error: unknown) => {
    await connections.close()
    throw error
  })
  const objects = async (asked: Statement) => {
    return (await connections.slow(asked)).map((row) => storedObject(row, DIALECT))
  }
  return {
    async get(resource, id) {
      const table = tableOf(resource.name)
      return present.has(table) ? (await objects(objectById(quoteName(table), id, DIALECT)))[0] : undefined
    },
    async ids(resource) {
      const table = tableOf(resource.name)
      if (!present.has(table)) throw new StoreUnavailable(new Error(`there is no table \`${table}\``))
      const rows = await connections.slow(sql(`select id from ${quoteName(table)}`))
      return new Set(rows.map(([id]) => decodeText(String(id))))
    },
    async find(resource, field, values, most) {
      const holds = simplify({ kind: 'holds', field, values })
      const name = tableOf(resource.name)
      if (!present.has(name)) return []
      const table = { source: quoteName(name), scalars: NONE, leading: NONE }
      const found = statement((to) => {
        const scope = outermost(table, () => table, to)
        return `select ${OBJECT_COLUMNS} from ${scope.source}
          where ${conditionSql(holds, scope)} order by id limit ${to.bind(most)}`
      })
      return objects(found)
    },
    async lookup(lookup, { byName }) {
      const tables: TableOf = (name) => {
        const table = tableOf((byName.get(name) ?? fail(name)).name)
        return { source: present.has(table) ? quoteName(table) : NO_OBJECTS, scalars: NONE, leading: NONE }
      }
      const asked = statement((to) => `select ${lookupSql(lookup, tables, to)}`)
      return (await connections.slow(asked))[0]?.[0] === true
    },
    async objects(resource, after, limit) {
      const table = tableOf(resource.name)
      return present.has(table) ? objects(objectsAfter(quoteName(table), after, limit, DIALECT)) : []
    },
    async migrationState() {
      if (!present.has('fitted_schemas')) return { stored: [], fitted: undefined }
      const ask = (asked: Statement) => connections.slow(asked)
      return { stored: await done(storedMigrations(DIALECT), ask), fitted: await done(fittedSchemas(DIALECT), ask) }
    },
    ...rowReader(url, connections, present),
    close: () => connections.close(),
  }
}

function fail(resource: string): never {
  throw new Error(`no schema declares \`${resource}\``)
}
