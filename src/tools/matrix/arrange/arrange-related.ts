/** Makes a caller and an object so that exactly the wanted relations hold: first the attributes, then the object. */
import { choices as choicesOf } from '../../../base/subsets.ts'
import { USERS } from '../../../decide/policy.ts'
import { comparedAttributes, comparedFields, meaningOf, needsCaller } from '../../../decide/relations/all-kinds.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'
import type { Json, Representation } from '../../../resources/resource.ts'
import { arrangeObject, choicesWithoutAttributes, noSuchObject, unarranged } from './arrange-object.ts'
import { type AttributeChoice, attributeChoice, attributesToGive } from './attribute-choices.ts'
import { attributesIn, callerRecords, comparedIn } from './caller-record.ts'
import {
  type Attributes,
  isOwn,
  leavesIn,
  type NotFound,
  type ObjectFound,
  type PlacedObject,
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
