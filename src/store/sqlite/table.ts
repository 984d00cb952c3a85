/** The objects of one resource in their table. Its statements are prepared when it is made. */
import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite'
import { type Document, isScalar, type StoredObject } from '../../resources/object.ts'
import { UniqueTaken } from '../errors.ts'
import { type ObjectRow, parsedObject } from '../parse-stored.ts'
import { quoteName, wellFormed } from '../sql/quote.ts'
import { breaksUnique } from './database.ts'
import { OBJECT_COLUMNS, objectRow, stored, type TablePlan } from './layout/schema.ts'
import { bound } from './query/condition-values.ts'
import type { ObjectLists } from './query/lists.ts'
import { parameters } from './query/parameters.ts'

/** The columns that an update writes over the checked version. */
export interface ObjectChange {
  readonly id: string
  readonly version: number
  readonly updatedAt: string
  readonly document: Document
}

export interface ObjectVersion {
  readonly id: string
  readonly version: number
}

interface UniqueField {
  readonly field: string
  /** Finds another object that has the value. */
  readonly holder: StatementSync
}

/** The version is absent in a create. */
type Written = Pick<ObjectChange, 'id' | 'document'> & { readonly version?: number }

export class ObjectTable {
  /** Contains no quote. */
  readonly name: string
  readonly lists: ObjectLists
  readonly #unique: readonly UniqueField[]
  readonly #get: StatementSync
  readonly #insert: StatementSync
  readonly #update: StatementSync
  readonly #delete: StatementSync
  readonly #count: StatementSync
  readonly #version: StatementSync
  readonly #page: StatementSync
  readonly #versions: StatementSync

  /** `lists`: of the same table. */
  constructor(database: DatabaseSync, plan: TablePlan, lists: ObjectLists) {
    this.name = plan.table
    this.lists = lists
    const table = quoteName(plan.table)
    const columnsOfAll = OBJECT_COLUMNS.join()
    this.#unique = plan.indexed
      .filter(({ unique }) => unique)
      .map(({ field, column }) => {
        const holder = `select 1 from ${table} where ${quoteName(column)} = ? and id <> ?`
        return { field, holder: database.prepare(holder) }
      })
    this.#get = database.prepare(`select ${columnsOfAll} from ${table} where id = ?`)
    this.#get.setReturnArrays(true)
    const values = parameters(OBJECT_COLUMNS.length)
    this.#insert = database.prepare(`insert into ${table} (${columnsOfAll}) values (${values})`)
    const change = 'version = ?, updated_at = ?, document = ?'
    this.#update = database.prepare(`update ${table} set ${change} where id = ? and version = ? returning created_at`)
    this.#delete = database.prepare(`delete from ${table} where id = ? and version = ?`)
    this.#count = database.prepare(`select count(*) as count from ${table}`)
    this.#version = database.prepare(`select version from ${table} where id = ?`)
    this.#page = database.prepare(`select ${columnsOfAll} from ${table} where id > ? order by id limit ?`)
    this.#page.setReturnArrays(true)
    this.#versions = database.prepare(
      `select id, version from ${table} where id > ?1 and (?2 is null or id <= ?2) order by id`,
    )
  }

  row(id: string): ObjectRow | undefined {
    // Text that isn't well-formed would be bound with U+FFFD in it, and could match another object.
    const row = id.isWellFormed() ? this.#get.get(id) : undefined
    return row && objectRow(row as unknown as readonly SQLOutputValue[])
  }

  /** Throws DamagedObject. */
  get(id: string): StoredObject | undefined {
    const row = this.row(id)
    return row && parsedObject(row)
  }

  /** Throws UniqueTaken. */
  insert({ id, version, createdAt, updatedAt, document }: StoredObject): void {
    this.#writing({ id, document }, () =>
      this.#insert.run(wellFormed(id), version, createdAt, updatedAt, JSON.stringify(document)),
    )
  }

  /** The time of the object's creation; undefined if the stored version has changed. Throws UniqueTaken. */
  update({ id, version, updatedAt, document }: ObjectChange): string | undefined {
    // `all`, not `get`: the commit comes after the row, when the statement has run to its end.
    const rows = this.#writing({ id, version, document }, () =>
      this.#update.all(version + 1, updatedAt, JSON.stringify(document), id, version),
    )
    return rows[0]?.created_at as string | undefined
  }

  /** False if the stored version has changed. */
  delete(id: string, version: number): boolean {
    return this.#delete.run(id, version).changes === 1
  }

  /** Undefined if there is no such object. */
  version(id: string): number | undefined {
    return id.isWellFormed() ? (this.#version.get(id)?.version as number | undefined) : undefined
  }

  /** The objects after this id, in the order of their ids. Throws DamagedObject. */
  page(after: string | undefined, limit: number): readonly StoredObject[] {
    const rows = this.#page.all(after ?? '', limit) as unknown as readonly (readonly SQLOutputValue[])[]
    return rows.map(stored)
  }

  /** Of all objects after one id, and up to another if it is given. */
  versionsIn(after: string | undefined, upTo: string | undefined): readonly ObjectVersion[] {
    return this.#versions.all(after ?? '', upTo ?? null) as unknown as readonly ObjectVersion[]
  }

  count(): number {
    return Number(this.#count.get()?.count)
  }

  #writing<T>(written: Written, write: () => T): T {
    try {
      return write()
    } catch (error) {
      const taken = breaksUnique(error) ? this.#firstTaken(written) : undefined
      throw taken === undefined ? error : new UniqueTaken(taken)
    }
  }

  /** SQLite names the value that it meets first, whatever the order of the fields. */
  #firstTaken({ id, version, document }: Written): string | undefined {
    if (version === undefined && this.version(id) !== undefined) return 'id'
    const taken = this.#unique.find(({ field, holder }) => {
      const value = Object.hasOwn(document, field) ? document[field] : undefined
      return isScalar(value) && holder.get(bound(value), id) !== undefined
    })
    return taken?.field
  }
}
