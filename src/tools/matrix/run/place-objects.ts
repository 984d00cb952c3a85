/** Puts objects that name each other on a target: each one after those that it names, with the ids that these got. */
import type { Json, Representation } from '../../../resources/resource.ts'
import type { PlacedObject } from '../arrange/wanted-object.ts'
import { CannotSetUp, type TestTarget } from '../target/test-target.ts'

export interface ObjectToPlace extends PlacedObject {
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
export async function placeObjects(target: TestTarget, objects: readonly ObjectToPlace[]): Promise<Placing> {
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
    const next = left.find((one) => !left.some((other) => other !== one && names(one.object, other.object))) ?? left[0]
    if (next) ordered.push(next)
    left = left.filter((one) => one !== next)
  }
  return ordered
}

function names(object: Representation, other: Representation): boolean {
  return Object.entries(object).some(([field, value]) => field !== 'id' && [value].flat().includes(other.id ?? null))
}
