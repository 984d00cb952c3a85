/** The caller of a cell, with the attributes that relations compare, and with a record of their own where one is named. */
import type { Relation } from '../../policy/policy.ts'
import type { Representation } from '../../resources/resource.ts'
import type { Scalar } from '../../store/contract.ts'
import type { Bound, Ground } from '../bind.ts'
import { arrangeObject } from '../predict/arrange-object.ts'
import { type Caller, CannotSetUp, type Stage } from './stage.ts'
import { withUniqueValues } from './unique.ts'

/** The resource whose records hold callers' attributes (semantics.md, "Caller"). */
const DIRECTORY = 'users'

export interface Named extends Caller {
  /** With the id. */
  readonly attributes: Readonly<Record<string, Scalar>>
}

interface Made {
  readonly caller: Named | undefined
  /** The object of the cell's resource whose id is the caller's, where there is one. */
  readonly record: Representation | undefined
}

/** Throws CannotSetUp. */
export async function makeCaller(ground: Ground, stage: Stage, bound: Bound): Promise<Made> {
  const { column } = bound.expectation
  if (column.kind === 'anonymous') {
    if (wantedRelations(ground, bound).some(({ kind }) => kind === 'caller') || isOwnRecord(bound)) {
      throw new CannotSetUp('a caller without credentials has no object of their own; write `-`')
    }
    return { caller: undefined, record: undefined }
  }
  const attributes = attributesFor(ground, bound)
  const inDirectory = Object.keys(attributes).length > 0
  const resource = inDirectory ? DIRECTORY : bound.resource.name
  if (!inDirectory && !needsRecord(ground, bound)) {
    const caller = await stage.caller(column)
    if (bound.route.kind === 'caller' && !caller.fresh && bound.expectation.object.kind === 'missing') {
      throw new CannotSetUp(`${caller.id} was there before and may have a record, so nobody is without one`)
    }
    return { caller: { ...caller, attributes: { id: caller.id } }, record: undefined }
  }
  const make = (id: string) => recordOf(ground, bound, resource, { ...attributes, id })
  const { caller, object, made } = await stage.callerWithRecord(column, resource, make)
  if (!made && !isSafe(bound)) {
    throw new CannotSetUp(`the record of ${caller.id} was there before, so nothing is tried that could change it`)
  }
  const named = { ...caller, attributes: { ...attributesOf(object, attributes), id: caller.id } }
  if (!needsRecord(ground, bound)) return { caller: named, record: undefined }
  return {
    caller: named,
    record: resource === bound.resource.name ? object : await putRecord(ground, stage, bound, named),
  }
}

/** The caller's own object in a resource that isn't the directory, where objects can be put with an id. */
async function putRecord(
  ground: Ground,
  stage: Stage,
  bound: Bound,
  { id, attributes }: Named,
): Promise<Representation> {
  const { name } = bound.resource
  const record = await stage.put({ resource: name, object: recordOf(ground, bound, name, attributes) }, id)
  if (record.id === id) return record
  throw new CannotSetUp(`this server gives objects of ${name} ids of its own, so none can have the caller's`)
}

function isSafe({ expectation }: Bound): boolean {
  return ['GET', 'HEAD', 'OPTIONS'].includes(expectation.method)
}

/** The relations that the cell names; of a cell that looks into a list, all. */
function wantedRelations({ policy }: Ground, { expectation, resource }: Bound): readonly Relation[] {
  const relations = [...(policy.ownership.get(resource.name)?.relations.values() ?? [])]
  const { object, expected } = expectation
  if (object.kind === 'relations') return relations.filter(({ name }) => object.names.includes(name))
  return object.kind === 'none' &&
    (expected.list ?? expected.view) !== undefined &&
    expectation.column.kind !== 'anonymous'
    ? relations
    : []
}

function isOwnRecord({ route, endpoint, expectation }: Bound): boolean {
  return route.kind === 'caller' && endpoint !== undefined && expectation.object.kind === 'relations'
}

function needsRecord(ground: Ground, bound: Bound): boolean {
  return isOwnRecord(bound) || wantedRelations(ground, bound).some(isOfOwnId)
}

/** The caller's own record is the one whose id is the caller's. */
function isOfOwnId(relation: Relation): boolean {
  return relation.kind === 'caller' && relation.field === 'id' && relation.attribute === 'id'
}

/** As the record has them: one that was there before has its own. */
function attributesOf(
  object: Representation,
  wanted: Readonly<Record<string, Scalar>>,
): Readonly<Record<string, Scalar>> {
  return Object.fromEntries(
    Object.keys(wanted).flatMap((name) => {
      const value = object[name]
      return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? [[name, value]] : []
    }),
  )
}

/** Values that both the object's field and the directory's accept. */
function attributesFor(ground: Ground, bound: Bound): Readonly<Record<string, Scalar>> {
  const needed = wantedRelations(ground, bound).flatMap((one) =>
    one.kind === 'caller' && one.attribute !== 'id' ? [one] : [],
  )
  return Object.fromEntries(
    needed.map(({ attribute, field }) => [attribute, attributeValue(ground, bound, attribute, field)]),
  )
}

function attributeValue({ samples }: Ground, { resource }: Bound, attribute: string, field: string): Scalar {
  const accepted = samples.get(DIRECTORY)?.values.get(attribute)
  if (!accepted)
    throw new CannotSetUp(`callers can't be given the attribute \`${attribute}\`: no schema \`${DIRECTORY}\` has it`)
  const values = (samples.get(resource.name)?.values.get(field) ?? []).flat()
  const value = accepted.find((one) => values.includes(one)) ?? accepted[0]
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value
  throw new CannotSetUp(`the schema \`${DIRECTORY}\` allows no plain value for \`${attribute}\``)
}

function recordOf(
  ground: Ground,
  bound: Bound,
  name: string,
  attributes: Readonly<Record<string, Scalar>>,
): Representation {
  const { resources, samples, policy } = ground
  const resource = resources.byName.get(name)
  const known = samples.get(name)
  const { object } = bound.expectation
  const own = name === bound.resource.name && needsRecord(ground, bound)
  const plain = { resource, samples: known, id: String(attributes.id), attributes }
  const made =
    resource && known
      ? arrangeObject({
          ...plain,
          resource,
          samples: known,
          ownership: own ? policy.ownership.get(name) : undefined,
          relations: new Set(own && object.kind === 'relations' ? object.names : own ? ['owner'] : []),
        })
      : undefined
  if (!resource || !made) throw new CannotSetUp(`no record of ${name} can be made for this caller`)
  return withUniqueValues(resource, { ...made, ...(own ? {} : attributes) }, new Set(Object.keys(attributes)))
}
