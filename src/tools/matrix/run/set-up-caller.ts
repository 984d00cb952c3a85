/** The caller of a cell, with the attributes that relations compare, and with an own record if one is named. */

import { USERS } from '../../../decide/policy.ts'
import { comparedAttributes, comparedFields } from '../../../decide/relations/all-kinds.ts'
import { isScalar } from '../../../resources/object.ts'
import type { Json, Representation } from '../../../resources/resource.ts'
import { arrangeObject } from '../arrange/arrange-object.ts'
import { arrangeWith } from '../arrange/arrange-related.ts'
import { withUniqueValues } from '../arrange/values/unique-values.ts'
import type { Attributes, PlacedObject } from '../arrange/wanted-object.ts'
import type { Suite } from '../predict/suite.ts'
import { CannotSetUp, type TestCaller, type TestTarget } from '../target/test-target.ts'
import type { BoundExpectation } from './bind.ts'
import { relatingIn, type SetupPlan } from './plan-setup.ts'

export interface Named extends TestCaller {
  /** Includes the id. */
  readonly attributes: Attributes
}

interface Made {
  readonly caller: Named | undefined
  /** The object of the cell's resource with the caller's id, if one exists. */
  readonly record: Representation | undefined
  /** The objects that were made for the caller. */
  readonly known: readonly PlacedObject[]
}

/** Throws CannotSetUp. */
export async function makeCaller(
  suite: Suite,
  target: TestTarget,
  bound: BoundExpectation,
  plan: SetupPlan,
): Promise<Made> {
  const { column } = bound.expectation
  if (column.kind === 'anonymous') return { caller: undefined, record: undefined, known: [] }
  const isPlain = Object.keys(plan.attributes).length === 0
  if (isPlain && !plan.own) return plainCaller(target, bound, column)
  const resource = isPlain ? bound.resource.name : USERS
  const make = (id: string) => recordOf(suite, bound, plan, { name: resource, id, now: target.now() })
  const { caller, object, made } = await target.callerWithRecord(column, resource, make)
  if (!made && !isSafe(bound)) {
    throw new CannotSetUp(
      `the record of ${caller.id} is older than this run, so no request that could change it is sent`,
    )
  }
  const attributes = resource === USERS ? attributesOf(object, comparedIn(suite, bound)) : {}
  const named = { ...caller, attributes: { ...attributes, id: caller.id } }
  const known = [{ resource, object }]
  if (!plan.own) return { caller: named, record: undefined, known }
  const record = resource === bound.resource.name ? object : await putRecord(suite, target, bound, plan, named)
  return { caller: named, record, known }
}

async function plainCaller(
  target: TestTarget,
  { route, expectation }: BoundExpectation,
  column: Parameters<TestTarget['caller']>[0],
) {
  const caller = await target.caller(column)
  if (route.kind === 'caller' && !caller.fresh && expectation.object.kind === 'missing') {
    throw new CannotSetUp(
      `${caller.id} is older than this run and may have a record, so there is no caller without a record`,
    )
  }
  return { caller: { ...caller, attributes: { id: caller.id } }, record: undefined, known: [] }
}

/** The caller's own object in a resource other than the directory, if objects can be created with a given id. */
async function putRecord(
  suite: Suite,
  target: TestTarget,
  bound: BoundExpectation,
  plan: SetupPlan,
  { id }: Named,
): Promise<Representation> {
  const { name } = bound.resource
  const record = await target.put(
    { resource: name, object: recordOf(suite, bound, plan, { name, id, now: target.now() }) },
    id,
  )
  if (record.id === id) return record
  throw new CannotSetUp(`this server chooses the ids of ${name}, so no object can have the id of the caller`)
}

function isSafe({ expectation }: BoundExpectation): boolean {
  return ['GET', 'HEAD', 'OPTIONS'].includes(expectation.method)
}

function comparedIn({ policy }: Suite, { resource }: BoundExpectation): readonly string[] {
  const relations = [...(policy.ownership.get(resource.name)?.relations.values() ?? [])]
  return relations.flatMap(comparedAttributes).filter((name) => name !== 'id')
}

/** The attributes in the record; an existing record has its own. */
function attributesOf(object: Representation, names: readonly string[]): Attributes {
  return Object.fromEntries(
    names.flatMap((name): readonly (readonly [string, Attributes[string]])[] => {
      const value = Object.hasOwn(object, name) ? object[name] : undefined
      if (Array.isArray(value)) return [[name, value.filter(isScalar)]]
      return isScalar(value) ? [[name, value]] : []
    }),
  )
}

interface Place {
  readonly name: string
  readonly id: string
  readonly now: number
}

function recordOf(suite: Suite, bound: BoundExpectation, plan: SetupPlan, { name, id, now }: Place): Representation {
  const { resources, samples } = suite
  const resource = resources.byName.get(name)
  const common = relatingIn(suite, bound, now)
  const known = samples.get(name)
  if (!resource || !known || !common) throw new CannotSetUp(`no record of ${name} can be made for this caller`)
  const fixed = new Map<string, Json>(Object.entries(plan.attributes) as [string, Json][])
  const made =
    plan.own && name === bound.resource.name
      ? arrangeWith({ ...common, relations: plan.own, own: true, callerId: id, id }, plan.attributes)
      : arrangeObject({
          resource,
          samples: known,
          ownership: undefined,
          relations: new Set(),
          attributes: {},
          now,
          id,
          fixed,
        })
  if (made.kind !== 'object') throw new CannotSetUp(made.why)
  const held = [...(common.ownership?.relations.values() ?? [])].filter((one) => plan.own?.has(one.name))
  const kept = new Set([...fixed.keys(), ...held.flatMap(comparedFields)])
  return withUniqueValues(resource, made.object, kept)
}
