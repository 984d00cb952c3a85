/** The objects of one resource in their table. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { type Document, isScalar, type StoredObject } from '../../resources/object.ts'
import { StaleObject, UniqueTaken } from '../errors.ts'
import type { ObjectRow } from '../parse-stored.ts'
import type { TablePlan } from '../sql/indexes.ts'
import { NotUnique, OBJECT_COLUMNS, objectRow, type Rewritten, type SqlObjects } from '../sql/objects.ts'
import { quoteName, type Row, type Statement, sql, type Work, wellFormed } from '../sql/statement.ts'
import { breaksUnique } from './database.ts'
import { columnOf } from './layout/schema.ts'
import { bound } from './query/condition.ts'
import type { ObjectLists } from './query/lists.ts'
import { DIALECT, prepare } from './statements.ts'

/** The version is absent in a create. */
interface DocumentToWrite {
  readonly id: string
  readonly version?: number
  readonly document: Document
}

export class ObjectTable implements SqlObjects {
  readonly name: string
  readonly lists: ObjectLists
  readonly keepsChanges: boolean
  readonly #unique: TablePlan['unique']
  readonly #get: StatementSync
  readonly #insert: string
  readonly #update: string
  readonly #delete: string

  /** `lists`: of the same table. */
  constructor(database: DatabaseSync, plan: TablePlan, lists: ObjectLists) {
    const table = quoteName(plan.table)
    this.name = table
    this.lists = lists
    this.keepsChanges = plan.keepMs !== undefined
    this.#unique = plan.unique
    this.#get = prepare(database, `select ${OBJECT_COLUMNS} from ${table} where id = ?`)
    this.#insert = `insert into ${table} (${OBJECT_COLUMNS}) values ($1, $2, $3, $4, $5)`
    const change = 'version = $1, updated_at = $2, document = $3'
    this.#update = `update ${table} set ${change} where id = $4 and version = $5 returning created_at`
    this.#delete = `delete from ${table} where id = $1 and version = $2 returning 1`
  }

  row(id: string): ObjectRow | undefined {
    // Text that isn't well-formed would be bound with U+FFFD in it, and could match another object.
    const row = id.isWellFormed() ? this.#get.get(id) : undefined
    return row && objectRow(row as unknown as Row, DIALECT)
  }

  /** Throws UniqueTaken. */
  *insert({ id, version, createdAt, updatedAt, document }: StoredObject): Work<void> {
    const values = [wellFormed(id), version, createdAt, updatedAt, JSON.stringify(document)]
    yield* this.#writing({ id, document }, sql(this.#insert, ...values))
  }

  /** The time of the object's creation. Throws UniqueTaken, and StaleObject if the stored version has changed. */
  *update({ id, version, updatedAt, document }: Omit<StoredObject, 'createdAt'>): Work<string> {
    const values = [version + 1, updatedAt, JSON.stringify(document), id, version]
    const [row] = yield* this.#writing({ id, version, document }, sql(this.#update, ...values))
    if (!row) throw new StaleObject()
    return String(row[0])
  }

  /** Throws StaleObject if the stored version has changed. */
  *delete(id: string, version: number): Work<void> {
    if ((yield sql(this.#delete, id, version)).length === 0) throw new StaleObject()
  }

  /** Undefined if there is no such object. */
  *version(id: string): Work<number | undefined> {
    const [row] = yield sql(`select version from ${this.name} where id = $1`, DIALECT.sought(id))
    return row?.[0] as number | undefined
  }

  *insertAll(objects: readonly StoredObject[]): Work<void> {
    for (const object of objects) yield* this.insert(object)
  }

  *rewriteAll(objects: readonly Rewritten[], updatedAt: string): Work<void> {
    for (const object of objects) {
      try {
        yield* this.update({ ...object, updatedAt })
      } catch (error) {
        throw error instanceof UniqueTaken ? new NotUnique(object.id, error) : error
      }
    }
  }

  *#writing(written: DocumentToWrite, statement: Statement): Work<readonly Row[]> {
    try {
      return yield statement
    } catch (error) {
      const taken = breaksUnique(error) ? yield* this.#firstTaken(written) : undefined
      throw taken === undefined ? error : new UniqueTaken(taken)
    }
  }

  /** SQLite names the value that it meets first, whatever the order of the fields. */
  *#firstTaken({ id, version, document }: DocumentToWrite): Work<string | undefined> {
    if (version === undefined && (yield* this.version(id)) !== undefined) return 'id'
    for (const { field, fields } of this.#unique) {
      const values = fields.map((name) => (Object.hasOwn(document, name) ? document[name] : undefined)).filter(isScalar)
      if (values.length < fields.length) continue
      const same = fields.map((name, at) => `${quoteName(columnOf(name))} = $${at + 2}`).join(' and ')
      const holder = `select 1 from ${this.name} where id <> $1 and ${same}`
      if ((yield sql(holder, id, ...values.map(bound))).length > 0) return field
    }
    return undefined
  }
}
