/**
 * A JSON Patch (RFC 6902) for a resource: its operations, the fields that they name and read, and its application to
 * an object, completely or not at all. The package `rfc6902` ignores `__proto__` and `constructor` in a path and finds
 * inherited properties, so only the tests use it, as an oracle (docs/decisions/0086).
 */
import { isObject } from '../../base/is-object.ts'
import { pathOfPointer } from '../../base/json-pointer.ts'
import { type FieldFault, Problem } from '../../base/problems/problem.ts'
import { sameJson } from '../../resources/object.ts'
import type { Json, Representation, Resource } from '../../resources/resource.ts'
import type { JsonObject } from '../../resources/schema/schema-file.ts'

/** Reference tokens (RFC 6901 section 4), decoded; the first is a field of the resource. */
type Pointer = readonly [string, ...string[]]

export type PatchOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: Pointer; readonly value: Json }
  | { readonly op: 'remove'; readonly path: Pointer }
  | { readonly op: 'move' | 'copy'; readonly path: Pointer; readonly from: Pointer }

interface PatchFields {
  /** The fields that the patch would write. */
  readonly named: ReadonlySet<string>
  /** Fields whose stored value the result of the patch could reveal, even if only that the value exists. */
  readonly read: ReadonlySet<string>
}

export function fieldsOf(operations: readonly PatchOperation[]): PatchFields {
  return {
    named: new Set(operations.flatMap(written).map(([field]) => field)),
    read: new Set(operations.flatMap(looked).map(([field]) => field)),
  }
}

function written(operation: PatchOperation): readonly Pointer[] {
  if (operation.op === 'test') return []
  return operation.op === 'move' ? [operation.from, operation.path] : [operation.path]
}

/**
 * Only `add` of a whole field succeeds for any stored value. Every other operation needs the places that it names, or
 * their parents.
 */
function looked(operation: PatchOperation): readonly Pointer[] {
  const { op, path } = operation
  const target = op === 'test' || op === 'remove' || op === 'replace' || path.length > 1 ? [path] : []
  return 'from' in operation ? [operation.from, ...target] : target
}

const MAX_OPERATIONS = 1000

/** As deep as a body may be. */
const MAX_DEPTH = 32

const MAX_FAULTS = 100

type ParsedPart<T> = { readonly value: T } | { readonly faults: readonly FieldFault[] }

/** RFC 6902 section 3. Throws Problem invalid-patch. Ignores members that the RFC doesn't define (section 4). */
export function parseJsonPatch(document: Json, resource: Resource): readonly PatchOperation[] {
  if (!Array.isArray(document)) throw invalidPatch([fault('', 'must be an array of operations', 'type')])
  if (document.length > MAX_OPERATIONS) {
    throw invalidPatch([fault('', `must have at most ${MAX_OPERATIONS} operations`, 'maxItems')])
  }
  const parsed = document.map((one: Json, i) => parseOperation(one, `/${i}`, resource))
  const faults = parsed.flatMap((one) => ('faults' in one ? one.faults : []))
  if (faults.length > 0) throw invalidPatch(faults.slice(0, MAX_FAULTS))
  return parsed.flatMap((one) => ('value' in one ? [one.value] : []))
}

function invalidPatch(errors: readonly FieldFault[]): Problem {
  return new Problem(
    'invalid-patch',
    'The body is not a JSON Patch of this resource; correct the operations in `errors`.',
    { errors },
  )
}

function fault(pointer: string, detail: string, code: string): FieldFault {
  return { pointer, detail, code }
}

function parseOperation(json: Json, at: string, resource: Resource): ParsedPart<PatchOperation> {
  if (!isObject(json)) return { faults: [fault(at, 'must be an object', 'type')] }
  const members: JsonObject = json
  const path = parsePointer(members, { at, name: 'path' }, resource)
  switch (own(members, 'op')) {
    case 'add':
    case 'replace':
    case 'test':
      return withValue(members, path, at)
    case 'remove':
      return 'faults' in path ? path : { value: { op: 'remove', path: path.value } }
    case 'move':
    case 'copy':
      return withSource(members, path, parsePointer(members, { at, name: 'from' }, resource), at)
    default: {
      const wrong = fault(`${at}/op`, 'must be add, remove, replace, move, copy or test', 'enum')
      return { faults: [wrong, ...faultsOf(path)] }
    }
  }
}

function withValue(members: JsonObject, path: ParsedPart<Pointer>, at: string): ParsedPart<PatchOperation> {
  const value = own(members, 'value')
  if (value === undefined) return { faults: [...faultsOf(path), fault(`${at}/value`, 'is missing', 'required')] }
  if ('faults' in path) return path
  return { value: { op: members.op as 'add' | 'replace' | 'test', path: path.value, value } }
}

