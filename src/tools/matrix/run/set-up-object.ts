/**
 * An object with exactly the relations to the caller that a cell states, and the objects that they rest on; and the body of
 * a write that leaves such an object. Each object is placed after those that it names, with the ids that these got.
 */
import { v7 as uuidv7 } from 'uuid'
import { comparedFields, holdsForOwnRecord } from '../../../decide/relations/all-kinds.ts'
import { ownerFieldOf } from '../../../decide/relations/ownership.ts'
import type { Json, Representation } from '../../../resources/resource.ts'
import {
  arrangeObject,
  leavesIn,
  type ObjectFound,
  type PlacedObject,
  relatesSo,
  wantedText,
} from '../arrange/arrange-object.ts'
import { arrangeCreated, arrangeResult } from '../arrange/arrange-related.ts'
import { withUniqueValues } from '../arrange/samples.ts'
import type { Suite } from '../predict/suite.ts'
import { CannotSetUp, type TestTarget } from '../target/test-target.ts'
import type { BoundExpectation } from './bind.ts'
import { type Named, relatingIn } from './set-up-caller.ts'

interface Wanted {
  readonly bound: BoundExpectation
  readonly caller: Named | undefined
  /** The object whose id is the caller's. */
  readonly record: Representation | undefined
  /** The objects that were made with the caller. */
  readonly known: readonly PlacedObject[]
  /** All relations that hold. */
  readonly relations: ReadonlySet<string>
}

export interface MadeObject {
  readonly object: Representation
  /** The objects that its relations rest on. */
  readonly others: readonly PlacedObject[]
}

/** Throws CannotSetUp. */
export async function makeObject(suite: Suite, target: TestTarget, wanted: Wanted): Promise<MadeObject> {
  const { caller, record, relations, bound } = wanted
  const now = target.now()
  if (record && isAsWanted(suite, wanted, { object: record, others: [] }, now)) return { object: record, others: [] }
  const reasons: string[] = []
  for (const stranger of target.strangers(caller)) {
    const found = arranged(suite, wanted, stranger, now)
    if (found?.kind !== 'object') {
      if (found) reasons.push(found.why)
      continue
    }
    const made = await place(suite, target, wanted, { found, stranger }).catch((error) => {
      if (!(error instanceof CannotSetUp)) throw error
      reasons.push(error.message)
      return undefined
    })
    if (made && isAsWanted(suite, wanted, made, now)) return made
  }
  const failure = `no object of ${bound.resource.name} could be made ${wantedText(relations)}`
  throw new CannotSetUp(reasons[0] ?? failure)
}

async function place(
  suite: Suite,
  target: TestTarget,
  { bound, caller, relations }: Wanted,
  { found, stranger }: { readonly found: Extract<ObjectFound, { kind: 'object' }>; readonly stranger: string },
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
function arranged(suite: Suite, wanted: Wanted, somebody: string, now: number): ObjectFound | undefined {
  const { policy, samples, resources } = suite
  const { bound, caller, relations, known } = wanted
  const { resource } = bound
  const sample = samples.get(resource.name)
  const ownership = policy.ownership.get(resource.name)
  const held = leavesIn(ownership).filter(({ name }) => relations.has(name))
  if (!sample || held.some(holdsForOwnRecord)) return undefined
  const attributes = caller?.attributes ?? {}
  const around = { resources, samplesOf: samples, newId: uuidv7, placed: known }
  const common = { resource, samples: sample, ownership, relations, attributes, now, around }
  const found = arrangeObject({ ...common, id: uuidv7(), somebody })
  if (found.kind !== 'object') return found
  const kept = new Set(held.flatMap(comparedFields))
  return { ...found, object: withUniqueValues(resource, found.object, kept) }
}

function isAsWanted(
  { policy }: Suite,
  { bound, caller, relations, known }: Wanted,
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
function withNewIds(object: Representation, ids: NewIds): Representation {
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
    const next = left.find((one) => !left.some((other) => other !== one && names(one.object, other.object))) ?? left[0]
    if (next) ordered.push(next)
    left = left.filter((one) => one !== next)
  }
  return ordered
}

function names(object: Representation, other: Representation): boolean {
  return Object.entries(object).some(([field, value]) => field !== 'id' && [value].flat().includes(other.id ?? null))
}

interface Before {
  readonly caller: Named | undefined
  /** Undefined for a new object. */
  readonly stored: MadeObject | undefined
  /** The objects that were made with the caller. */
  readonly known: readonly PlacedObject[]
}

interface MadeResult {
  readonly body: Representation
  readonly others: readonly PlacedObject[]
}

/** `becomes`: all relations of the result. Throws CannotSetUp. */
export async function makeResult(
  suite: Suite,
  target: TestTarget,
  bound: BoundExpectation,
  { becomes, caller, stored, known }: Before & { readonly becomes: readonly string[] },
): Promise<MadeResult> {
  const common = relatingIn(suite, bound, target.now())
  if (!common) throw new CannotSetUp(`${bound.resource.name} has no objects`)
  const { object, method } = bound.expectation
  const [somebody = uuidv7()] = target.strangers(caller)
  const asked = { ...common, callerId: caller?.id, somebody, own: bound.route.kind === 'caller' }
  const after = new Set(becomes)
  const before = new Set(object.kind === 'relations' ? object.names : [])
  const found = stored
    ? arrangeResult(
        { ...asked, relations: before, id: String(stored.object.id) },
        { attributes: caller?.attributes ?? {}, object: stored.object, others: [...known, ...stored.others] },
        { becomes: after, method },
      )
    : arrangeCreated({ ...asked, relations: after, id: uuidv7() })
  if (found.kind !== 'result') throw new CannotSetUp(found.why)
  const looked = new Set(leavesIn(common.ownership).flatMap(comparedFields))
  const sent = stored ? found.body : withUniqueValues(bound.resource, found.body, looked)
  const { placed, ids } = await placeObjects(
    target,
    found.others.map((one) => toPlace(suite, one)),
  )
  return { body: withNewIds(sent, ids), others: placed }
}
