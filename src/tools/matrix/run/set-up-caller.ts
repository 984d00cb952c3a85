/**
 * Plans the setup of a cell from the files alone, and makes its caller: with the attributes that relations compare, and
 * with an own record if one is named.
 */

import { v7 as uuidv7 } from 'uuid'
import { possibleSets } from '../../../analysis/possible-sets.ts'
import { USERS } from '../../../decide/policy.ts'
import { comparedFields, needsCaller } from '../../../decide/relations/all-kinds.ts'
import { namesText } from '../../../present/quote.ts'
import type { Representation } from '../../../resources/resource.ts'
import { attributesIn, callerRecords, comparedIn } from '../fixture/caller-record.ts'
import { fixtureWith, relatedFixture } from '../fixture/related-fixture.ts'
import { lackingValue, withUniqueValues } from '../fixture/samples.ts'
import type { Common } from '../fixture/wanted-object.ts'
import { type Attributes, isOwn, type PlacedObject, type WantedPair } from '../fixture/wanted-object.ts'
import { relatingOf, worldFixture } from '../predict/cell-fixture.ts'
import type { KnownColumn } from '../read/expectation.ts'
import { heldIn, relationsIn } from '../read/expectation.ts'
import { CannotSetUp, type TestCaller } from '../target/test-target.ts'
import type { BoundExpectation, CellOnTarget } from './bind.ts'

export interface NamedCaller extends TestCaller {
  /** Includes the id. */
  readonly attributes: Attributes
}

interface Made {
  readonly caller: NamedCaller | undefined
  /** The object of the cell's resource with the caller's id, if one exists. */
  readonly record: Representation | undefined
  /** The objects that were made for the caller. */
  readonly known: readonly PlacedObject[]
}

/** Throws CannotSetUp. */
export async function makeCaller(cell: CellOnTarget, plan: SetupPlan): Promise<Made> {
  const { suite, target, bound } = cell
  const { column } = bound.expectation
  if (column.kind === 'anonymous') return { caller: undefined, record: undefined, known: [] }
  const isPlain = Object.keys(plan.attributes).length === 0
  if (isPlain && !plan.own) return plainCaller(cell, column)
  const resource = isPlain ? bound.resource.name : USERS
  const make = (id: string) => recordOf(cell, plan, resource, id)
  const { caller, object, made } = await target.callerWithRecord(column, resource, make)
  if (!made && !isSafe(bound)) {
    throw new CannotSetUp(
      `the record of ${caller.id} is older than this run, so no request that could change it is sent`,
    )
  }
  const attributes =
    resource === USERS ? attributesIn(object, comparedIn(suite.policy.ownership.get(bound.resource.name))) : {}
  const named = { ...caller, attributes: { ...attributes, id: caller.id } }
  const known = [{ resource, object }]
  if (!plan.own) return { caller: named, record: undefined, known }
  const record = resource === bound.resource.name ? object : await putRecord(cell, plan, caller.id)
  return { caller: named, record, known }
}

async function plainCaller({ target, bound: { route, expectation } }: CellOnTarget, column: KnownColumn) {
  const caller = await target.caller(column)
  if (route.kind === 'caller' && !caller.fresh && expectation.object.kind === 'missing') {
    throw new CannotSetUp(
      `${caller.id} is older than this run and may have a record, so there is no caller without a record`,
    )
  }
  return { caller: { ...caller, attributes: { id: caller.id } }, record: undefined, known: [] }
}

/** The caller's own object in a resource other than the directory, if objects can be created with a given id. */
async function putRecord(cell: CellOnTarget, plan: SetupPlan, id: string): Promise<Representation> {
  const { name } = cell.bound.resource
  const record = await cell.target.put({ resource: name, object: recordOf(cell, plan, name, id) }, id)
  if (record.id === id) return record
  throw new CannotSetUp(`this server chooses the ids of ${name}, so no object can have the id of the caller`)
}

function isSafe({ expectation }: BoundExpectation): boolean {
  return !expectation.event && ['GET', 'HEAD', 'OPTIONS'].includes(expectation.method)
}

/** `name`: of the resource. */
function recordOf(cell: CellOnTarget, plan: SetupPlan, name: string, id: string): Representation {
  const resource = cell.suite.resources.byName.get(name)
  const common = relatingIn(cell)
  if (!resource || !common) throw new CannotSetUp(`no record of ${name} can be made for this caller`)
  const own = name === cell.bound.resource.name ? plan.own : undefined
  const made = own ? ownRecord({ ...common, relations: own, id }, plan) : recordWith(common, id, plan)
  const held = [...(common.ownership?.relations.values() ?? [])].filter((one) => plan.own?.has(one.name))
  const kept = new Set([...Object.keys(plan.attributes), ...held.flatMap(comparedFields)])
  return withUniqueValues(resource, made, kept)
}

