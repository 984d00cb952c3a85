/**
 * Sets a cell up on a target: the caller, an object with exactly the stated relations and the objects that they rest on,
 * and the request's path and body. Each object is placed after those that it names, with the ids that these got.
 */

import { randomUUID } from 'node:crypto'
import { v7 as uuidv7 } from 'uuid'
import { comparedFields, holdsForOwnRecord } from '../../../decide/relations/all-kinds.ts'
import { ownerFieldOf } from '../../../decide/relations/ownership.ts'
import type { Json, Representation } from '../../../resources/resource.ts'
import { namesObject } from '../fixture/list-fixture.ts'
import { objectFixture } from '../fixture/object-fixture.ts'
import { createdFixture, resultFixture } from '../fixture/related-fixture.ts'
import { lackingValue, withUniqueValues } from '../fixture/samples.ts'
import {
  type Attributes,
  leavesIn,
  type ObjectFound,
  type PlacedObject,
  relatesSo,
  relationsAmong,
  wantedText,
} from '../fixture/wanted-object.ts'
import { smallestBody } from '../predict/cell-fixture.ts'
import type { CellObject } from '../predict/compare-answer.ts'
import { requestPath } from '../predict/predict.ts'
import type { Suite } from '../predict/suite.ts'
import { heldIn } from '../read/expectation.ts'
import { CannotSetUp, orCannotSetUp, type TestTarget } from '../target/test-target.ts'
import type { BoundExpectation, CellOnTarget } from './bind.ts'
import { makeCaller, type NamedCaller, planSetup, relatingIn, type SetupPlan } from './set-up-caller.ts'

export interface CellSetup {
  readonly caller: NamedCaller | undefined
  /** The path, with an id instead of `{id}`. */
  readonly path: string
  /** That id, percent-encoded; undefined if the path has none. */
  readonly id: string | undefined
  readonly body: Json | undefined
  /** The objects created for this cell, of its resource. */
  readonly placed: readonly CellObject[]
  /** All objects that were made for it: those, and all that relations rest on. */
  readonly world: readonly PlacedObject[]
}

/** `given`: values of the attributes that the caller needs, instead of those that the plan chooses. Throws CannotSetUp. */
export async function setUpCell(cell: CellOnTarget, given: Attributes = {}): Promise<CellSetup> {
  const { suite, target, bound } = cell
  const plan = withAttributes(planSetup(cell), given)
  const { caller, record, known } = await makeCaller(cell, plan)
  const make = (relations: ReadonlySet<string>) => makeObject({ ...cell, caller, record, known, relations })
  const { becomes, object: asked } = bound.expectation
  const isNone = asked.kind === 'none'
  const made = isNone ? await makeListed(plan, make) : await Promise.all(plan.ways.map(make))
  const [stored] = isNone ? [] : made
  const result = becomes && (await makeResult({ ...cell, caller, known }, becomes, stored))
  const world = [...worldOf(bound, made, known), ...(result?.others ?? [])]
  const placed = isNone ? listedIn(bound, world) : made.map(({ object }) => object)
  const id = encodeURIComponent(String(made[0]?.object.id ?? randomUUID()))
  const ownership = suite.policy.ownership.get(bound.resource.name)
  const among = { ownership, attributes: caller?.attributes ?? {}, now: target.now(), world }
  return {
    caller,
    path: requestPath(bound.route, id),
    id: bound.route.kind === 'item' ? id : undefined,
    body: result ? result.body : bodyOf(cell),
    placed: placed.map((object) => ({ object, relations: new Set(relationsAmong(among, object)) })),
    world,
  }
}

function withAttributes(plan: SetupPlan, given: Attributes): SetupPlan {
  const names = Object.keys(plan.attributes).filter((name) => Object.hasOwn(given, name))
  const instead = Object.fromEntries(names.map((name): [string, Json] => [name, given[name] as Json]))
  return { ...plan, attributes: { ...plan.attributes, ...(instead as Attributes) } }
}

function worldOf(
  { resource: { name } }: BoundExpectation,
  made: readonly MadeObject[],
  known: readonly PlacedObject[],
): readonly PlacedObject[] {
  return [...known, ...made.flatMap(({ object, others }) => [{ resource: name, object }, ...others])]
}

/** A list also holds the objects that relations rest on, such as the folder above another one. */
function listedIn({ resource }: BoundExpectation, world: readonly PlacedObject[]): readonly Representation[] {
  const objects = world.flatMap((one) => (one.resource === resource.name ? [one.object] : []))
  return [...new Map(objects.map((object) => [object.id, object])).values()]
}

