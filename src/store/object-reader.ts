/**
 * The contract of reading a database that may belong to running servers. A reader changes nothing, and holds no state of
 * the database longer than one call takes, so it keeps no writer waiting. Every method may throw StoreUnavailable.
 */
import type { Checked } from '../base/problems/checked.ts'
import type { Lookup } from '../decide/conditions/condition.ts'
import type { Scalar, StoredObject } from '../resources/object.ts'
import type { Resource, Resources } from '../resources/resource.ts'
import type { ApiKey } from './directory.ts'
import type { MigrationState } from './migrations.ts'
import type { StoredKeys } from './signing-keys.ts'

/** For each method: a resource without a table has no objects. */
export interface ObjectReader {
  /** Throws DamagedObject. */
  get(resource: Resource, id: string): Promise<StoredObject | undefined>
  /** The ids of all objects. Also throws if no object of the resource was ever stored: it may be the wrong database. */
  ids(resource: Resource): Promise<ReadonlySet<string>>
  /** The objects whose field has one of these values, by id; at most `most`. Throws DamagedObject. */
  find(resource: Resource, field: string, values: readonly Scalar[], most: number): Promise<readonly StoredObject[]>
  /** Whether such an object is stored; all resources that the lookup names must be given. */
  lookup(lookup: Lookup, resources: Resources): Promise<boolean>

  /**
   * Whether a server has made the table of the resource: without it, no object of the resource was ever stored, or the
   * database is another one.
   */
  hasTable(resource: Resource): Promise<boolean>
  count(resource: Resource): Promise<number>
  /** The rows as they are stored, damaged ones too, sorted by id. An empty page is the end. */
  rows(resource: Resource, page: RowPage): Promise<readonly StoredRow[]>
  /** The objects after this id, in the order in which migrations take them. Throws DamagedObject. */
  objects(resource: Resource, after: string | undefined, limit: number): Promise<readonly StoredObject[]>
  /** Throws DamagedObject. */
  apiKeys(): Promise<readonly ApiKey[]>
  /** How many people have one of these roles, as the guarantee `at-most` counts them. `now`: for keys that have ended. */
  peopleWith(roles: readonly string[], users: Resource | undefined, now: number): Promise<number>
  /** What the database knows of migrations: nothing before a server that has migrations opened it. */
  migrationState(): Promise<MigrationState>
  /** Which of these ids objects have. */
  existing(resource: Resource, ids: readonly string[]): Promise<ReadonlySet<string>>
  /**
   * The objects whose value of the field another object has too, as an index of unique values compares them. `ids`: the
   * first, sorted, at most `most`. Objects that don't parse are left out.
   */
  shared(resource: Resource, fields: readonly string[], most: number): Promise<SharingObjects>
  /** Objects that belong to none of these resources: their schema is gone. */
  undeclared(resources: Resources): Promise<readonly UndeclaredObjects[]>
  /** Compares the indexes with the rows, where an engine can. */
  checkIndexes(resource: Resource, most: number): Promise<CheckedIndexes>
  close(): Promise<void>
}

export interface RowPage {
  /** The `place` of the last row of the page before. */
  readonly after?: string
  /** The most rows. */
  readonly limit: number
  /** The page ends with the row whose document makes it larger than this, in bytes. */
  readonly bytes?: number
}

/** A row as it is stored: whoever wrote it. */
export interface StoredRow {
  readonly id: string
  /** Where the row is in the order; a text that the same engine reads again, also in another process. */
  readonly place: string
  readonly version: number
  readonly createdAt: string
  readonly updatedAt: string
  /** The document: JSON, unless it is damaged. */
  readonly text: string
  /**
   * The fields whose index values differ from the document. Lists and conditions find the object by the index values.
   * Empty where the engine computes such values when it reads them, and for documents that don't parse.
   */
  readonly disagreeing: readonly string[]
}

export interface SharingObjects {
  readonly count: number
  readonly ids: readonly string[]
}

export interface UndeclaredObjects {
  /** The name of the resource, or of the table where the engine can't tell. */
  readonly resource: string
  readonly count: number
}

export interface CheckedIndexes {
  /** What is wrong: sentences of the engine, with the id of the object where one is known. */
  readonly faults: readonly { readonly id?: string; readonly fault: string }[]
  /** Why they could not be checked. */
  readonly unchecked?: string
}

/** What `sallyport doctor` learns of a database. */
export interface Examined {
  readonly checks: readonly Checked[]
  /** Undefined if the database keeps none. */
  readonly keys: StoredKeys | undefined
}
