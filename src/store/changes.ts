/**
 * The log of changes: what each write made of an object whose resource keeps changes (`Resource.changes`). It is written
 * in the transaction of the write, whoever wrote.
 */
import type { StoredObject } from '../resources/object.ts'

export interface ObjectChange {
  /** Grows in the order of the commits; never used twice, and none comes later with a lower number. */
  readonly number: number
  readonly resource: string
  readonly id: string
  /** Undefined for a create. */
  readonly before: StoredObject | undefined
  /** Undefined for a delete, and where the stored document is damaged. */
  readonly after: StoredObject | undefined
  readonly isDelete: boolean
  /** Of a delete: the fields that were erased from `before`. */
  readonly erased?: readonly string[] | undefined
  /** The time of the write: RFC 3339, UTC, milliseconds. Clocks of instances differ. */
  readonly at: string
  /** Undefined for a write without a decision: a command, a migration, another program. */
  readonly by: WrittenBy | undefined
}

/** Of the decision record of the write, as far as LOG_MASK leaves it. */
export interface WrittenBy {
  readonly subject?: string | undefined
  readonly requestId: string
  readonly action?: string | undefined
  readonly revision: string
  /** The lines that decided, such as `policy.csv:14`. */
  readonly rules?: readonly string[] | undefined
}

export interface ChangesAfter {
  /** Of all resources, in the order of their numbers. */
  readonly changes: readonly ObjectChange[]
  /**
   * By resource: whoever has seen all changes up to this number, or up to a later one, misses none that follow. Others
   * must begin anew, because changes between have ended, or weren't kept; and if the resource is absent, all must.
   */
  readonly since: ReadonlyMap<string, number>
}

export type ChangedObject = Pick<ObjectChange, 'resource' | 'id'>

/** With `createdAt`: the object that was created then, the last time; without: whatever has had the id. */
export interface ObjectLife extends ChangedObject {
  readonly createdAt?: string | undefined
}

/** Every method throws StoreUnavailable. */
export interface ObjectChanges {
  /** The number of the last change; a reader that begins now asks for those after it. */
  last(): Promise<number>
  /** At most `limit`. A reader that asks again after the last number that it has seen misses nothing. */
  after(number: number, limit: number): Promise<ChangesAfter>
  /**
   * Calls the listener after commits that may have changed objects, of any process, within 200 ms: several commits are
   * one call. Ends with the returned function.
   */
  onChange(listener: () => void): () => void
  /** What was written of one object: the newest first, before this number if it is given, and after this time. */
  of(
    object: ObjectLife,
    page: { readonly before?: number; readonly since: string; readonly limit: number },
  ): Promise<readonly ObjectChange[]>
  /** Of each object of a resource the first change after the time: those after this number, in their order. */
  firstOfEach(
    resource: string,
    time: string,
    page: { readonly after: number; readonly limit: number },
  ): Promise<readonly ObjectChange[]>
  /** The first of these changes after the time. Times: RFC 3339, UTC, milliseconds. */
  firstAfter(object: ObjectLife, time: string): Promise<ObjectChange | undefined>
  /**
   * Takes a field out of all that is kept of an object or, without one, deletes all of it; readers of the resource must
   * begin anew then. Returns how many changes had it.
   */
  erase(object: ChangedObject, field: string | undefined): Promise<number>
  /** Forgets that this subject made changes, of all objects. Returns how many. */
  eraseWriter(subject: string): Promise<number>
  /** Deletes what is older than its resource keeps it, in small pieces. */
  expire(): Promise<void>
}

interface PastState {
  readonly object: StoredObject
  /** The change that ended it; undefined if it lasts. */
  readonly next: ObjectChange | undefined
}

/** What of the log a history needs. */
export type ReadChanges = Pick<ObjectChanges, 'of' | 'firstAfter'>

/**
 * What the object was at the time; undefined where that isn't kept, or there was no object. A state is what the object
 * was from its own time to the next change, whatever was kept before. `now`: the object; undefined if it is gone.
 */
export async function stateAt(
  changes: Pick<ObjectChanges, 'firstAfter'>,
  named: ObjectLife,
  now: StoredObject | undefined,
  time: string,
): Promise<PastState | undefined> {
  const next = await changes.firstAfter(named, time)
  const object = next ? next.before : now
  return object && object.updatedAt <= time ? { object, next } : undefined
}

/**
 * The delete of the object that had the id at the time or, without one, had it last. Undefined if that is the present
 * object (`now`), or if its delete isn't kept.
 */
export async function endOf(
  changes: ReadChanges,
  named: ChangedObject,
  now: StoredObject | undefined,
  { time, since }: { readonly time: string | undefined; readonly since: string },
): Promise<ObjectChange | undefined> {
  if (now && (time === undefined || now.createdAt <= time)) return undefined
  const next = time === undefined ? undefined : await changes.firstAfter(named, time)
  const createdAt = next?.before?.createdAt
  if (now && (createdAt === undefined || createdAt === now.createdAt)) return undefined
  const [newest] = await changes.of({ ...named, createdAt }, { since, limit: 1 })
  return newest?.isDelete ? newest : undefined
}