/**
 * An existing caller may have other attributes, and a deployment may give other ids: then the list has fewer objects.
 */
async function makeListed(
  { ways }: SetupPlan,
  make: (relations: ReadonlySet<string>) => Promise<MadeObject>,
): Promise<readonly MadeObject[]> {
  const made = await Promise.all(ways.map((relations) => make(relations).catch(orCannotSetUp)))
  const objects = new Map(made.flatMap((one) => (one instanceof CannotSetUp ? [] : [[one.object.id, one] as const])))
  const failed = made.find((one) => one instanceof CannotSetUp)
  if (objects.size === 0 && failed) throw failed
  return [...objects.values()]
}

/** The body file that the cell names, else the smallest valid body. Throws CannotSetUp if neither exists. */
function bodyOf({ suite, bound: { expectation, route, resource, body } }: CellOnTarget): Json | undefined {
  if (!['POST', 'PUT', 'PATCH'].includes(expectation.method)) return undefined
  if (body !== undefined) return body
  if (route.command) return {}
  const known = suite.samples.get(resource.name)
  const lacking = known && lackingValue(resource.name, known)
  if (lacking !== undefined) throw new CannotSetUp(lacking)
  return smallestBody(suite, { policy: suite.policy, resource })
}

interface CellWithCaller extends CellOnTarget {
  readonly caller: NamedCaller | undefined
  /** The objects that were made with the caller. */
  readonly known: readonly PlacedObject[]
}

export interface SetUpInput extends CellWithCaller {
  /** The object whose id is the caller's. */
  readonly record: Representation | undefined
  /** All relations that hold. */
  readonly relations: ReadonlySet<string>
}

export interface MadeObject {
  readonly object: Representation
  /** The objects that its relations rest on. */
  readonly others: readonly PlacedObject[]
}

/** Throws CannotSetUp. */
export async function makeObject(wanted: SetUpInput): Promise<MadeObject> {
  const { target, caller, record, relations, bound } = wanted
  const now = target.now()
  if (record && isAsWanted(wanted, { object: record, others: [] }, now)) return { object: record, others: [] }
  const failures: CannotSetUp[] = []
  for (const stranger of target.strangers(caller)) {
    const found = fixtureFor(wanted, stranger, now)
    if (found?.kind !== 'object') {
      if (found) failures.push(new CannotSetUp(found.why))
      continue
    }
    const made = await place(wanted, found, stranger).catch(orCannotSetUp)
    if (made instanceof CannotSetUp) failures.push(made)
    else if (isAsWanted(wanted, made, now)) return made
  }
  const [first = new CannotSetUp(`no object of ${bound.resource.name} could be made ${wantedText(relations)}`)] =
    failures
  throw first
}

async function place(
  { suite, target, bound, caller, relations }: SetUpInput,
  found: Extract<ObjectFound, { kind: 'object' }>,
  stranger: string,
): Promise<MadeObject> {
  const { name } = bound.resource
  const owner = relations.has('owner') ? caller?.id : stranger
  const all = [{ resource: name, object: found.object, owner }, ...found.others.map((one) => toPlace(suite, one))]
  const [made, ...others] = (await placeObjects(target, all)).placed
  return { object: made?.object ?? found.object, others }
}

/** Another object: made as its owner, with new values in unique fields. */
function toPlace({ policy, resources }: Suite, { resource: name, object }: PlacedObject): ObjectToPlace {
  const resource = resources.byName.get(name)
  const ownership = policy.ownership.get(name)
  if (!resource) return { resource: name, object, owner: undefined }
  const owner = object[ownerFieldOf(resource, ownership)?.name ?? '']
  const kept = new Set([...(ownership?.relations.values() ?? [])].flatMap(comparedFields))
  return {
    resource: name,
    object: withUniqueValues(resource, object, kept),
    owner: typeof owner === 'string' ? owner : undefined,
  }
}

/** Undefined if only the caller's own record can have these relations. */
export function fixtureFor(wanted: SetUpInput, somebody: string, now: number): ObjectFound | undefined {
  const { policy, samples, resources } = wanted.suite
  const { bound, caller, relations, known } = wanted
  const { resource } = bound
  const sample = samples.get(resource.name)
  const ownership = policy.ownership.get(resource.name)
  const held = leavesIn(ownership).filter(({ name }) => relations.has(name))
  if (!sample || held.some(holdsForOwnRecord)) return undefined
  const attributes = caller?.attributes ?? {}
  const around = { resources, samplesOf: samples, newId: uuidv7, placed: known }
  const common = { resource, samples: sample, ownership, relations, attributes, now, around }
  const found = objectFixture({ ...common, id: uuidv7(), somebody })
  if (found.kind !== 'object') return found
  const kept = new Set(held.flatMap(comparedFields))
  return { ...found, object: withUniqueValues(resource, found.object, kept) }
}

