/** An object that relates to the caller in just the ways that are asked for. */
import { relationsOf } from '../../policy/ownership.ts'
import type { Ownership, Relation } from '../../policy/policy.ts'
import type { Json, Representation, Resource } from '../../resources/resource.ts'
import type { Scalar } from '../../store/contract.ts'
import type { Samples } from './samples.ts'

export interface Wanted {
  readonly resource: Resource
  readonly samples: Samples
  readonly ownership: Ownership | undefined
  /** The names of the relations that hold, and no others. */
  readonly relations: ReadonlySet<string>
  /** The caller's id and attributes. */
  readonly attributes: Readonly<Record<string, Scalar>>
  /** Of the object, unless a relation says otherwise. */
  readonly id: string
  /** Who owns what isn't the caller's; nobody who is named elsewhere when not given. */
  readonly somebody?: string
}

const AT = '2026-01-01T00:00:00.000Z'
/** Nobody's id and nobody's attribute. */
const SOMEBODY = '01980000-0000-7000-8000-00000000000d'

/** Undefined where no object can relate so. */
export function arrangeObject(wanted: Wanted): Representation | undefined {
  const { resource, samples, ownership } = wanted
  const relations = [...(ownership?.relations.values() ?? [])]
  const fields = new Map([...resource.fields.values()].flatMap((field) => plainValue(samples, field.name)))
  for (const relation of relations) if (!wanted.relations.has(relation.name)) unrelate(wanted, relation, fields)
  for (const relation of relations) if (wanted.relations.has(relation.name)) relate(wanted, relation, fields)
  const object = { createdAt: AT, updatedAt: AT, ...Object.fromEntries(fields) }
  return isWanted(wanted, object) && isSound(resource, object) ? object : undefined

  function plainValue({ values }: Samples, name: string): readonly (readonly [string, Json])[] {
    if (name === 'id') return [[name, wanted.id]]
    if (resource.fields.get(name)?.readOnly) return []
    const value = values.get(name)?.at(1) ?? values.get(name)?.[0]
    return value === undefined ? [] : [[name, value]]
  }
}

function isWanted({ ownership, attributes, relations }: Wanted, object: Representation): boolean {
  const holding = relationsOf(ownership, (name) => attributes[name], object)
  return holding.length === relations.size && holding.every((name) => relations.has(name))
}

/** Server fields apart: an id need not have the form that the server gives new ones. */
function isSound({ fields, validate }: Resource, object: Representation): boolean {
  return validate(object).every(({ pointer }) => fields.get(pointer.slice(1).split('/')[0] ?? '')?.readOnly ?? false)
}

function relate({ resource, attributes }: Wanted, relation: Relation, fields: Map<string, Json>): void {
  const value = relation.kind === 'caller' ? attributes[relation.attribute] : relation.values[0]
  if (value !== undefined) put(resource, relation.field, value, fields)
}

/** A value that the relation doesn't want; none at all where the schema has no other. */
function unrelate(
  { resource, samples, somebody = SOMEBODY }: Wanted,
  relation: Relation,
  fields: Map<string, Json>,
): void {
  const { field } = relation
  if (field === 'id') return
  if (relation.kind === 'caller' && isOfSomebody(resource, field, somebody)) {
    put(resource, field, somebody, fields)
    return
  }
  const unwanted: readonly Json[] = relation.kind === 'state' ? relation.values : []
  const other = samples.values.get(field)?.find((value) => !unwanted.includes(value))
  if (other === undefined) fields.delete(field)
  else fields.set(field, other)
}

/** Whether the field can hold who it is instead. */
function isOfSomebody(resource: Resource, name: string, somebody: string): boolean {
  const field = resource.fields.get(name)
  if (field?.type !== 'string' || field.unique) return false
  const faults = resource.validate({ [name]: field.list ? [somebody] : somebody })
  return !faults.some(({ pointer }) => pointer === `/${name}` || pointer.startsWith(`/${name}/`))
}

function put({ fields: declared }: Resource, field: string, value: Scalar, fields: Map<string, Json>): void {
  const before = fields.get(field)
  const list = declared.get(field)?.list
  fields.set(field, list ? [...new Set([...(Array.isArray(before) ? before : []), value])] : value)
}