function withSource(
  members: JsonObject,
  path: ParsedPart<Pointer>,
  from: ParsedPart<Pointer>,
  at: string,
): ParsedPart<PatchOperation> {
  if ('faults' in path || 'faults' in from) return { faults: [...faultsOf(path), ...faultsOf(from)] }
  const op = members.op as 'move' | 'copy'
  // RFC 6902 section 4.4.
  if (op === 'move' && isWithin(path.value, from.value)) {
    return { faults: [fault(`${at}/path`, 'is inside the value that would be moved', 'move')] }
  }
  return { value: { op, path: path.value, from: from.value } }
}

/** RFC 6901 section 3. A pointer to the whole object is refused, because its id and times belong to the server. */
function parsePointer(
  members: JsonObject,
  { at, name }: { readonly at: string; readonly name: 'path' | 'from' },
  resource: Resource,
): ParsedPart<Pointer> {
  const pointer = own(members, name)
  const wrong = (detail: string, code: string) => ({ faults: [fault(`${at}/${name}`, detail, code)] })
  if (pointer === undefined) return wrong('is missing', 'required')
  if (typeof pointer !== 'string' || !/^(?:\/(?:[^~/]|~[01])*)*$/.test(pointer)) {
    return wrong('must be a JSON Pointer, like `/title`', 'json-pointer')
  }
  const [field, ...rest] = pathOfPointer(pointer)
  if (field === undefined) return wrong("must name a field; a patch can't replace the whole object", 'json-pointer')
  if (!resource.fields.has(field)) return wrong('does not begin with a known field', 'additionalProperties')
  if (rest.length >= MAX_DEPTH) return wrong(`goes deeper than ${MAX_DEPTH} levels`, 'depth')
  return { value: [field, ...rest] }
}

function isWithin(inner: Pointer, outer: Pointer): boolean {
  return inner.length > outer.length && outer.every((token, i) => token === inner[i])
}

function faultsOf(parsed: ParsedPart<unknown>): readonly FieldFault[] {
  return 'faults' in parsed ? parsed.faults : []
}

function own(members: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(members, name) ? members[name] : undefined
}

/**
 * `conflict`: the object isn't as the patch expects. `invalid`: the patch fits no state of the object. The problem is
 * thrown later, in the order of the checks.
 */
export type AppliedPatch =
  | { readonly kind: 'applied'; readonly after: Representation }
  | { readonly kind: 'conflict' | 'invalid'; readonly problem: Problem }

/**
 * In characters: the most that the copies and moves of one patch may carry. Without a limit, 20 copies make a million
 * characters of one.
 */
const MAX_CARRIED = 200_000

/** Doesn't change its arguments. */
export function applyJsonPatch(before: Representation, operations: readonly PatchOperation[]): AppliedPatch {
  const draft = structuredClone(before)
  let carried = 0
  for (const [i, operation] of operations.entries()) {
    try {
      carried += apply(draft, operation)
      if (carried > MAX_CARRIED)
        throw new Unapplicable('invalid-patch', 'from', 'copies and moves too much; split the patch')
    } catch (error) {
      if (!(error instanceof Unapplicable)) throw error
      return { kind: error.code === 'invalid-patch' ? 'invalid' : 'conflict', problem: problemOf(error, i) }
    }
  }
  return { kind: 'applied', after: draft }
}

type PatchMember = 'path' | 'from' | 'value'

class Unapplicable extends Error {
  readonly code: 'invalid-patch' | 'patch-conflict' | 'patch-test-failed'
  /** The faulty member of the operation. */
  readonly member: PatchMember

  constructor(code: Unapplicable['code'], member: PatchMember, message: string) {
    super(message)
    this.code = code
    this.member = member
  }
}

/** Changes the draft; returns how many characters it copied or moved. Throws Unapplicable. */
function apply(draft: Representation, operation: PatchOperation): number {
  const { path } = operation
  switch (operation.op) {
    case 'add':
      place('path', () => add(draft, path, ownCopy(path, operation.value).value))
      return 0
    case 'replace':
      place('path', () => replace(draft, path, ownCopy(path, operation.value).value))
      return 0
    case 'remove':
      place('path', () => remove(draft, path))
      return 0
    case 'test':
      if (place('path', () => sameJson(valueAt(draft, path), operation.value))) return 0
      throw new Unapplicable('patch-test-failed', 'value', 'is not the stored value')
    default:
      return carry(draft, operation)
  }
}

function carry(draft: Representation, { op, from, path }: Extract<PatchOperation, { readonly from: unknown }>): number {
  const found = place('from', () => valueAt(draft, from))
  const { value, size } = place('path', () => ownCopy(path, found))
  if (op === 'move') remove(draft, from)
  place('path', () => add(draft, path, value))
  return size
}

