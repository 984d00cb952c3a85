/** An object with exactly the relations to the caller that a cell states, and the objects that they rest on. */

import { v7 as uuidv7 } from 'uuid'
import { comparedFields, holdsForOwnRecord } from '../../../decide/relations/all-kinds.ts'
import { ownerFieldOf } from '../../../decide/relations/ownership.ts'
import type { Representation } from '../../../resources/resource.ts'
import { arrangeObject, wantedText } from '../arrange/arrange-object.ts'
import { withUniqueValues } from '../arrange/values/unique-values.ts'
import type { PlacedObject } from '../arrange/wanted-object.ts'
import { leavesIn, type ObjectFound } from '../arrange/wanted-object.ts'
import { relationsAmong } from '../predict/relations-among.ts'
import type { Suite } from '../predict/suite.ts'
import { CannotSetUp, type TestTarget } from '../target/test-target.ts'
import type { BoundExpectation } from './bind.ts'
import { type ObjectToPlace, placeObjects } from './place-objects.ts'
import type { Named } from './set-up-caller.ts'

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
  if (record && relatesSo(suite, wanted, { object: record, others: [] }, now)) return { object: record, others: [] }
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
    if (made && relatesSo(suite, wanted, made, now)) return made
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
export function toPlace({ policy, resources }: Suite, { resource: name, object }: PlacedObject): ObjectToPlace {
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

function relatesSo(
  { policy }: Suite,
  { bound, caller, relations, known }: Wanted,
  { object, others }: MadeObject,
  now: number,
): boolean {
  const { name } = bound.resource
  const world = [...known, ...others, { resource: name, object }]
  const among = { ownership: policy.ownership.get(name), attributes: caller?.attributes ?? {}, now, world }
  const holding = relationsAmong(among, object)
  return holding.length === relations.size && holding.every((one) => relations.has(one))
}
