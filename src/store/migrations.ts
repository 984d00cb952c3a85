/**
 * How stored objects follow their schemas: which migrations ran, how far the running ones are, and the schemas that the
 * data last fitted. test/store/contract-migrations.ts tests it with every engine.
 */
import type { Document, StoredObject } from '../resources/object.ts'

/** Objects are migrated by the name of their resource, then by id, both compared as UTF-8 bytes. */
export interface MigrationPlace {
  readonly resource: string
  readonly id: string
}

export interface NewMigration {
  readonly number: number
  readonly name: string
  readonly digest: string
}

export interface StoredMigration extends NewMigration {
  /** RFC 3339, UTC, milliseconds. */
  readonly begunAt: string
  readonly endedAt: string | undefined
  /** How many objects it has changed or deleted so far. */
  readonly objects: number
  /** All objects up to this place are migrated; undefined before the first batch. */
  readonly place: MigrationPlace | undefined
}

/** Schemas that all stored objects fitted. */
export interface FittedSchemas {
  readonly digest: string
  /** JSON, in the form that whoever noted it chose. */
  readonly schemas: string
}

export interface MigrationState {
  /** In the order of their numbers. */
  readonly stored: readonly StoredMigration[]
  /** The schemas that the data last fitted. */
  readonly fitted: FittedSchemas | undefined
}

/** What becomes of one object. */
export type PlannedChange =
  | { readonly kind: 'keep' }
  | { readonly kind: 'rewrite'; readonly document: Document; readonly by: readonly number[] }
  | { readonly kind: 'delete'; readonly by: readonly number[] }

export interface Changed {
  readonly id: string
  readonly change: Exclude<PlannedChange, { readonly kind: 'keep' }>
}

/** What commits together with the changes of a batch. */
interface BatchEnd {
  /** Decision records, each one line of JSON without its end. */
  readonly records: readonly string[]
  /** The migrations that have now reached the end of the batch, with the number of objects that each has changed in it. */
  readonly reached: readonly { readonly number: number; readonly objects: number }[]
}

export interface Batch {
  readonly holder: string
  readonly resource: string
  /** The batch has all objects of the resource after this id; undefined for the first ones. */
  readonly after: string | undefined
  /** And up to this one; undefined for all others. The migrations are then at the last of these objects. */
  readonly upTo: string | undefined
  /** The objects as they were read, with what becomes of them. */
  readonly planned: readonly Planned[]
  /** For an object that was written after it was read. What it throws undoes the batch. */
  readonly plan: (object: StoredObject) => PlannedChange
  /** The time of the changes: RFC 3339, UTC, milliseconds. */
  readonly time: string
  /** May be called more than once. */
  readonly end: (changed: readonly Changed[]) => BatchEnd
}

interface Planned {
  readonly object: StoredObject
  readonly change: PlannedChange
}

export interface Migrations {
  /** In the order of their numbers. */
  stored(): Promise<readonly StoredMigration[]>
  fitted(): Promise<FittedSchemas | undefined>
  noteFitted(schemas: FittedSchemas): Promise<void>
  /** Whether no object of any of these resources is stored. */
  isEmpty(resources: readonly string[]): Promise<boolean>
  /** The objects after this id, in the order of their ids. Throws DamagedObject. */
  objects(resource: string, after: string | undefined, limit: number): Promise<readonly StoredObject[]>
  /**
   * Whether this holder, and no other one, migrates for the next seconds. The first holder to ask keeps the lease until
   * it releases it, or hasn't asked for some seconds.
   */
  hold(holder: string): Promise<boolean>
  release(holder: string): Promise<void>
  /** Notes that these migrations begin, unless they have begun before. Throws LeaseLost. */
  begin(holder: string, migrations: readonly NewMigration[], time: string): Promise<void>
  /**
   * Changes the objects of a batch: all of it or nothing, whatever ends the process. An engine may make it durable only
   * with the end of the run; then a loss of power undoes the last batches, each as a whole. No write of a client is
   * lost: an object that was written meanwhile is planned again. Throws LeaseLost, and UnfitObject, which `plan` may
   * throw too.
   */
  change(batch: Batch): Promise<void>
  /** Notes that these migrations have ended, and the schemas that the data now fits. Throws LeaseLost. */
  end(holder: string, numbers: readonly number[], fitted: FittedSchemas, time: string): Promise<void>
}
