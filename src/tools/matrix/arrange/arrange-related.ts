/** A caller and an object that relate as asked: chooses the caller's attributes, and then the object by them. */
import {
  comparedAttributes,
  comparedFields,
  holdsForOwnRecord,
  kindOf,
  meaningOf,
  needsCaller,
  type Relation,
} from '../../../decide/relations/relation.ts'
import type { Scalar } from '../../../resources/object.ts'
import type { Json, Representation, Resource, Resources } from '../../../resources/resource.ts'
import {
  arrangeObject,
  impossible,
  type NotFound,
  type ObjectFound,
  stateChoice,
  unarranged,
  type Wanted,
} from './arrange-object.ts'
import { isAllowed } from './field-choice.ts'
import { unique } from './sample-values.ts'
import type { SamplesOf } from './samples.ts'

/** The resource whose records hold callers' attributes (semantics.md, "Caller"). */
export const DIRECTORY = 'users'

export interface Relating extends Omit<Wanted, 'attributes' | 'fixed'> {
  readonly resources: Resources
  readonly samplesOf: SamplesOf
  /** Undefined without credentials. */
  readonly callerId: string | undefined
  /** Whether the object must be the one whose id is the caller's. */
  readonly own: boolean
}

export type Attributes = Readonly<Record<string, Scalar>>

export type Related =
  | { readonly kind: 'related'; readonly attributes: Attributes; readonly object: Representation }
  | NotFound

/** Values of one attribute that are tried, and how the attributes of a caller are combined at most. */
const MOST_VALUES = 8
const MOST_COMBINED = 64

/** `attributes` of the result don't have the id. What isn't needed the caller doesn't have. */
export function arrangeRelated(relating: Relating): Related {
  const { callerId } = relating
  const wanted = wantedOf(relating)
  if (wanted.length < relating.relations.size) return impossible(relating)
  if (callerId === undefined) {
    const needed = relating.own || wanted.some(needsCaller)
    return needed ? impossible(relating) : related({}, arrangeWith(relating, {}))
  }
  if (isContradictory(relating)) return impossible(relating)
  const names = attributesFor(relating)
  const choices = names.map((name) => attributeChoice(relating, name))
  const unfit = choices.find(({ values }) => values.length === 0)
  if (unfit) return unfit.complete ? impossible(relating) : unarranged(relating, unfit.why)
  return firstOf(relating, names, choices)
}

/** The object for a caller with just these attributes, beside the id. */
export function arrangeWith(relating: Relating, attributes: Attributes): ObjectFound {
  const { callerId } = relating
  if (callerId === undefined) return arrangeObject({ ...relating, attributes: {} })
  const own = isOwn(relating)
  const record = own && relating.resource.name === DIRECTORY
  const fixed = new Map<string, Scalar | undefined>([
    ...(own ? [['id', callerId] as const] : []),
    ...(record
      ? attributesFor(relating).map((name) => [name, new Map(Object.entries(attributes)).get(name)] as const)
      : []),
  ])
  return arrangeObject({ ...relating, attributes: { ...attributes, id: callerId }, fixed })
}

/** Whether the object's id is the caller's. */
export function isOwn(relating: Pick<Relating, 'own' | 'ownership' | 'relations'>): boolean {
  return relating.own || wantedOf(relating).some(holdsForOwnRecord)
}

function related(attributes: Attributes, found: ObjectFound): Related {
  return found.kind === 'object' ? { kind: 'related', attributes, object: found.object } : found
}

function relationsOf({ ownership }: Pick<Relating, 'ownership'>): readonly Relation[] {
  return [...(ownership?.relations.values() ?? [])]
}

function wantedOf(relating: Pick<Relating, 'ownership' | 'relations'>): readonly Relation[] {
  return relationsOf(relating).filter(({ name }) => relating.relations.has(name))
}

/** Of the same comparison one relation holds and another doesn't, or a field has no value whoever the caller is. */
function isContradictory(relating: Relating): boolean {
  const { resource, relations, callerId = '' } = relating
  const meanings = Map.groupBy(relationsOf(relating), meaningOf)
  if ([...meanings.values()].some((same) => new Set(same.map(({ name }) => relations.has(name))).size > 1)) return true
  const fields = new Set(relationsOf(relating).flatMap(comparedFields))
  const fixed = new Map(isOwn(relating) ? [['id', callerId]] : [])
  const asked = { ...relating, attributes: { id: callerId }, fixed }
  return [...fields].some((name) => {
    const field = resource.fields.get(name)
    const held = wantedOf(relating).some((one) => comparedFields(one).includes(name) && isOfAttribute(one))
    const choice = field && stateChoice(asked, field, held)
    return choice !== undefined && choice.values.length === 0 && choice.complete
  })
}

