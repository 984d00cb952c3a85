/** The table of one resource's objects, and the statements about it that all engines understand. */
import { type AlongPermit, createdObject } from '../../decide/permits/permit.ts'
import type { Document, StoredObject } from '../../resources/object.ts'
import { StaleObject } from '../errors.ts'
import { type ObjectRow, parsedObject } from '../parse-stored.ts'
import { type Row, type SqlDialect, type Statement, sql, type Work } from './statement.ts'

export interface ObjectVersion {
  readonly id: string
  readonly version: number
}

export interface Rewritten extends ObjectVersion {
  readonly document: Document
}

/** What each engine does in its own way. Work for the transaction of a write. */
export interface SqlObjects {
  /** Quoted. */
  readonly name: string
  /** All objects or, with an error, none. Throws UniqueTaken. */
  insertAll(objects: readonly StoredObject[]): Work<void>
  /** Throws StaleObject when an object hasn't its version any more, and NotUnique. */
  rewriteAll(objects: readonly Rewritten[], time: string): Work<void>
}

/** A resource without a table is a bug, so StoreUnavailable would be wrong. */
export function getOrFail<T>(tables: ReadonlyMap<string, T>, resource: string): T {
  const table = tables.get(resource)
  if (!table) throw new Error(`the store has no resource \`${resource}\``)
  return table
}

/** Which object has the value of another one. */
export class NotUnique extends Error {
  readonly id: string
  constructor(id: string, cause: Error) {
    super(cause.message, { cause })
    this.id = id
  }
}

/** `document` is JSON, as JSON.stringify writes it: no name twice. */
export const OBJECT_COLUMNS = 'id, version, created_at, updated_at, document'

/** The columns of the fields outside the document: texts, which are never missing. */
export const SERVER_COLUMNS: ReadonlyMap<string, string> = new Map([
  ['id', 'id'],
  ['createdAt', 'created_at'],
  ['updatedAt', 'updated_at'],
])

/** A row of OBJECT_COLUMNS. */
export function objectRow(row: Row, { fromStored }: Pick<SqlDialect, 'fromStored'>): ObjectRow {
  const [id, version, createdAt, updatedAt, text] = row as readonly [string, number, string, string, string]
  return { id: fromStored(id), version, createdAt, updatedAt, text }
}

/** A row of OBJECT_COLUMNS. Throws DamagedObject. */
export function storedObject(row: Row, dialect: Pick<SqlDialect, 'fromStored'>): StoredObject {
  return parsedObject(objectRow(row, dialect))
}

export function objectById(table: string, id: string, { sought }: SqlDialect): Statement {
  return sql(`select ${OBJECT_COLUMNS} from ${table} where id = $1`, sought(id))
}

/** The objects after this id, in the order of their ids. */
export function objectsAfter(table: string, after: string | undefined, limit: number, { text }: SqlDialect): Statement {
  return sql(`select ${OBJECT_COLUMNS} from ${table} where id > $1 order by id limit $2`, text(after ?? ''), limit)
}

/** Of all objects after one id, and up to another if it is given. */
export function* versionsIn(
  table: string,
  { after = '', upTo }: { readonly after: string | undefined; readonly upTo: string | undefined },
  { text, fromStored }: SqlDialect,
): Work<readonly ObjectVersion[]> {
  const select = (end: string) => `select id, version from ${table} where id > $1 ${end} order by id`
  const rows = yield upTo === undefined
    ? sql(select(''), text(after))
    : sql(select('and id <= $2'), text(after), text(upTo))
  return rows.map(([id, version]) => ({ id: fromStored(id), version: Number(version) }))
}

/** Returns how many had still this version. */
export function* deleteAll(
  table: string,
  objects: readonly ObjectVersion[],
  { text, elements }: SqlDialect,
): Work<number> {
  const those = `select o.value ->> 0, cast(o.value ->> 1 as bigint) from ${elements('$1')} as o`
  const list = JSON.stringify(objects.map(({ id, version }) => [text(id), version]))
  return (yield sql(`delete from ${table} where (id, version) in (${those}) returning 1`, list)).length
}

// What comes along with a write, in its transaction: other objects that are changed, deleted or created.

interface AlongParts {
  readonly dialect: SqlDialect
  readonly objectsOf: (resource: string) => SqlObjects
  /** RFC 3339. */
  readonly time: string
}

/** Throws UniqueTaken, and StaleObject when an object hasn't the version of its permit any more. */
export function* writeAlong(along: readonly AlongPermit[], { dialect, objectsOf, time }: AlongParts): Work<void> {
  for (const [resource, permits] of Map.groupBy(along, (one) => one.resource)) {
    const objects = objectsOf(resource)
    const changed = permits.filter(({ kind }) => kind === 'update')
    if (changed.length > 0) yield* objects.rewriteAll(changed, time)
    const gone = permits.filter(({ kind }) => kind === 'delete')
    const made = permits.filter((one) => one.kind === 'create').map((one) => createdObject(one, time))
    if (made.length > 0) yield* objects.insertAll(made)
    if (gone.length > 0 && (yield* deleteAll(objects.name, gone, dialect)) < gone.length) throw new StaleObject()
  }
}
