/**
 * Makes a caller and an object so that exactly the wanted relations hold: first the attributes, then the object. And the
 * body of a write that leaves such an object.
 */

import { isDeepStrictEqual } from 'node:util'
import { choices as choicesOf } from '../../../base/subsets.ts'
import { USERS } from '../../../decide/policy.ts'
import { comparedAttributes, comparedFields, meaningOf, needsCaller } from '../../../decide/relations/all-kinds.ts'
import { filledFields, valuesToFill } from '../../../decide/relations/ownership.ts'
import { askingAs, type Relation } from '../../../decide/relations/relation-kind.ts'
import type { Json, Method, Representation, Resource } from '../../../resources/resource.ts'
import { arrangeObject, choicesWithoutAttributes, TIMES } from './arrange-object.ts'
import {
  type AttributeChoice,
  attributeChoice,
  attributesIn,
  attributesToGive,
  callerRecords,
  comparedIn,
} from './caller-record.ts'
import {
  type Attributes,
  isOwn,
  leavesIn,
  type NotFound,
  noSuchObject,
  type ObjectFound,
  type PlacedObject,
  unarranged,
  type WantedPair,
  wantedOf,
} from './wanted-object.ts'

export type ArrangedPair =
  | {
      readonly kind: 'related'
      readonly attributes: Attributes
      readonly object: Representation
      readonly others: readonly PlacedObject[]
    }
  | NotFound

/** How many combinations of attributes are tried. */
const MOST_COMBINED = 64

/**
 * The caller gets only the attributes that are needed, and those that every record with these has. `attributes` of the
 * result lack the id.
 */
export function arrangeRelated(pair: WantedPair): ArrangedPair {
  const { callerId } = pair
  const isKnown = [...pair.relations].every((name) => pair.ownership?.relations.has(name))
  if (!isKnown) return noSuchObject(pair)
  if (callerId === undefined) {
    const needed = pair.own || wantedOf(pair).some(needsCaller)
    return needed ? noSuchObject(pair) : related({}, arrangeWith(pair, {}))
  }
  if (isContradictory(pair)) return noSuchObject(pair)
  const names = attributesToGive(pair)
  const choices = names.map((name) => attributeChoice(pair, name))
  const unfit = choices.find(({ values }) => values.length === 0)
  if (unfit) return unfit.complete ? noSuchObject(pair) : unarranged(pair, unfit.why)
  return firstOf(pair, names, choices)
}

/** The object for a caller with an id and these attributes. */
export function arrangeWith(pair: WantedPair, attributes: Attributes): ObjectFound {
  const { callerId, resources, samplesOf, newId } = pair
  const around = { resources, samplesOf, newId, placed: [] }
  if (callerId === undefined) return arrangeObject({ ...pair, around, attributes: {} })
  const own = isOwn(pair)
  const record = own && pair.resource.name === USERS
  const given = new Map(Object.entries(attributes))
  const fixed = new Map<string, Json | undefined>([
    ...(own ? [['id', callerId] as const] : []),
    ...(record ? attributesToGive(pair).map((name) => [name, given.get(name)] as const) : []),
  ])
  return arrangeObject({ ...pair, around, attributes: { ...attributes, id: callerId }, fixed })
}

function related(attributes: Attributes, found: ObjectFound): ArrangedPair {
  return found.kind === 'object' ? { ...found, kind: 'related', attributes } : found
}

/** Whether relations with the same meaning should differ, or a field has no fitting value for any caller. */
function isContradictory(pair: WantedPair): boolean {
  const { resource, relations, callerId = '' } = pair
  const meanings = Map.groupBy(leavesIn(pair.ownership), meaningOf)
  if ([...meanings.values()].some((same) => new Set(same.map(({ name }) => relations.has(name))).size > 1)) return true
  const fields = new Set(leavesIn(pair.ownership).flatMap(comparedFields))
  const fixed = new Map(isOwn(pair) ? [['id', callerId]] : [])
  const asked = { ...pair, attributes: { id: callerId }, fixed }
  return [...fields].some((name) => {
    const field = resource.fields.get(name)
    const held = wantedOf(pair).some((one) => comparedFields(one).includes(name) && isOfAttribute(one))
    const choice = field && choicesWithoutAttributes(asked, field, held)
    return choice !== undefined && choice.values.length === 0 && choice.complete
  })
}

function isOfAttribute(relation: Relation): boolean {
  return comparedAttributes(relation).some((name) => name !== 'id')
}

function firstOf(pair: WantedPair, names: readonly string[], choices: readonly AttributeChoice[]): ArrangedPair {
  const combined = choicesOf(choices.map(({ values }) => values))
  let last: NotFound = noSuchObject(pair)
  let proven = combined.length <= MOST_COMBINED && choices.every(({ complete }) => complete)
  for (const values of combined.slice(0, MOST_COMBINED)) {
    const given = names.flatMap((name, i) => (values[i] === undefined ? [] : [[name, values[i]] as const]))
    const attributes: Attributes = Object.fromEntries(given)
    const alone = arrangeWith(pair, attributes)
    const found = alone.kind === 'object' ? withRecord(pair, attributes, alone) : alone
    if (found.kind === 'related') return found
    if (found.kind === 'unarranged') proven = false
    last = found
  }
  return proven ? noSuchObject(pair) : last.kind === 'unarranged' ? last : unarranged(pair, 'none was found')
}

/** The object for a caller whose record has these attributes; `alone` is for a caller with no others. */
function withRecord(pair: WantedPair, attributes: Attributes, alone: ObjectFound): ArrangedPair {
  const isRecord = isOwn(pair) && pair.resource.name === USERS
  if (isRecord || Object.keys(attributes).length === 0) return related(attributes, alone)
  const fields = pair.resources.byName.get(USERS)?.fields
  // Another caller has another value in a unique field.
  const names = comparedIn(pair.ownership).filter((name) => !fields?.get(name)?.unique)
  for (const record of callerRecords(pair, pair.callerId ?? '', attributes)) {
    const all = { ...attributesIn(record, names), ...attributes }
    const found = Object.keys(all).length === Object.keys(attributes).length ? alone : arrangeWith(pair, all)
    if (found.kind === 'object') return related(all, found)
  }
  return unarranged(pair, 'a record of the caller makes other relations hold, or can not be made')
}

/** A stored object and its caller. */
interface StoredWithCaller {
  readonly attributes: Attributes
  readonly object: Representation
  readonly others: readonly PlacedObject[]
}

interface ArrangedResult {
  readonly kind: 'result'
  readonly body: Representation
  /** The objects on which the relations of the result rest, besides those that exist. */
  readonly others: readonly PlacedObject[]
}

/** Changes only the fields of relations that must hold otherwise. `pair.relations` hold for the stored object. */
export function arrangeResult(
  pair: WantedPair,
  stored: StoredWithCaller,
  { becomes, method }: { readonly becomes: ReadonlySet<string>; readonly method: Method },
): ArrangedResult | NotFound {
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
export function arrangeCreated(pair: WantedPair): (ArrangedResult & { readonly attributes: Attributes }) | NotFound {
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
