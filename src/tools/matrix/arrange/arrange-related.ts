/** Makes a caller and an object so that exactly the wanted relations hold: first the attributes, then the object. */
import { USERS } from '../../../decide/policy.ts'
import {
  comparedAttributes,
  comparedFields,
  holdsForOwnRecord,
  kindOf,
  leavesOf,
  meaningOf,
  needsCaller,
  stepsIn,
} from '../../../decide/relations/all-kinds.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'
import { isScalar, type Scalar } from '../../../resources/object.ts'
import type { Json, Representation, Resource, Resources } from '../../../resources/resource.ts'
import { unique } from '../../../resources/samples/sample-values.ts'
import { arrangeObject, choicesWithoutAttributes, noSuchObject, unarranged } from './arrange-object.ts'
import { attributesIn, callerRecords, comparedIn } from './caller-record.ts'
import { isAllowed } from './field-choice.ts'
import type { SamplesOf } from './values/samples.ts'
import type { PlacedObject } from './wanted-object.ts'
import { type Attributes, leavesIn, type NotFound, type ObjectFound, type WantedObject } from './wanted-object.ts'

export interface WantedPair extends Omit<WantedObject, 'attributes' | 'fixed' | 'around'> {
  readonly resources: Resources
  readonly samplesOf: SamplesOf
  /** Undefined for a caller without credentials. */
  readonly callerId: string | undefined
  /** Whether the object must have the caller's id. */
  readonly own: boolean
  /** Another id each time, for the other objects on which relations rest. */
  newId(): string
}

export type ArrangedPair =
  | {
      readonly kind: 'related'
      readonly attributes: Attributes
      readonly object: Representation
      readonly others: readonly PlacedObject[]
    }
  | NotFound

/** How many values are tried for one attribute, and how many combinations of attributes. */
const MOST_VALUES = 8
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
  const names = attributesFor(pair)
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
    ...(record ? attributesFor(pair).map((name) => [name, given.get(name)] as const) : []),
  ])
  return arrangeObject({ ...pair, around, attributes: { ...attributes, id: callerId }, fixed })
}

/** Whether the object's id is the caller's. */
export function isOwn(pair: Pick<WantedPair, 'own' | 'ownership' | 'relations'>): boolean {
  return pair.own || wantedOf(pair).some(holdsForOwnRecord)
}

function related(attributes: Attributes, found: ObjectFound): ArrangedPair {
  return found.kind === 'object' ? { ...found, kind: 'related', attributes } : found
}

/** The leaves, which decide all other relations. */
function relationsOf({ ownership }: Pick<WantedPair, 'ownership'>): readonly Relation[] {
  return leavesIn(ownership)
}

function wantedOf(pair: Pick<WantedPair, 'ownership' | 'relations'>): readonly Relation[] {
  return relationsOf(pair).filter(({ name }) => pair.relations.has(name))
}

