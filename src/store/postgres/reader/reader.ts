/** Reads objects of a database that may belong to running servers; creates, changes and migrates nothing. */

import { isDeepStrictEqual } from 'node:util'
import { simplify } from '../../../decide/conditions/simplify-condition.ts'
import type { ObjectReader } from '../../object-reader.ts'
import { documentIn } from '../../parse-stored.ts'
import { conditionSql } from '../../sql/condition.ts'
import { OBJECT_COLUMNS, storedObject } from '../../sql/objects.ts'
import { sqlReader } from '../../sql/reader.ts'
import { done, quoteName, type Row, sql } from '../../sql/statement.ts'
import { DEFAULT_SETTINGS, withoutLimit } from '../connections/client-options.ts'
import { Connections } from '../connections/connections.ts'
import { DIALECT } from '../dialect.ts'
import { answering } from '../failures.ts'
import { keysOf } from '../layout/keys.ts'
import { keySql, lookupIn, outermost, type QueriedTableOf, statement } from '../query/condition.ts'
import { decodeText, TABLE_PREFIX, tableNameOf } from '../stored-text.ts'

/** A tool reads one thing after the other. It names no statements, so a pooler may stand between. */
const SETTINGS = { ...DEFAULT_SETTINGS, most: 1, pooler: 'transaction' } as const

/** The table of a resource that has none. */
const NO_OBJECTS = `(select ''::text as id, 0::bigint as version, ''::text as created_at, ''::text as updated_at,
  ''::text as document, '{}'::jsonb as keys, '{}'::jsonb as times where false)`

/** Whichever indexes there are: conditions look at all values of a field. */
const NONE: ReadonlySet<string> = new Set()

/** Throws StoreUnavailable when the database can't be reached. */
export async function openPostgresReader(url: string): Promise<ObjectReader> {
  const connections = new Connections(url, SETTINGS)
  const names = await connections.slow(sql(DIALECT.tables)).catch(async (error: unknown) => {
    await connections.close()
    throw error
  })
  const present = new Set(names.map(([name]) => String(name)))
  const queriedOf: QueriedTableOf = (resource) => {
    const table = tableNameOf(resource)
    return { name: present.has(table) ? quoteName(table) : NO_OBJECTS, scalars: NONE, driving: NONE }
  }
  return {
    ...sqlReader({
      dialect: DIALECT,
      read: (work) => done(work(), (asked) => connections.slow(asked)),
      // It locks no writer out, and may take its time.
      readLong: (work) =>
        answering(() =>
          withoutLimit({ url, settings: SETTINGS, begin: 'begin read only' }, (ask) => done(work(), ask)),
        ),
      tableOf: tableNameOf,
      tablePrefix: TABLE_PREFIX,
      resourceOf: (table) => decodeText(table.slice(TABLE_PREFIX.length)),
      // An id as PostgreSQL keeps it, encoded.
      placeSql: (id) => id,
      idAtSql: (place) => place,
      valueSql: (field) => keySql(field, 'o.'),
      beside: ['keys', 'times'],
      disagreeing,
    }),
    async find({ name }, field, values, most) {
      const holds = simplify({ kind: 'holds', field, values })
      const found = statement((to) => {
        const scope = outermost(queriedOf(name), queriedOf, to)
        const where = `${conditionSql(holds, scope)} order by id limit ${to.bind(most)}`
        return `select ${OBJECT_COLUMNS} from ${scope.source} where ${where}`
      })
      return (await connections.slow(found)).map((row) => storedObject(row, DIALECT))
    },
    async lookup(lookup, { byName }) {
      const declared: QueriedTableOf = (name) => queriedOf((byName.get(name) ?? fail(name)).name)
      const asked = statement((to) => `select ${lookupIn(lookup, declared, to)}`)
      return (await connections.slow(asked))[0]?.[0] === true
    },
    checkIndexes: async () => {
      return { faults: [], unchecked: 'PostgreSQL checks its indexes with a program of its own, `pg_amcheck`' }
    },
    close: () => connections.close(),
  }
}

function fail(resource: string): never {
  throw new Error(`no schema declares \`${resource}\``)
}

/** The fields whose keys or times aren't those of the document. `beside`: the columns `keys` and `times`. */
function disagreeing(id: string, text: string, [keys, times]: Row): readonly string[] {
  const document = documentIn(text)
  if (document === undefined) return []
  const made = keysOf(id, document)
  const fields = [...fieldsThatDiffer(String(keys), made.keys), ...fieldsThatDiffer(String(times), made.times)]
  return [...new Set(fields)].map(decodeText).toSorted()
}

/** Both are JSON of the form that `keysOf` makes, or of any other form in a damaged row. */
function fieldsThatDiffer(stored: string, made: string): readonly string[] {
  const [one, other] = [JSON.parse(stored), JSON.parse(made)].map((json) => new Map<string, unknown>(entriesOf(json)))
  const fields = [...new Set([...(one?.keys() ?? []), ...(other?.keys() ?? [])])]
  return fields.filter((field) => !isDeepStrictEqual(one?.get(field), other?.get(field)))
}

function entriesOf(json: unknown): readonly (readonly [string, unknown])[] {
  return typeof json === 'object' && json !== null ? Object.entries(json) : []
}