function isOfAttribute(relation: Relation): boolean {
  return comparedAttributes(relation).some((name) => name !== 'id')
}

/** Those that wanted relations compare; of the caller's own record all, because there the object has them itself. */
function attributesFor(relating: Relating): readonly string[] {
  const record = relating.resource.name === DIRECTORY && isOwn(relating)
  const about = record ? relationsOf(relating) : wantedOf(relating)
  const names = about.flatMap(comparedAttributes).filter((name) => name !== 'id')
  return [...new Set(names)].filter((name) => !record || isPlain(relating.resource, name) || isNeeded(relating, name))
}

function isNeeded(relating: Relating, attribute: string): boolean {
  return wantedOf(relating).some((one) => comparedAttributes(one).includes(attribute))
}

/** An attribute is one plain value: of a list, a caller has none. */
function isPlain({ fields }: Resource, attribute: string): boolean {
  const field = fields.get(attribute)
  return field !== undefined && !field.list && field.type !== 'other'
}

interface AttributeChoice {
  /** Undefined for a caller without it. */
  readonly values: readonly (Scalar | undefined)[]
  readonly complete: boolean
  /** Where there are none. */
  readonly why: string
}

/** Values that the directory allows, and that the fields can have that are compared with them. */
function attributeChoice(relating: Relating, attribute: string): AttributeChoice {
  const { resources, samplesOf, callerId = '' } = relating
  const directory = resources.byName.get(DIRECTORY)
  if (!directory || !isPlain(directory, attribute)) {
    const why = `callers can't be given the attribute \`${attribute}\`: no schema \`${DIRECTORY}\` has it`
    return { values: [], complete: isOwn(relating) && directory === relating.resource, why }
  }
  const needed = isNeeded(relating, attribute)
  if (!needed && isHeldByEach(relating, attribute)) return { values: [undefined], complete: true, why: '' }
  const asked = { ...relating, attributes: { id: callerId } }
  const choices = relationsOf(relating).flatMap((one) => {
    const equation = kindOf(one).equates?.(one)
    const field = equation?.attribute === attribute ? relating.resource.fields.get(equation.field) : undefined
    if (!field || (needed && !relating.relations.has(one.name))) return []
    return [{ list: field.list, ...stateChoice(asked, field, true) }]
  })
  const listed = choices.filter(({ complete, list }) => complete && !list)
  const common = unique(choices.flatMap(({ values }) => values.flat()).filter(isScalar))
  const proposed =
    listed.length > 0 ? common.filter((one) => listed.every(({ values }) => values.includes(one))) : common
  const known = listed.length > 0 ? [] : (samplesOf.get(DIRECTORY)?.values.get(attribute) ?? [])
  const all = unique([...proposed, ...known]).filter(isScalar)
  const allowed = all.filter((value) => isAllowed(directory, attribute, value))
  return {
    values: [...(needed ? [] : [undefined]), ...allowed.slice(0, MOST_VALUES)],
    complete: listed.length > 0 && allowed.length === all.length && allowed.length <= MOST_VALUES,
    why: `no value of the caller's attribute \`${attribute}\` was found`,
  }
}

/** In the caller's own record such a relation holds as soon as there is a value. */
function isHeldByEach(relating: Relating, attribute: string): boolean {
  return relationsOf(relating).some((one) => {
    const equation = kindOf(one).equates?.(one)
    return equation?.field === attribute && equation.attribute === attribute
  })
}

function firstOf(relating: Relating, names: readonly string[], choices: readonly AttributeChoice[]): Related {
  const combined = choices.reduce<readonly (readonly (Scalar | undefined)[])[]>(
    (some, { values }) => some.flatMap((before) => values.map((value) => [...before, value])),
    [[]],
  )
  let last: NotFound = impossible(relating)
  let proven = combined.length <= MOST_COMBINED && choices.every(({ complete }) => complete)
  for (const values of combined.slice(0, MOST_COMBINED)) {
    const given = names.flatMap((name, i) => (values[i] === undefined ? [] : [[name, values[i]] as const]))
    const attributes: Attributes = Object.fromEntries(given)
    const found = arrangeWith(relating, attributes)
    if (found.kind === 'object') return related(attributes, found)
    if (found.kind === 'unarranged') proven = false
    last = found
  }
  return proven ? impossible(relating) : last.kind === 'unarranged' ? last : unarranged(relating, 'none was found')
}

function isScalar(value: Json | undefined): value is Scalar {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}
