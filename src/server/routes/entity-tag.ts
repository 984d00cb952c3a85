/**
 * Strong entity tags (RFC 9110 section 8.8.3) of items, and the preconditions that name them (section 13.2). A tag has
 * two parts: the object and its state (If-Match compares this part), and the fields that are shown (so that callers
 * with different views never share a tag) with what the answer shows beside the fields.
 */
import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { Problem } from '../../base/problems/problem.ts'
import type { StoredObject } from '../../resources/object.ts'
import type { Representation, Route } from '../../resources/resource.ts'
import type { Preconditions, TagCondition } from '../input/input.ts'

/**
 * In characters of six bits: long enough that two states, or two views of a state, never get the same mark by chance.
 */
const STATE_LENGTH = 16
const VIEW_LENGTH = 8

export interface Item {
  readonly resource: string
  readonly object: StoredObject
}

/** An object with the fields of one answer: JSON, and the opaque part of its tag. */
interface TaggedText {
  readonly opaque: string
  readonly body: WrittenJson
}

/** More sets of fields than the policies of a server show at one time. */
const MOST_VIEWS = 1000

export class EntityTags {
  readonly #key: string
  readonly #views = new LRUCache<string, string>({
    max: MOST_VIEWS,
    memoMethod: (view) => this.#mark(view, VIEW_LENGTH),
  })
  /** The last text of each object that the store may return again. */
  readonly #texts = new WeakMap<StoredObject, TaggedText & { readonly fields: ReadonlySet<string> }>()

  /** `key` has 32 bytes. */
  constructor(key: Uint8Array) {
    this.#key = Buffer.from(key).toString('base64url')
  }

  /**
   * Names one state of one object: its version, and when it was written, because versions can repeat after a backup is
   * restored.
   */
  stateOf({ resource, object: { id, version, updatedAt } }: Item): string {
    return this.#mark(JSON.stringify(['state', resource, id, version, updatedAt]), STATE_LENGTH)
  }

  /** The opaque part of the tag, without quotes: the state's mark and that of the fields. */
  opaqueOf(item: Item, shown: Representation, more?: object): string {
    // Other objects, the time and the policy change what stands beside the fields, so the tag needs its whole content.
    const view = JSON.stringify(['view', ...Object.keys(shown), ...(more ? [more] : [])])
    return this.stateOf(item) + (more ? this.#mark(view, VIEW_LENGTH) : this.#views.memo(view))
  }

  /** While the store returns the same object, it is written and marked once for the same `fields`, cut to `shown`. */
  textOf(item: Item, fields: ReadonlySet<string>, shown: Representation): TaggedText {
    const known = this.#texts.get(item.object)
    if (known && isSame(known.fields, fields)) return known
    const text = { fields, opaque: this.opaqueOf(item, shown), body: new WrittenJson(JSON.stringify(shown)) }
    this.#texts.set(item.object, text)
    return text
  }

  /** The value of the header. */
  of(item: Item, shown: Representation): string {
    return `"${this.opaqueOf(item, shown)}"`
  }

  /**
   * Keyed, so that a tag doesn't reveal how often an object was written, or which fields exist. Most of the digest is
   * cut off, so nobody can compute the mark of a longer text from it, and no HMAC is needed.
   */
  #mark(text: string, length: number): string {
    return hash('sha256', this.#key + text, 'base64url').slice(0, length)
  }
}

function isSame(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one === other || (one.size === other.size && one.isSubsetOf(other))
}

/** The state's mark of an opaque tag; undefined for a tag that this server can't have made. */
export function stateOfTag(opaque: string): string | undefined {
  return opaque.length === STATE_LENGTH + VIEW_LENGTH ? opaque.slice(0, STATE_LENGTH) : undefined
}

/** JSON that is turned into text only once, for all readers. */
export class WrittenJson {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

interface Guarded {
  readonly preconditions: Preconditions
  readonly route: Route
}

/**
 * For a write: throws Problem precondition-required or precondition-failed. It compares only states, so a change of
 * what a caller may see doesn't break the caller's writes. `item` is the object in the permit; undefined for POST,
 * because its target, the collection, has no tag.
 */
export function refuseUnmet(tags: EntityTags, { preconditions, route }: Guarded, item: Item | undefined): void {
  const { ifMatch, ifNoneMatch } = preconditions
  if (item && route.precondition === 'required' && !ifMatch) {
    throw new Problem(
      'precondition-required',
      'This request needs the header If-Match; send the ETag that you read last.',
    )
  }
  if (!ifMatch && !ifNoneMatch) return
  const state = item && tags.stateOf(item)
  refuseOtherState(ifMatch, state)
  if (!ifNoneMatch) return
  if (ifNoneMatch.kind === 'any')
    throw failed('The target of this request exists already, but If-None-Match is *; omit the header.')
  if (ifNoneMatch.tags.some(({ opaque }) => stateOfTag(opaque) === state)) {
    throw failed('The object is in a state that If-None-Match excludes; omit the header to write it.')
  }
}

/**
 * For GET and HEAD: whether the client already has the representation with this tag (weak comparison; without quotes).
 * Throws precondition-failed.
 */
export function isKnown(tags: EntityTags, { preconditions }: Guarded, item: Item, current: string): boolean {
  const { ifMatch, ifNoneMatch } = preconditions
  if (ifMatch) refuseOtherState(ifMatch, tags.stateOf(item))
  if (!ifNoneMatch || ifNoneMatch.kind === 'any') return ifNoneMatch !== undefined
  return ifNoneMatch.tags.some(({ opaque }) => opaque === current)
}

/** Strong comparison (RFC 9110 section 13.1.1): a weak tag never matches. */
function refuseOtherState(ifMatch: TagCondition | undefined, state: string | undefined): void {
  if (!ifMatch || ifMatch.kind === 'any') return
  const fits = ifMatch.tags.some(({ weak, opaque }) => !weak && state !== undefined && stateOfTag(opaque) === state)
  if (!fits) throw failed('The object is not in the state that If-Match names; read it again.')
}

function failed(detail: string): Problem {
  return new Problem('precondition-failed', detail)
}
