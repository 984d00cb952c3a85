/**
 * The attributes that callers can have, and the users record that gives a caller some of them. It has no other attribute
 * that relations compare, as far as its schema lets it: a further one could make relations hold. Plans and runs make the
 * same record.
 */
import { type Ownership, USERS } from '../../../decide/policy.ts'
import { comparedAttributes, kindOf, leavesOf, stepsIn } from '../../../decide/relations/all-kinds.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'
import { isScalar, type Scalar } from '../../../resources/object.ts'
import type { Field, Json, Representation, Resource, Resources } from '../../../resources/resource.ts'
import { unique } from '../../../resources/samples/sample-values.ts'
import { arrangeObject, choicesWithoutAttributes } from './arrange-object.ts'
import { canLack, isAllowed } from './field-choice.ts'
import type { Samples, SamplesOf } from './samples.ts'
import { type Attributes, isOwn, leavesIn, type WantedObject, type WantedPair, wantedOf } from './wanted-object.ts'

interface Given {
  readonly resources: Resources
  readonly samplesOf: SamplesOf
  /** Of the resource whose relations compare attributes. */
  readonly ownership: Ownership | undefined
  readonly now: number
}

/** How many values are tried for all attributes together that a record can't lack. */
const MOST_TRIED = 16

/** The likeliest first. `attributes`: those that the caller must have, without the id. */
export function* callerRecords(about: Given, id: string, attributes: Attributes): Generator<Representation, undefined> {
  const { resources, samplesOf, now } = about
  const [resource, samples] = [resources.byName.get(USERS), samplesOf.get(USERS)]
  if (!resource || !samples) return undefined
  const given = Object.entries(attributes) as readonly (readonly [string, Json])[]
  const open = comparedIn(about.ownership).flatMap((name) => {
    const field = resource.fields.get(name)
    return field && !Object.hasOwn(attributes, name) ? [field] : []
  })
  const lacked = open.filter((field) => canLack(resource, field)).map(({ name }) => [name, undefined] as const)
  const had = open.filter((field) => !canLack(resource, field) && !field.unique)
  const ways = [...waysToHave(had, samples).map((some) => [...given, ...lacked, ...some]), given]
  for (const fixed of ways) {
    const common = { resource, samples, ownership: undefined, relations: new Set<string>(), attributes: {}, now, id }
    const found = arrangeObject({ ...common, fixed: new Map<string, Json | undefined>(fixed) })
    if (found.kind === 'object') yield found.object
  }
  return undefined
}

/** The attributes that relations compare, without the id. */
export function comparedIn(ownership: Ownership | undefined): readonly string[] {
  const relations = [...(ownership?.relations.values() ?? [])]
  return [...new Set(relations.flatMap(comparedAttributes))].filter((name) => name !== 'id')
}

/** Those of these attributes that the record gives its caller. */
export function attributesIn(record: Representation, names: readonly string[]): Attributes {
  return Object.fromEntries(
    names.flatMap((name): readonly (readonly [string, Attributes[string]])[] => {
      const value = Object.hasOwn(record, name) ? record[name] : undefined
      if (Array.isArray(value)) return [[name, value.filter(isScalar)]]
      return isScalar(value) ? [[name, value]] : []
    }),
  )
}

function waysToHave(fields: readonly Field[], { values }: Samples): readonly (readonly (readonly [string, Json])[])[] {
  return fields.reduce<readonly (readonly (readonly [string, Json])[])[]>(
    (some, { name }) =>
      (values.get(name) ?? [])
        .flatMap((value) => some.map((way) => [...way, [name, value] as const]))
        .slice(0, MOST_TRIED),
    [[]],
  )
}

/** How many values are tried for one attribute. */
const MOST_VALUES = 8

/**
 * The attributes that wanted relations compare. The caller's own record has all of them: its fields are the attributes.
 */
export function attributesToGive(pair: WantedPair): readonly string[] {
  const record = pair.resource.name === USERS && isOwn(pair)
  const about = record ? leavesIn(pair.ownership) : wantedOf(pair)
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

export interface AttributeChoice {
  /** Undefined means that the caller lacks the attribute. */
  readonly values: readonly (Attributes[string] | undefined)[]
  readonly complete: boolean
  /** Why there are no values. */
  readonly why: string
}

/** Values that the users schema allows and the compared fields can have. */
export function attributeChoice(pair: WantedPair, attribute: string): AttributeChoice {
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
  const relations = leavesIn(pair.ownership).filter(({ name }) => !needed || pair.relations.has(name))
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
  return leavesIn(pair.ownership).some((one) => {
    const equation = kindOf(one).equates?.(one)
    return equation?.field === attribute && equation.attribute === attribute
  })
}