function ownRecord(wanted: Omit<WantedPair, 'own'>, { attributes }: SetupPlan): Representation {
  const made = fixtureWith({ ...wanted, own: true, callerId: wanted.id }, attributes)
  if (made.kind !== 'object') throw new CannotSetUp(made.why)
  return made.object
}

function recordWith(common: Common, id: string, { attributes }: SetupPlan): Representation {
  for (const record of callerRecords(common, id, attributes)) return record
  const names = namesText(new Set(Object.keys(attributes)), ' and ')
  throw new CannotSetUp(`no record of ${USERS} can be made with the attributes ${names}`)
}

export interface SetupPlan {
  readonly attributes: Attributes
  /** One object each. */
  readonly ways: readonly ReadonlySet<string>[]
  /** The way whose object has the caller's id. */
  readonly own: ReadonlySet<string> | undefined
}

/** Throws CannotSetUp. */
export function planSetup(asked: CellOnTarget): SetupPlan {
  const { suite, target, bound } = asked
  const { expectation, route, resource } = bound
  const { object, expected, becomes, ...request } = expectation
  const common = relatingIn(asked)
  // What a write leaves of a stored object is made from the object that the server stores.
  const made = object.kind === 'none' && becomes ? { becomes } : {}
  const cell = { ...request, object, ...made, apart: relationsIn(expected.list) }
  const names = made.becomes ?? heldIn(object)
  if (common && (object.kind === 'relations' || object.kind === 'other')) refuseOwnOfNobody(common, bound, names)
  const parts = { ...suite, now: target.now(), idOf: () => uuidv7() }
  const found = worldFixture(parts, { policy: suite.policy, cell, route, resource })
  if (found.kind !== 'world')
    throw new CannotSetUp(common ? (lackOf(common) ?? found.why + nearestObject(common, names)) : found.why)
  if (!common) return { attributes: found.attributes, ways: [], own: undefined }
  const ways = waysIn(common, bound, found.ways)
  // Of events, what happens to others only proves that the caller is told no more.
  const own = (request.event ? ways.slice(0, 1) : ways).find((relations) =>
    isOwn({ ...common, relations, own: route.kind === 'caller' }),
  )
  return { attributes: found.attributes, ways, own }
}

function refuseOwnOfNobody(
  { callerId, ownership }: Common,
  { route }: BoundExpectation,
  names: readonly string[],
): void {
  const isOfCaller = names.flatMap((name) => ownership?.relations.get(name) ?? []).some(needsCaller)
  if (callerId === undefined && (isOfCaller || route.kind === 'caller'))
    throw new CannotSetUp('a caller without credentials has no object of their own: write `-`')
}

/** Of a list that isn't looked into, no objects: only the caller's attributes decide whether they may list at all. */
function waysIn(
  common: Common,
  { endpoint, expectation: { expected } }: BoundExpectation,
  ways: SetupPlan['ways'],
): SetupPlan['ways'] {
  if (endpoint?.operation !== 'list') return ways
  if ((expected.list ?? expected.view) === undefined) return []
  if (ways.length > 0) return ways
  throw new CannotSetUp(lackOf(common) ?? `no object of ${common.resource.name} can be made`)
}

/** The data to relate the cell's caller to objects of its resource; undefined for a resource without objects. */
export function relatingIn({ suite, target, bound: { resource, expectation } }: CellOnTarget): Common | undefined {
  const { column } = expectation
  return relatingOf({ ...suite, now: target.now(), newId: uuidv7 }, { policy: suite.policy, resource, column })
}

/** Reports a cause that the author can fix before its consequences. */
function lackOf({ resource, samples }: Common): string | undefined {
  return lackingValue(resource.name, samples)
}

/** Smallest sets first. */
const MOST_TRIED = 16

/** `, but one can be made with open+team`; empty if none was found. */
function nearestObject(common: Common, names: readonly string[]): string {
  const stated = new Set(names)
  const declared = [...(common.ownership?.relations.values() ?? [])]
  const larger = possibleSets(declared, common.resource).filter(
    (set) => set.size > stated.size && stated.isSubsetOf(set),
  )
  const found = larger.slice(0, MOST_TRIED).find((relations) => {
    return relatedFixture({ ...common, relations, own: false, id: uuidv7() }).kind === 'related'
  })
  return found ? `, but one can be made with \`${[...found].join('+')}\`` : ''
}
