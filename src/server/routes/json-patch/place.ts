/** Reads and changes one place of a JSON value. The value is changed in place, so it must be the caller's own copy. */
import type { Json } from '../../../resources/resource.ts'

type Elements = Json[]
type Members = Record<string, Json>

/** `malformed`: no array can have this index; `absent`: the place could exist, but doesn't. */
export class NoSuchPlace extends Error {
  readonly kind: 'malformed' | 'absent'

  /** `message` is the rest of a sentence that starts with the pointer. */
  constructor(kind: 'malformed' | 'absent', message: string) {
    super(message)
    this.name = 'NoSuchPlace'
    this.kind = kind
  }
}

/** Throws NoSuchPlace. */
export function valueAt(target: Json, tokens: readonly string[]): Json {
  return tokens.reduce(childOf, target)
}

/**
 * RFC 6902 section 4.1: a member is added or replaced; an element is inserted (`-`: at the end). Throws NoSuchPlace.
 */
export function add(target: Json, tokens: readonly string[], value: Json): void {
  const { parent, token } = placeOf(target, tokens)
  if (isElements(parent)) insert(parent, token, value)
  else setMember(parent, token, value)
}

/** RFC 6902 section 4.2. Throws NoSuchPlace. */
export function remove(target: Json, tokens: readonly string[]): void {
  const { parent, token } = placeOf(target, tokens)
  childOf(parent, token)
  if (isElements(parent)) parent.splice(Number(token), 1)
  else delete parent[token]
}

/** RFC 6902 section 4.3. Throws NoSuchPlace. */
export function replace(target: Json, tokens: readonly string[], value: Json): void {
  const { parent, token } = placeOf(target, tokens)
  childOf(parent, token)
  if (isElements(parent)) parent[Number(token)] = value
  else setMember(parent, token, value)
}

function insert(elements: Elements, token: string, value: Json): void {
  const index = token === '-' ? elements.length : indexOf(token)
  if (index > elements.length) throw absent(token)
  elements.splice(index, 0, value)
}

function placeOf(target: Json, tokens: readonly string[]): { parent: Elements | Members; token: string } {
  const token = tokens.at(-1)
  if (token === undefined) throw new Error("a JSON Patch can't replace the whole object")
  return { parent: containerAt(valueAt(target, tokens.slice(0, -1)), token), token }
}

/** Inherited properties of an object aren't its members. */
function childOf(parent: Json, token: string): Json {
  const container = containerAt(parent, token)
  const own = isElements(container) ? container[indexOf(token)] : ownMember(container, token)
  if (own === undefined) throw absent(token)
  return own
}

function ownMember(members: Members, name: string): Json | undefined {
  return Object.hasOwn(members, name) ? members[name] : undefined
}

/** Sets a plain member, whatever its name: an assignment to `__proto__` would change what the object inherits. */
function setMember(members: Members, name: string, value: Json): void {
  Object.defineProperty(members, name, { value, writable: true, enumerable: true, configurable: true })
}

/** RFC 6901 section 4: digits without leading zeros. */
function indexOf(token: string): number {
  if (/^(?:0|[1-9]\d{0,9})$/.test(token)) return Number(token)
  throw new NoSuchPlace('malformed', `names \`${token}\`, which is not the index of an element`)
}

function containerAt(json: Json, token: string): Elements | Members {
  if (typeof json === 'object' && json !== null) return json as Elements | Members
  throw absent(token)
}

function isElements(container: Elements | Members): container is Elements {
  return Array.isArray(container)
}

function absent(token: string): NoSuchPlace {
  return new NoSuchPlace('absent', `names \`${token}\`, which does not exist`)
}