/** A patch must not build, step by step, a value that a body could not contain. */
function ownCopy({ length }: readonly string[], value: Json): { readonly value: Json; readonly size: number } {
  const { depth, size } = measure(value)
  if (length + depth > MAX_DEPTH) throw new NoSuchPlace('malformed', `would nest deeper than ${MAX_DEPTH} levels`)
  return { value: structuredClone(value), size }
}

/** Throws Unapplicable for NoSuchPlace. */
function place<T>(member: PatchMember, act: () => T): T {
  try {
    return act()
  } catch (error) {
    if (!(error instanceof NoSuchPlace)) throw error
    throw new Unapplicable(error.kind === 'absent' ? 'patch-conflict' : 'invalid-patch', member, error.message)
  }
}

function problemOf({ code, member, message }: Unapplicable, index: number): Problem {
  const errors = [fault(`/${index}/${member}`, message, code)]
  if (code === 'invalid-patch') return invalidPatch(errors)
  const detail =
    code === 'patch-test-failed'
      ? 'A test of the patch failed, so nothing was changed; read the object again.'
      : 'The patch names a place that the object does not have, so nothing was changed; read the object again.'
  return new Problem(code, detail, { errors })
}

type Elements = Json[]
type OwnMembers = Record<string, Json>

/** `malformed`: no array can have this index; `absent`: the place could exist, but doesn't. */
class NoSuchPlace extends Error {
  readonly kind: 'malformed' | 'absent'

  /** `message` is the rest of a sentence that starts with the pointer. */
  constructor(kind: 'malformed' | 'absent', message: string) {
    super(message)
    this.name = 'NoSuchPlace'
    this.kind = kind
  }
}

/** Throws NoSuchPlace. */
function valueAt(target: Json, tokens: readonly string[]): Json {
  return tokens.reduce(childOf, target)
}

/**
 * RFC 6902 section 4.1: a member is added or replaced; an element is inserted (`-`: at the end). Throws NoSuchPlace.
 */
function add(target: Json, tokens: readonly string[], value: Json): void {
  const { parent, token } = placeOf(target, tokens)
  if (isElements(parent)) insert(parent, token, value)
  else setMember(parent, token, value)
}

/** RFC 6902 section 4.2. Throws NoSuchPlace. */
function remove(target: Json, tokens: readonly string[]): void {
  const { parent, token } = placeOf(target, tokens)
  childOf(parent, token)
  if (isElements(parent)) parent.splice(Number(token), 1)
  else delete parent[token]
}

/** RFC 6902 section 4.3. Throws NoSuchPlace. */
function replace(target: Json, tokens: readonly string[], value: Json): void {
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

function placeOf(target: Json, tokens: readonly string[]): { parent: Elements | OwnMembers; token: string } {
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

function ownMember(members: OwnMembers, name: string): Json | undefined {
  return Object.hasOwn(members, name) ? members[name] : undefined
}

/** Sets a plain member, whatever its name: an assignment to `__proto__` would change what the object inherits. */
function setMember(members: OwnMembers, name: string, value: Json): void {
  Object.defineProperty(members, name, { value, writable: true, enumerable: true, configurable: true })
}

/** RFC 6901 section 4: digits without leading zeros. */
function indexOf(token: string): number {
  if (/^(?:0|[1-9]\d{0,9})$/.test(token)) return Number(token)
  throw new NoSuchPlace('malformed', `names \`${token}\`, which is not the index of an element`)
}

function containerAt(json: Json, token: string): Elements | OwnMembers {
  if (typeof json === 'object' && json !== null) return json as Elements | OwnMembers
  throw absent(token)
}

function isElements(container: Elements | OwnMembers): container is Elements {
  return Array.isArray(container)
}

function absent(token: string): NoSuchPlace {
  return new NoSuchPlace('absent', `names \`${token}\`, which does not exist`)
}

interface Measure {
  /** The number of containers around the innermost value; 0 for a scalar. */
  readonly depth: number
  /** The approximate number of characters of its JSON. */
  readonly size: number
}

/** The value is at most as deep as a body may be, so its depth bounds the recursion. */
function measure(value: Json): Measure {
  if (typeof value !== 'object' || value === null) return { depth: 0, size: String(value).length + 1 }
  const inside = Object.entries(value).map(([name, child]) => ({ ...measure(child), name: name.length }))
  return {
    depth: 1 + inside.reduce((deepest, { depth }) => Math.max(deepest, depth), 0),
    size: 2 + inside.reduce((sum, { size, name }) => sum + size + name, 0),
  }
}