/** Whether relations with the same meaning should differ, or a field has no fitting value for any caller. */
function isContradictory(pair: WantedPair): boolean {
  const { resource, relations, callerId = '' } = pair
  const meanings = Map.groupBy(relationsOf(pair), meaningOf)
  if ([...meanings.values()].some((same) => new Set(same.map(({ name }) => relations.has(name))).size > 1)) return true
  const fields = new Set(relationsOf(pair).flatMap(comparedFields))
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

/**
 * The attributes that wanted relations compare. The caller's own record has all of them: its fields are the attributes.
 */
function attributesFor(pair: WantedPair): readonly string[] {
  const record = pair.resource.name === USERS && isOwn(pair)
  const about = record ? relationsOf(pair) : wantedOf(pair)
  const names = about.flatMap(comparedAttributes).filter((name) => name !== 'id')
  return [...new Set(names)].filter((name) => !record || isPlain(pair.resource, name) || isNeeded(pair, name))
}

function isNeeded(pair: WantedPair, attribute: string): boolean {
  return wantedOf(pair).some((one) => comparedAttributes(one).includes(attribute))
}

/** Whether the field has plain values, one or several. */
function isPlain({ fields }: Resource, attribute: string): boolean {
  const field = fields.get(attribute)
  return field !== undefined && field.type !== 'other'
}

interface AttributeChoice {
  /** Undefined means that the caller lacks the attribute. */
  readonly values: readonly (Attributes[string] | undefined)[]
  readonly complete: boolean
  /** Why there are no values. */
  readonly why: string
}

/** Values that the users schema allows and the compared fields can have. */
function attributeChoice(pair: WantedPair, attribute: string): AttributeChoice {
  const { resources, samplesOf } = pair
  const directory = resources.byName.get(USERS)
  const field = directory?.fields.get(attribute)
  if (!directory || !field || !isPlain(directory, attribute)) {
    const why = `callers can't have the attribute \`${attribute}\`: add it as a field to the schema \`${USERS}\``
    return { values: [], complete: isOwn(pair) && directory === pair.resource, why }
  }
  const needed = isNeeded(pair, attribute)
  if (!needed && isHeldByEach(pair, attribute)) return { values: [undefined], complete: true, why: '' }
  const { values: compared, complete } = comparedWith(pair, attribute, needed)
  const sampled = (samplesOf.get(USERS)?.values.get(attribute) ?? []).flat()
  const all = unique([...compared, ...(complete ? [] : sampled)]).filter(isScalar)
  const allowed = field.list
    ? listsOf(all).filter((value) => isAllowed(directory, attribute, value))
    : all.filter((value) => isAllowed(directory, attribute, value))
  return {
    values: [...(needed ? [] : [undefined]), ...allowed.slice(0, MOST_VALUES)],
    complete: complete && !field.list && allowed.length === all.length && allowed.length <= MOST_VALUES,
    why: `no value of the caller's attribute \`${attribute}\` was found`,
  }
}

/** One value, or two. */
function listsOf(values: readonly Scalar[]): readonly (readonly Scalar[])[] {
  const some = values.slice(0, MOST_VALUES)
  return [...some.map((value) => [value]), ...some.slice(1).map((value, i) => [some[i] ?? value, value])]
}

/** The values that fields compared with the attribute can have; `complete` if no other value will do. */
function comparedWith(pair: WantedPair, attribute: string, needed: boolean) {
  const asked: WantedObject = { ...pair, attributes: { id: pair.callerId ?? '' } }
  const relations = relationsOf(pair).filter(({ name }) => !needed || pair.relations.has(name))
  const choices = relations.flatMap((one) => {
    const equation = kindOf(one).equates?.(one)
    const field = equation?.attribute === attribute ? pair.resource.fields.get(equation.field) : undefined
    return field ? [{ list: field.list, ...choicesWithoutAttributes(asked, field, true) }] : []
  })
  const listed = choices.filter(({ complete, list }) => complete && !list)
  const common = unique(choices.flatMap(({ values }) => values.flat()).filter(isScalar))
  if (listed.length > 0) {
    return { values: common.filter((one) => listed.every(({ values }) => values.includes(one))), complete: true }
  }
  return { values: [...common, ...relations.flatMap((one) => comparedBeyond(pair, one, attribute))], complete: false }
}

/** The values of the fields of other objects that relations compare with the attribute. */
function comparedBeyond({ samplesOf }: WantedPair, relation: Relation, attribute: string): readonly Json[] {
  return stepsIn(relation).flatMap(({ resource, relation: other }) =>
    leavesOf(other).flatMap((leaf) => {
      const equation = kindOf(leaf).equates?.(leaf)
      const values = equation?.attribute === attribute ? samplesOf.get(resource)?.values.get(equation.field) : undefined
      return (values ?? []).flat().slice(0, MOST_VALUES)
    }),
  )
}

/**
 * Whether a relation compares the attribute with itself in the caller's own record. Such a relation holds for every
 * value.
 */
function isHeldByEach(pair: WantedPair, attribute: string): boolean {
  return relationsOf(pair).some((one) => {
    const equation = kindOf(one).equates?.(one)
    return equation?.field === attribute && equation.attribute === attribute
  })
}

function firstOf(pair: WantedPair, names: readonly string[], choices: readonly AttributeChoice[]): ArrangedPair {
  const combined = choices.reduce<readonly (readonly (Attributes[string] | undefined)[])[]>(
    (some, { values }) => some.flatMap((before) => values.map((value) => [...before, value])),
    [[]],
  )
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