export function isAsWanted(
  { suite: { policy }, bound, caller, relations, known }: SetUpInput,
  { object, others }: MadeObject,
  now: number,
): boolean {
  const { name } = bound.resource
  const world = [...known, ...others, { resource: name, object }]
  const among = { ownership: policy.ownership.get(name), attributes: caller?.attributes ?? {}, now, world }
  return relatesSo(among, object, relations)
}

interface ObjectToPlace extends PlacedObject {
  /** The user who makes the object, if the target needs one. */
  readonly owner: string | undefined
}

/** The most objects for one cell. */
const MOST = 60

/** The ids that the target gave, by the ids that were asked for. */
type NewIds = ReadonlyMap<string, string>

interface Placing {
  /** As the target stores them, in the order in which they were given. */
  readonly placed: readonly PlacedObject[]
  readonly ids: NewIds
}

/** Objects that relations rest on. Throws CannotSetUp. */
export function placeOthers({ suite, target }: CellOnTarget, others: readonly PlacedObject[]): Promise<Placing> {
  return placeObjects(
    target,
    others.map((one) => toPlace(suite, one)),
  )
}

/** Throws CannotSetUp. */
async function placeObjects(target: TestTarget, objects: readonly ObjectToPlace[]): Promise<Placing> {
  if (objects.length > MOST)
    throw new CannotSetUp(`the cell needs more than ${MOST} objects, which the run doesn't make`)
  const ids = new Map<string, string>()
  const placed = new Map<ObjectToPlace, PlacedObject>()
  for (const one of namedFirst(objects)) {
    const { resource, owner } = one
    const object = withNewIds(one.object, ids)
    const stored = await target.put({ resource, object }, owner === undefined ? undefined : (ids.get(owner) ?? owner))
    ids.set(String(one.object.id), String(stored.id))
    placed.set(one, { resource, object: stored })
  }
  return { placed: objects.flatMap((one) => placed.get(one) ?? []), ids }
}

/** The same object, which names the objects by the ids that they got. */
export function withNewIds(object: Representation, ids: NewIds): Representation {
  const renamed = (value: Json): Json => {
    if (typeof value === 'string') return ids.get(value) ?? value
    return Array.isArray(value) ? value.map(renamed) : value
  }
  return Object.fromEntries(
    Object.entries(object).map(([field, value]) => [field, field === 'id' ? value : renamed(value)]),
  )
}

/** Where objects name each other in a circle, the first one comes first. */
function namedFirst(objects: readonly ObjectToPlace[]): readonly ObjectToPlace[] {
  const ordered: ObjectToPlace[] = []
  let left = [...objects]
  while (left.length > 0) {
    const next =
      left.find((one) => !left.some((other) => other !== one && namesObject(one.object, String(other.object.id)))) ??
      left[0]
    if (next) ordered.push(next)
    left = left.filter((one) => one !== next)
  }
  return ordered
}

interface MadeResult {
  readonly body: Representation
  readonly others: readonly PlacedObject[]
}

/** `becomes`: all relations of the result. `stored`: undefined for a new object. Throws CannotSetUp. */
export async function makeResult(
  cell: CellWithCaller,
  becomes: readonly string[],
  stored: MadeObject | undefined,
): Promise<MadeResult> {
  const { target, bound, caller, known } = cell
  const common = relatingIn(cell)
  if (!common) throw new CannotSetUp(`${bound.resource.name} has no objects`)
  const { object, event } = bound.expectation
  const method = event ? 'PATCH' : bound.expectation.method
  const [somebody = uuidv7()] = target.strangers(caller)
  const asked = { ...common, callerId: caller?.id, somebody, own: bound.route.kind === 'caller' }
  const after = new Set(becomes)
  const before = new Set(heldIn(object))
  const found = stored
    ? resultFixture(
        { ...asked, relations: before, id: String(stored.object.id) },
        { attributes: caller?.attributes ?? {}, object: stored.object, others: [...known, ...stored.others] },
        { becomes: after, method },
      )
    : createdFixture({ ...asked, relations: after, id: uuidv7() })
  if (found.kind !== 'result') throw new CannotSetUp(found.why)
  const looked = new Set(leavesIn(common.ownership).flatMap(comparedFields))
  const sent = stored ? found.body : withUniqueValues(bound.resource, found.body, looked)
  const { placed, ids } = await placeOthers(cell, found.others)
  return { body: withNewIds(sent, ids), others: placed }
}
