/**
 * Strong entity tags (RFC 9110 section 8.8.3) of items. A tag has two parts: which state of which object (what If-Match
 * compares), and which of its fields are shown (so that callers with different views never share one).
 */
import { createHmac } from 'node:crypto'
import type { Representation } from '../resources/resource.ts'
import type { StoredObject } from '../store/contract.ts'

/** In characters of six bits: no two states, no two views of a state, meet by chance. */
const STATE_LENGTH = 16
const VIEW_LENGTH = 8

export interface Item {
  readonly resource: string
  readonly object: StoredObject
}

/** Names one state of one object: its version, and when it was written, in case a restored backup counts on anew. */
export function stateMark(key: Uint8Array, { resource, object }: Item): string {
  const { id, version, updatedAt } = object
  return digest(key, ['state', resource, id, version, updatedAt], STATE_LENGTH)
}

/** The opaque part of the tag, without quotes: the state's mark and that of the fields. `key` has 32 bytes. */
export function opaqueTag(key: Uint8Array, item: Item, shown: Representation): string {
  const state = stateMark(key, item)
  return state + digest(key, ['view', state, ...Object.keys(shown)], VIEW_LENGTH)
}

/** The state's mark of any opaque tag; what this server never gave has none. */
export function stateOfTag(opaque: string): string | undefined {
  return opaque.length === STATE_LENGTH + VIEW_LENGTH ? opaque.slice(0, STATE_LENGTH) : undefined
}

/** The value of the header. */
export function entityTag(key: Uint8Array, item: Item, shown: Representation): string {
  return `"${opaqueTag(key, item, shown)}"`
}

/** Keyed, so that a tag says nothing about how often an object was written, or which fields there are. */
function digest(key: Uint8Array, parts: readonly (string | number)[], length: number): string {
  return createHmac('sha256', key).update(JSON.stringify(parts)).digest('base64url').slice(0, length)
}
