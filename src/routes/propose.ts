/**
 * What an object would become: a body applied to it, as POST, PUT and PATCH mean it, and checked against the schema.
 * Whether the caller may make it so is asked afterwards (`decision.permit`).
 */
import { isDeepStrictEqual } from 'node:util'
import type { Proposal } from '../policy/permits.ts'
import { type FieldFault, Problem } from '../problems/problem.ts'
import type { Field, Json, Representation, Resource } from '../resources/resource.ts'

type Body = Readonly<Record<string, Json>>

/** The field that relates an object to its owner, which a new object gets from its creator. */
export interface OwnerField {
  readonly name: string
  readonly list: boolean
}

/** POST: the server's fields, the body's, defaults, and the caller as the owner where nobody is named. */
export function proposeNew(
  resource: Resource,
  body: Body,
  {
    id,
    owner,
    callerId,
    now,
  }: { id: string; owner: OwnerField | undefined; callerId: string | undefined; now: string },
): Proposal {
  const server = { id, createdAt: now, updatedAt: now }
  const owned = owner && callerId !== undefined ? { [owner.name]: owner.list ? [callerId] : callerId } : {}
  const after = ordered(resource, { ...server, ...owned, ...body })
  return checked(resource, { before: server, after, named: Object.keys(body) })
}

/** PUT: what the caller may write is replaced, what is absent is removed; the owner, when absent, stays. */
export function proposeReplacement(
  resource: Resource,
  body: Body,
  { before, writable, owner }: { before: Representation; writable: ReadonlySet<string>; owner: OwnerField | undefined },
): Proposal {
  const kept = Object.entries(before).filter(
    ([name]) => !writable.has(name) || resource.fields.get(name)?.readOnly || name === owner?.name,
  )
  const after = ordered(resource, { ...Object.fromEntries(kept), ...body })
  return checked(resource, { before, after, named: Object.keys(body) })
}

/** PATCH: RFC 7396 applied to the whole object. */
export function proposeUpdate(resource: Resource, body: Body, before: Representation): Proposal {
  const after = ordered(resource, mergePatch(before, body) as Representation)
  return checked(resource, { before, after, named: Object.keys(body) })
}

/** PATCH with operations: what became of the object, of which `named` were to be written. */
export function proposePatched(
  resource: Resource,
  patched: Representation,
  { before, named }: { before: Representation; named: ReadonlySet<string> },
): Proposal {
  return checked(resource, { before, after: ordered(resource, patched), named: [...named] })
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

/** Declared fields in the schema's order with their defaults; unknown ones stay, for the schema to refuse. */
function ordered(resource: Resource, fields: Representation): Representation {
  const known = [...resource.fields.values()].flatMap((field) => {
    const value = Object.hasOwn(fields, field.name) ? fields[field.name] : field.default
    return value === undefined ? [] : [[field.name, value] as const]
  })
  const unknown = Object.entries(fields).filter(([name]) => !resource.fields.has(name))
  return Object.fromEntries([...known, ...unknown])
}

function checked(
  resource: Resource,
  { before, after, named }: { before: Representation; after: Representation; named: readonly string[] },
): Proposal {
  const changed = named.flatMap((name) => {
    const field = resource.fields.get(name)
    if (field === undefined && !Object.hasOwn(after, name)) return [unknownFault(name)]
    return field?.readOnly && !isDeepStrictEqual(before[name], after[name]) ? [readOnlyFault(field)] : []
  })
  const pointers = new Set(changed.map(({ pointer }) => pointer))
  const errors = [...changed, ...resource.validate(after).filter(({ pointer }) => !pointers.has(pointer))]
  if (errors.length > 0) throw new Problem('invalid-body', 'The body does not fit the schema.', { errors })
  return { after, named: new Set(named) }
}

/** A merge patch may say null of what isn't there; the schema sees only what becomes of it. */
function unknownFault(name: string): FieldFault {
  const pointer = `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
  return { pointer, detail: 'is not a known field', code: 'additionalProperties' }
}

function readOnlyFault({ name }: Field): FieldFault {
  return { pointer: `/${name}`, detail: 'is set by the server', code: 'readOnly' }
}

function isObject(value: Json | undefined): value is Readonly<Record<string, Json>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
