/** A body -> the operations of a JSON Patch. Reports all faults of its form at once, with pointers into it. */

import { isObject } from '../../../base/is-object.ts'
import { pathOfPointer } from '../../../base/json-pointer.ts'
import { type FieldFault, Problem } from '../../../base/problems/problem.ts'
import type { Json, Resource } from '../../../resources/resource.ts'
import type { PatchOperation, Pointer } from './operation.ts'

const MAX_OPERATIONS = 1000

/** As deep as a body may be. */
export const MAX_DEPTH = 32

const MAX_FAULTS = 100

type Members = Readonly<Record<string, Json>>

type Parsed<T> = { readonly value: T } | { readonly faults: readonly FieldFault[] }

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

export function invalidPatch(errors: readonly FieldFault[]): Problem {
  return new Problem(
    'invalid-patch',
    'The body is not a JSON Patch of this resource; correct the operations in `errors`.',
    { errors },
  )
}

export function fault(pointer: string, detail: string, code: string): FieldFault {
  return { pointer, detail, code }
}

function parseOperation(json: Json, at: string, resource: Resource): Parsed<PatchOperation> {
  if (!isObject(json)) return { faults: [fault(at, 'must be an object', 'type')] }
  const members: Members = json
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

function withValue(members: Members, path: Parsed<Pointer>, at: string): Parsed<PatchOperation> {
  const value = own(members, 'value')
  if (value === undefined) return { faults: [...faultsOf(path), fault(`${at}/value`, 'is missing', 'required')] }
  if ('faults' in path) return path
  return { value: { op: members.op as 'add' | 'replace' | 'test', path: path.value, value } }
}

function withSource(
  members: Members,
  path: Parsed<Pointer>,
  from: Parsed<Pointer>,
  at: string,
): Parsed<PatchOperation> {
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
  members: Members,
  { at, name }: { readonly at: string; readonly name: 'path' | 'from' },
  resource: Resource,
): Parsed<Pointer> {
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

function faultsOf(parsed: Parsed<unknown>): readonly FieldFault[] {
  return 'faults' in parsed ? parsed.faults : []
}

function own(members: Members, name: string): Json | undefined {
  return Object.hasOwn(members, name) ? members[name] : undefined
}
