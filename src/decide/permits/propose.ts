/**
 * Proposes the object after a write: applies a body to the stored object by the rules of POST, PUT and PATCH.
 * `decision.permit` then checks whether the caller may make this change, and whether the result fits the schema.
 */
import { isDeepStrictEqual } from 'node:util'
import { isObject } from '../../base/is-object.ts'
import type { FieldFault } from '../../base/problems/problem.ts'
import type { Command, CreatedValue, Field, Json, Representation, Resource } from '../../resources/resource.ts'
import type { Proposal } from './issue-permits.ts'

/**
 * A refusal names a hundred faults at most, so of more unknown fields only the first ones count: the schema refuses each
 * of them, and thousands would cost more than the rest of a request.
 */
const MOST_UNKNOWN = 100

function withoutMostUnknown(resource: Resource, body: Representation): Representation {
  if (Object.keys(body).length <= resource.fields.size + MOST_UNKNOWN) return body
  const known = REDUCED.get(body)
  if (known?.resource === resource) return known.body
  const reduced = reduce(resource, body)
  REDUCED.set(body, { resource, body: reduced })
  return reduced
}

/** Items of a batch share their body. */
const REDUCED = new WeakMap<Representation, { readonly resource: Resource; readonly body: Representation }>()

function reduce({ fields }: Resource, body: Representation): Representation {
  let unknown = 0
  const kept = Object.keys(body).filter((name) => fields.has(name) || unknown++ < MOST_UNKNOWN)
  return Object.fromEntries(kept.map((name) => [name, body[name] as Json]))
}

/** POST: the server's fields, the body's fields, defaults, and `filled` for what the body doesn't name. */
export function proposeNew(
  resource: Resource,
  sent: Representation,
  { id, filled, now, choosesId = false }: NewObjectParts,
): Proposal {
  const body = withoutMostUnknown(resource, sent)
  const server = { id, createdAt: now, updatedAt: now }
  const asked = { ...server, ...filled, ...body }
  return { ...proposal(resource, { before: server, asked, named: Object.keys(body) }), choosesId }
}

interface NewObjectParts {
  readonly id: string
  readonly filled: Representation
  readonly now: string
  readonly choosesId?: boolean
}

/**
 * PUT: replaces the fields that the caller may write, and removes those that the body lacks; `filled` fields stay. The
 * server's times are ignored where they are times, so that a body that was read can be sent twice.
 */
export function proposeReplacement(
  resource: Resource,
  sent: Representation,
  { before, writable, readable, filled }: { before: Representation; filled: ReadonlySet<string> } & WritableAndReadable,
): Proposal {
  const body = withoutMostUnknown(resource, sent)
  const replaced = replacedBy(resource, writable, filled)
  const kept = Object.entries(before).filter(([name]) => !replaced.includes(name))
  const asked = { ...Object.fromEntries(kept), ...body, ...serverTimesOf(before) }
  // A caller who can't read a field must not learn whether it has a value to remove.
  const unread = replaced.filter((name) => !readable.has(name))
  const named = [...Object.keys(body), ...unread]
  const removed = new Set(replaced.filter((name) => !Object.hasOwn(body, name)))
  return { ...proposal(resource, { before, asked, named, ignored: serverTimesOf(body) }), removed }
}

function serverTimesOf(fields: Representation): Representation {
  const names = SERVER_TIMES.filter((name) => Object.hasOwn(fields, name))
  return Object.fromEntries(names.map((name) => [name, fields[name] as Json]))
}

/** The fields that a PUT sets to the value in its body, or removes. */
export function replacedBy(
  { fields }: Resource,
  writable: ReadonlySet<string>,
  filled: ReadonlySet<string>,
): readonly string[] {
  return [...fields.values()].flatMap(({ name, readOnly }) =>
    writable.has(name) && !readOnly && !filled.has(name) ? [name] : [],
  )
}

/** The fields that the caller may write and read on the object as it is stored. */
interface WritableAndReadable {
  readonly writable: ReadonlySet<string>
  readonly readable: ReadonlySet<string>
}

const SERVER_TIMES = ['createdAt', 'updatedAt']

/** PATCH: RFC 7396 applied to the whole object. */
export function proposeUpdate(
  resource: Resource,
  sent: Representation,
  before: Representation,
): Proposal & { readonly read: ReadonlySet<string> } {
  const body = withoutMostUnknown(resource, sent)
  const asked = mergePatch(before, body) as Representation
  // The result for a nested object depends on the stored value: on whether it is an object, and on its members.
  const read = new Set(Object.keys(body).filter((name) => isObject(body[name])))
  return { ...proposal(resource, { before, asked, named: Object.keys(body) }), read }
}

