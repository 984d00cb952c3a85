/**
 * The only value that a store's write methods accept. A permit holds the very object that was checked. Only
 * src/decide/permits/issue-permits.ts issues permits (test/architecture.test.ts), so a handler that doesn't ask for a decision
 * doesn't compile.
 */

import type { Document, StoredObject } from '../../resources/object.ts'
import type { Lookup } from '../conditions/condition.ts'
import type { Evidence } from '../evidence.ts'
import type { AtMost } from '../role-guarantees.ts'

export type PermitKind = 'create' | 'update' | 'delete'

/** What a decision rests on besides the object itself. A store writes only if all of it is still so. */
export interface ReadSet {
  readonly lookups: readonly AnsweredLookup[]
  /** The caller's users record, if the decision looked at it; `version` is undefined if there was no record. */
  readonly caller?: { readonly id: string; readonly version: number | undefined } | undefined
}

/** The same, while a decision collects it. */
export interface GrowingReadSet extends ReadSet {
  readonly lookups: AnsweredLookup[]
}

interface AnsweredLookup {
  readonly lookup: Lookup
  readonly holds: boolean
}

interface CheckedWrite<K extends PermitKind> {
  readonly kind: K
  readonly resource: string
  readonly id: string
  /** The object's version at the decision; 0 for a create. */
  readonly version: number
  /** What to write; empty for a delete. */
  readonly document: Document
  readonly evidence: Evidence
  /** The guarantees about people that the write could break: the store counts. */
  readonly bounds: readonly AtMost[]
  readonly readSet: ReadSet
}

// No other file can name this symbol, so no object literal is a permit.
declare const issued: unique symbol

/** Plain data, which can be sent to another thread or engine. */
export type Permit<K extends PermitKind> = CheckedWrite<K> & { readonly [issued]: K }

/** The permit has its own read set: the decision may go on, and read more. */
export function issuePermit<K extends PermitKind>(checked: CheckedWrite<K>): Permit<K> {
  const { lookups, caller } = checked.readSet
  const own: CheckedWrite<K> = { ...checked, readSet: { lookups: [...lookups], caller } }
  return Object.freeze(own) as Permit<K>
}

/** The same permit, which also rests on these look-ups, and on the caller as they saw it. It permits nothing more. */
export function restingOn<P extends Permit<PermitKind>>(permit: P, { lookups, caller }: ReadSet): P {
  const { readSet } = permit
  const all = { lookups: [...readSet.lookups, ...lookups], caller: readSet.caller ?? caller }
  return Object.freeze({ ...permit, readSet: all })
}

/**
 * What several permits of one caller rest on, each look-up once: many objects rest on the same other ones. Undefined if
 * they saw the caller in different states, which can't be so any more.
 */
export function allReads(permits: readonly Pick<Permit<PermitKind>, 'readSet'>[]): ReadSet | undefined {
  const lookups = permits.flatMap(({ readSet }) => readSet.lookups)
  const callers = permits.flatMap(({ readSet }) => readSet.caller ?? [])
  const [caller] = callers
  if (callers.some((one) => one.id !== caller?.id || one.version !== caller.version)) return undefined
  return { lookups: [...new Map(lookups.map((one) => [JSON.stringify(one), one])).values()], caller }
}

/**
 * A write that comes with another one: with a delete, of an object that referred to the deleted one; with the update of
 * a command, of an object that the command creates.
 */
export type AlongPermit = Permit<'delete'> | Permit<'update'> | Permit<'create'>

// The object that a permit's write leaves in the store.

/** The object that a create writes. */
export function createdObject({ id, document }: Permit<'create'>, time: string): StoredObject {
  return { id, version: 1, createdAt: time, updatedAt: time, document }
}

/** The object after an update. */
export function updatedObject(
  { id, version, document }: Permit<'update'>,
  { createdAt }: Pick<StoredObject, 'createdAt'>,
  time: string,
): StoredObject {
  return { id, version: version + 1, createdAt, updatedAt: time, document }
}
