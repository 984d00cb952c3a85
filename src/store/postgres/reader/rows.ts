/** The statements that read rows as they are stored, damaged ones too, and what they make of the results. */

import { isDeepStrictEqual } from 'node:util'
import type { Document } from '../../../resources/object.ts'
import type { Resource } from '../../../resources/resource.ts'
import type { RowPage, StoredRow } from '../../object-reader.ts'
import { parseStored } from '../../parse-stored.ts'
import { quoteName } from '../../sql/quote.ts'
import type { Row, Statement } from '../../sql/statement.ts'
import { keysOf } from '../layout/keys.ts'
import { tableOf } from '../layout/names.ts'
import { keySql } from '../query/fields.ts'
import { statement } from '../query/statement.ts'
import { decodeText, encodeText } from '../stored-text.ts'

const COLUMNS = 'id, version, created_at, updated_at, document, keys, times'

/** A place is an id as PostgreSQL keeps it, encoded. */
export function rowsStatement(resource: Resource, { after, limit, bytes }: RowPage): Statement {
  return statement((to) => {
    const following = after === undefined ? '' : `where id > ${to.bind(after)}`
    const page = `select ${COLUMNS} from ${nameIn(resource)} ${following} order by id limit ${to.bind(limit)}::bigint`
    if (bytes === undefined) return page
    const before = 'sum(octet_length(document)) over (order by id rows between unbounded preceding and 1 preceding)'
    return `select ${COLUMNS} from (select page.*, ${before} as before from (${page}) as page) as sized
      where before is null or before <= ${to.bind(bytes)}::bigint order by id`
  })
}

export function storedRow(row: Row): StoredRow {
  const [place, version, createdAt, updatedAt, text, keys, times] = row as readonly [
    string,
    number,
    string,
    string,
    string,
    string,
    string,
  ]
  const id = decodeText(place)
  return { id, place, version, createdAt, updatedAt, text, disagreeing: disagreeing(id, text, { keys, times }) }
}

type Beside = ReturnType<typeof keysOf>

function disagreeing(id: string, text: string, stored: Beside): readonly string[] {
  const document = documentOf(text)
  if (document === undefined) return []
  const made = keysOf(id, document)
  const fields = [...fieldsThatDiffer(stored.keys, made.keys), ...fieldsThatDiffer(stored.times, made.times)]
  return [...new Set(fields)].map(decodeText).toSorted()
}

function documentOf(text: string): Document | undefined {
  try {
    return parseStored(text, () => '')
  } catch {
    return undefined
  }
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

export function existingStatement(resource: Resource, ids: readonly string[]): Statement {
  const text = `select id from ${nameIn(resource)} where id = any($1::text[])`
  return { text, values: [ids.filter((id) => id.isWellFormed()).map(encodeText)] }
}

/** Rows: the number of objects that share a value, and the first ids as a JSON list. */
export function sharedStatement(resource: Resource, field: string, most: number): Statement {
  return statement((to) => {
    const table = nameIn(resource)
    return `with twice as (select ${keySql(field, 'o')} as value, count(*) as n from ${table} as o
        where ${keySql(field, 'o')} is not null group by 1 having count(*) > 1),
      first as (select id from ${table} as o where ${keySql(field, 'o')} in (select value from twice)
        order by id limit ${to.bind(most)}::bigint)
      select coalesce((select sum(n) from twice), 0),
        coalesce((select json_agg(id order by id) from first), '[]'::json)::text`
  })
}

export function countRowsStatement(table: string): Statement {
  return { text: `select count(*) from ${quoteName(table)}`, values: [] }
}

function nameIn(resource: Resource): string {
  return quoteName(tableOf(resource.name))
}
