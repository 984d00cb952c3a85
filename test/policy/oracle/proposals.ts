/** What a body makes of an object: POST fills, PUT replaces what the caller may write, PATCH merges (RFC 7396). */
import { onObject } from '../oracle.ts'
import type { Json, OracleRelation, Plain, World } from '../world.ts'
import { isObject, own } from './plain.ts'
import { attributeValues } from './relations.ts'

/** What a new object gets from its creator: the owner, and the attributes that relations fill. */
function filling(world: World): Plain {
  const { caller, resource } = world
  const filled = fillingRelations(world).flatMap(({ field, equals }) => {
    const [value, ...others] = new Set(attributeValues(caller, equals))
    if (value === undefined || others.length > 0 || resource.readOnly.includes(field)) return []
    return [[field, resource.lists?.includes(field) ? [value] : value] as const]
  })
  return Object.fromEntries(filled)
}

type Filling = Extract<OracleRelation, { readonly equals: string }>

function fillingRelations({ policy, resource }: World): readonly Filling[] {
  const relations = [...(policy.relations.get(resource.name) ?? [])]
  return relations.flatMap(([name, one]) => ('equals' in one && (name === 'owner' || one.fill) ? [one] : []))
}

export function created(world: World, id: string, body: Plain): Plain {
  return whole(world, { id }, { ...filling(world), ...body })
}

/** PUT keeps what the first decision doesn't open, what the server sets, and filled fields that the body leaves out. */
export function replaced(world: World, stored: Plain, body: Plain, action = 'replace'): Plain {
  const gone = new Set(replacedFields(world, stored, action))
  return whole(world, stored, { ...without(stored, gone), ...body })
}

/** The fields that a PUT sets to the value in its body, or removes. */
export function replacedFields(world: World, stored: Plain, action: string): readonly string[] {
  const filled = new Set(fillingRelations(world).map(({ field }) => field))
  const writable = onObject(world, action, stored)
  return world.resource.fields.filter((field) => {
    return writable.has(field) && !world.resource.readOnly.includes(field) && !filled.has(field)
  })
}

export function updated(world: World, stored: Plain, body: Plain): Plain {
  return whole(world, stored, merged(stored, body))
}

function merged(target: Json | undefined, patch: Plain): Plain {
  const start = isObject(target) ? target : {}
  const removed = new Set(Object.keys(patch).filter((field) => patch[field] === null))
  const set = Object.entries(patch).flatMap(([field, value]) => {
    if (value === null) return []
    return [[field, isObject(value) ? merged(own(start, field), value) : value] as const]
  })
  return { ...without(start, removed), ...Object.fromEntries(set) }
}

/** The declared fields: the server's stay as they are, the others get their defaults where they are absent. */
function whole({ resource }: World, before: Plain, asked: Plain): Plain {
  const fields = resource.fields.flatMap((field) => {
    const isServers = resource.readOnly.includes(field)
    const value = isServers ? own(before, field) : own({ ...resource.defaults, ...asked }, field)
    return value === undefined ? [] : [[field, value] as const]
  })
  return Object.fromEntries(fields)
}

function without(object: Plain, fields: ReadonlySet<string>): Plain {
  return Object.fromEntries(Object.entries(object).filter(([field]) => !fields.has(field)))
}
