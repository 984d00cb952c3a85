/** Writes that leave an object with exactly the wanted relations: the body, and the objects that it newly names. */
import { isDeepStrictEqual } from 'node:util'
import { comparedFields } from '../../../decide/relations/all-kinds.ts'
import { filledFields, valuesToFill } from '../../../decide/relations/ownership.ts'
import { askingAs } from '../../../decide/relations/relation-kind.ts'
import type { Json, Method, Representation, Resource } from '../../../resources/resource.ts'
import { arrangeObject, noSuchObject, TIMES } from './arrange-object.ts'
import { arrangeRelated } from './arrange-related.ts'
import type { PlacedObject, WantedPair } from './wanted-object.ts'
import { type Attributes, leavesIn, type NotFound } from './wanted-object.ts'

/** A stored object and its caller. */
interface Stored {
  readonly attributes: Attributes
  readonly object: Representation
  readonly others: readonly PlacedObject[]
}

interface WrittenResult {
  readonly kind: 'result'
  readonly body: Representation
  /** The objects on which the relations of the result rest, besides those that exist. */
  readonly others: readonly PlacedObject[]
}

/** Changes only the fields of relations that must hold otherwise. `pair.relations` hold for the stored object. */
export function arrangeResult(
  pair: WantedPair,
  stored: Stored,
  { becomes, method }: { readonly becomes: ReadonlySet<string>; readonly method: Method },
): WrittenResult | NotFound {
  const { resource, ownership, resources, samplesOf, newId, callerId } = pair
  const { object } = stored
  const changed = leavesIn(ownership).filter(({ name }) => pair.relations.has(name) !== becomes.has(name))
  const free = new Set(changed.flatMap(comparedFields))
  const wanted = { ...pair, relations: becomes }
  if ([...free].some((name) => isServers(resource, name))) return noSuchObject(wanted)
  const kept = [...resource.fields.keys()].filter((name) => !free.has(name))
  const found = arrangeObject({
    ...wanted,
    id: String(object.id),
    attributes: callerId === undefined ? {} : { ...stored.attributes, id: callerId },
    fixed: new Map(kept.map((name) => [name, Object.hasOwn(object, name) ? object[name] : undefined])),
    around: { resources, samplesOf, newId, placed: stored.others },
  })
  if (found.kind !== 'object') return found
  const body = method === 'PATCH' ? changesOf(object, found.object) : wholeBody(pair, found.object)
  return { kind: 'result', body, others: found.others }
}

/** A new object, its caller, and the body that creates it. */
export function arrangeCreated(pair: WantedPair): (WrittenResult & { readonly attributes: Attributes }) | NotFound {
  const held = leavesIn(pair.ownership).filter(({ name }) => pair.relations.has(name))
  // The server chooses the id of a new object; its times are those of the request.
  const isChosen = (name: string) => isServers(pair.resource, name) && !TIMES.has(name)
  if (held.some((leaf) => comparedFields(leaf).some(isChosen))) return noSuchObject(pair)
  const found = arrangeRelated({ ...pair, own: false })
  if (found.kind !== 'related') return found
  const { attributes, object, others } = found
  const asking = askingAs({ ...attributes, id: pair.callerId }, pair.now)
  const filled = valuesToFill(filledFields(pair.resource, pair.ownership), asking.valuesOf)
  const body = Object.entries(wholeBody(pair, object)).filter(
    ([name, value]) => !isDeepStrictEqual(filled[name], value),
  )
  return { kind: 'result', attributes, body: Object.fromEntries(body), others }
}

function isServers({ fields }: Resource, name: string): boolean {
  return name === 'id' || (fields.get(name)?.readOnly ?? false)
}

/** RFC 7396: null removes a field. */
function changesOf(before: Representation, after: Representation): Representation {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  const changed = names.filter((name) => !isDeepStrictEqual(before[name], after[name]))
  return Object.fromEntries(changed.map((name): [string, Json] => [name, after[name] ?? null]))
}

/** The fields that the schema requires, and those that relations look at. */
function wholeBody({ resource, ownership, samples }: WantedPair, object: Representation): Representation {
  const names = new Set([...Object.keys(samples.smallest), ...leavesIn(ownership).flatMap(comparedFields)])
  return Object.fromEntries(Object.entries(object).filter(([name]) => names.has(name) && !isServers(resource, name)))
}
