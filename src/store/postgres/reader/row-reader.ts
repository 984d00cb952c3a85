/** The part of a reader that takes rows as they are stored, whether their objects can be used or not. */

import { storedResources } from '../../../resources/stored-resources.ts'
import type { ObjectReader, UndeclaredObjects } from '../../object-reader.ts'
import type { Connections } from '../connections/connections.ts'
import { TABLE_PREFIX, tableOf } from '../layout/names.ts'
import { decodeText } from '../stored-text.ts'
import { askWithoutLimit } from './ask-without-limit.ts'
import { countRowsStatement, existingStatement, rowsStatement, sharedStatement, storedRow } from './rows.ts'

type RowReader = Omit<ObjectReader, 'get' | 'ids' | 'find' | 'lookup' | 'objects' | 'migrationState' | 'close'>

/** `present`: the tables of the database. */
export function rowReader(url: string, connections: Connections, present: ReadonlySet<string>): RowReader {
  const hasTable = ({ name }: { readonly name: string }) => present.has(tableOf(name))
  const countIn = async (table: string) => Number((await askWithoutLimit(url, countRowsStatement(table)))[0]?.[0])
  return {
    hasTable: async (resource) => hasTable(resource),
    count: async (resource) => (hasTable(resource) ? countIn(tableOf(resource.name)) : 0),
    async rows(resource, page) {
      return hasTable(resource) ? (await connections.slow(rowsStatement(resource, page))).map(storedRow) : []
    },
    async existing(resource, ids) {
      if (!hasTable(resource)) return new Set()
      const rows = await connections.slow(existingStatement(resource, ids))
      return new Set(rows.map(([id]) => decodeText(String(id))))
    },
    async shared(resource, field, most) {
      if (!hasTable(resource)) return { count: 0, ids: [] }
      const [[count, ids] = []] = await askWithoutLimit(url, sharedStatement(resource, field, most))
      return { count: Number(count), ids: (JSON.parse(String(ids)) as readonly string[]).map(decodeText) }
    },
    async undeclared(resources) {
      const declared = new Set(storedResources(resources).map(({ name }) => tableOf(name)))
      const others = [...present].filter((table) => table.startsWith(TABLE_PREFIX) && !declared.has(table)).toSorted()
      const found: UndeclaredObjects[] = []
      for (const table of others) {
        found.push({ resource: decodeText(table.slice(TABLE_PREFIX.length)), count: await countIn(table) })
      }
      return found.filter(({ count }) => count > 0)
    },
    async checkIndexes() {
      return { faults: [], unchecked: 'PostgreSQL checks its indexes with a program of its own, `pg_amcheck`' }
    },
  }
}