/** The faults of a stored object that a PATCH without changes would meet: it sets defaults, and checks the whole. */
export function faultsAsStored(resource: Resource, stored: Representation): readonly FieldFault[] {
  return proposeUpdate(resource, {}, stored).faults()
}

/** PATCH with operations: `named` are the fields that the operations write. */
export function proposePatched(
  resource: Resource,
  patched: Representation,
  { before, named, read }: { before: Representation; named: ReadonlySet<string>; read: ReadonlySet<string> },
): Proposal {
  return { ...proposal(resource, { before, asked: patched, named: [...named] }), read }
}

export interface CommandRequest {
  readonly body: Representation
  /** Undefined without credentials: then no step needs it. */
  readonly callerId: string | undefined
  /** As clients see it. */
  readonly time: string
}

/** POST of a command: what its steps set. A member of the input that the body lacks leaves its field as it is. */
export function proposeCommand(
  resource: Resource,
  { set, require, creates }: Command,
  { before, ...request }: CommandRequest & { readonly before: Representation },
): Proposal & { readonly read: ReadonlySet<string> } {
  const values = valuesOfSteps(set, request, before)
  const copied = creates.flatMap((one) =>
    Object.values(one.set).flatMap((step) => ('object' in step ? [step.object] : [])),
  )
  const read = new Set([...Object.keys(require), ...copied])
  const named = new Set(Object.keys(values))
  return { ...proposePatched(resource, { ...before, ...values }, { before, named, read }), read }
}

/** `object`: the command's. A field that it lacks, and a member that the body lacks, give no value. */
export function valuesOfSteps(
  set: Readonly<Record<string, CreatedValue>>,
  { body, callerId, time }: CommandRequest,
  object: Representation,
): Representation {
  return Object.fromEntries(
    Object.entries(set).flatMap(([name, step]): readonly [string, Json][] => {
      if ('value' in step) return [[name, step.value]]
      if ('time' in step) return [[name, time]]
      if ('caller' in step) return callerId === undefined ? [] : [[name, callerId]]
      const [from, key] = 'object' in step ? [object, step.object] : [body, step.input]
      return Object.hasOwn(from, key) ? [[name, from[key] as Json]] : []
    }),
  )
}

/** The JSON Merge Patch algorithm of RFC 7396 section 2. */
function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch
  const merged = new Map(Object.entries(isObject(target) ? target : {}))
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name)
    else merged.set(name, mergePatch(merged.get(name), value))
  }
  return Object.fromEntries(merged)
}

interface ProposedChange {
  readonly before: Representation
  /** The values that the request sets. */
  readonly asked: Representation
  readonly named: readonly string[]
  /** Values of the request that aren't written, and must fit the schema all the same. */
  readonly ignored?: Representation
}

function proposal(resource: Resource, { before, asked, named, ignored = {} }: ProposedChange): Proposal {
  const after = ordered(resource, before, asked)
  const faults = () => {
    const changed = named.flatMap((name) => {
      const field = resource.fields.get(name)
      if (field === undefined && !Object.hasOwn(after, name)) return [unknownFault(name)]
      return field?.readOnly && !isDeepStrictEqual(own(before, name), own(asked, name)) ? [readOnlyFault(field)] : []
    })
    const pointers = new Set(changed.map(({ pointer }) => pointer))
    return [...changed, ...resource.validate({ ...after, ...ignored }).filter(({ pointer }) => !pointers.has(pointer))]
  }
  return { after, named: new Set(named), faults }
}

/**
 * The declared fields in the schema's order with their defaults, and the server's fields unchanged. Unknown fields
 * stay, so that the schema refuses them.
 */
function ordered(resource: Resource, before: Representation, asked: Representation): Representation {
  const after = new Map<string, Json>()
  for (const { name, readOnly, default: preset } of resource.fields.values()) {
    const fields = readOnly ? before : asked
    const value = Object.hasOwn(fields, name) ? fields[name] : preset
    if (value !== undefined) after.set(name, value)
  }
  for (const [name, value] of Object.entries(asked)) if (!resource.fields.has(name)) after.set(name, value)
  return Object.fromEntries(after)
}

function own(fields: Representation, name: string): Json | undefined {
  return Object.hasOwn(fields, name) ? fields[name] : undefined
}

/** A merge patch may set an absent field to null; the schema checks only the result. */
function unknownFault(name: string): FieldFault {
  const pointer = `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
  return { pointer, detail: 'is not a known field', code: 'additionalProperties' }
}

function readOnlyFault({ name }: Field): FieldFault {
  return { pointer: `/${name}`, detail: 'is set by the server', code: 'readOnly' }
}
