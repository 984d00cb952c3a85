/** Statements about many objects of one resource at once, for migrations. */

import type { Document } from '../../../resources/object.ts'
import type { Row, Statement } from '../../sql/statement.ts'
import { keysOf } from '../layout/keys.ts'
import { decodeText, encodeText } from '../stored-text.ts'

export interface Rewritten {
  readonly id: string
  /** The version before. */
  readonly version: number
  readonly document: Document
}

/** The objects after this id, in the order of their ids. `table`: quoted. */
export function pageOf(table: string, after: string | undefined, limit: number): Statement {
  const text = `select id, version, created_at, updated_at, document from ${table} where id > $1 order by id limit $2`
  return { text, values: [encodeText(after ?? ''), limit] }
}

/** The ids and versions of all objects after one id, and up to another if it is given. */
export function versionsIn(table: string, after: string | undefined, upTo: string | undefined): Statement {
  const first = encodeText(after ?? '')
  if (upTo === undefined) {
    return { text: `select id, version from ${table} where id > $1 order by id`, values: [first] }
  }
  const text = `select id, version from ${table} where id > $1 and id <= $2 order by id`
  return { text, values: [first, encodeText(upTo)] }
}

export interface ObjectVersion {
  readonly id: string
  readonly version: number
}

/** A row of `versionsIn`. */
export function versionOf([id, version]: Row): ObjectVersion {
  return { id: decodeText(String(id)), version: Number(version) }
}

/** Rows: one for each object that has still this version. */
export function rewriteAll(table: string, objects: readonly Rewritten[], time: string): Statement {
  const keys = objects.map(({ id, document }) => keysOf(id, document))
  const text = `update ${table} as t set version = t.version + 1, updated_at = $1, document = o.document,
      keys = o.keys::jsonb, times = o.times::jsonb
    from unnest($2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[]) as o(id, version, document, keys, times)
    where t.id = o.id and t.version = o.version returning t.id`
  const columns = [
    objects.map(({ id }) => encodeText(id)),
    objects.map(({ version }) => version),
    objects.map(({ document }) => JSON.stringify(document)),
    keys.map((one) => one.keys),
    keys.map((one) => one.times),
  ]
  return { text, values: [time, ...columns] }
}

/** Rows: one for each object that has still this version. */
export function deleteAll(table: string, objects: readonly Pick<Rewritten, 'id' | 'version'>[]): Statement {
  const text = `delete from ${table} as t using unnest($1::text[], $2::bigint[]) as o(id, version)
    where t.id = o.id and t.version = o.version returning t.id`
  return { text, values: [objects.map(({ id }) => encodeText(id)), objects.map(({ version }) => version)] }
}
