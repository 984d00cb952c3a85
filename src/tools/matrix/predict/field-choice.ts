/** The values that one field can have so that just the wanted ones of its relations hold. */

import { has } from '../../../decide/condition.ts'
import type { Relation } from '../../../decide/policy.ts'
import type { Scalar } from '../../../resources/object.ts'
import type { Field, Json, Resource } from '../../../resources/resource.ts'
import { followReferences } from '../../../resources/schema/references.ts'
import { isObject } from '../../../resources/schema/subschemas.ts'
import { unique } from './sample-values.ts'

export interface FieldQuestion {
  readonly resource: Resource
  readonly field: Field
  /** Values that the schema allows, as far as samples know. */
  readonly known: readonly Json[]
  /** The relations that compare this field: those that must hold, and those that must not. */
  readonly wanted: readonly Relation[]
  readonly unwanted: readonly Relation[]
  /** The caller's id and attributes. */
  readonly attributes: Readonly<Record<string, Scalar>>
  /** Who owns what isn't the caller's. */
  readonly somebody: string
  /** Whether an object without the field won't do. */
  readonly present: boolean
}

export interface FieldChoice {
  /** The likeliest first; undefined stands for an object without the field. */
  readonly values: readonly (Json | undefined)[]
  /** Whether these are all: when there are none, no object can be so. */
  readonly complete: boolean
}

/** Combinations of a list's elements that are tried. */
const MOST_PICKS = 64

export function choicesOf(question: FieldQuestion): FieldChoice {
  const { field, wanted, unwanted, attributes } = question
  const forbidden = new Set(unwanted.flatMap((relation) => acceptedBy(relation, attributes)))
  const accepted = wanted.map((relation) => acceptedBy(relation, attributes).filter((value) => !forbidden.has(value)))
  const asked = { ...question, forbidden, accepted }
  const { values, complete } = field.list ? listChoices(asked) : scalarChoices(asked)
  const fitting = unique(values).filter((value) => isValid(question, value) && isAvoiding(value, forbidden))
  return { values: mayLack(question) ? [...fitting, undefined] : fitting, complete }
}

/** Whether the field can have this value, undefined for none, so that just the wanted relations hold. */
export function fits(question: FieldQuestion, value: Json | undefined): boolean {
  const { wanted, unwanted, attributes } = question
  const holds = (relation: Relation) =>
    value !== undefined && acceptedBy(relation, attributes).some((one) => has({ value }, 'value', one))
  if (!wanted.every(holds) || unwanted.some(holds)) return false
  return value === undefined ? mayLack(question) : isValid(question, value)
}

/** Whether the schema allows this value, whatever the other fields hold. What only the server sets isn't asked. */
export function isAllowed({ validate, fields }: Resource, name: string, value: Json): boolean {
  if (fields.get(name)?.readOnly) return true
  return !validate({ [name]: value }).some(({ pointer }) => pointer === `/${name}` || pointer.startsWith(`/${name}/`))
}

interface Asked extends FieldQuestion {
  readonly forbidden: ReadonlySet<Scalar>
  /** Of each wanted relation the values for which it holds and no unwanted one does. */
  readonly accepted: readonly (readonly Scalar[])[]
}

interface Proposed {
  readonly values: readonly Json[]
  readonly complete: boolean
}

/** A relation that compares something that the caller doesn't have holds for no value. */
function acceptedBy(relation: Relation, attributes: FieldQuestion['attributes']): readonly Scalar[] {
  if (relation.kind === 'state') return relation.values
  const value = Object.hasOwn(attributes, relation.attribute) ? attributes[relation.attribute] : undefined
  return value === undefined ? [] : [value]
}

function scalarChoices({ field, known, accepted, ...asked }: Asked): Proposed {
  const [first, ...others] = accepted
  if (first) return { values: first.filter((value) => others.every((one) => one.includes(value))), complete: true }
  const all = field.type === 'boolean' ? [true, false, null] : field.oneOf
  return { values: [...strangers(asked), ...known, ...(all ?? [null])], complete: all !== undefined }
}

/** An element for each wanted relation; further ones, as the schema asks for them, that mean nothing to any relation. */
function listChoices({ resource, field, known, forbidden, accepted, ...asked }: Asked): Proposed {
  const { minItems, maxItems, elements } = itemsOf(resource, field)
  const picks = picksOf(accepted).filter((pick) => pick.length <= maxItems)
  const neutral = unique([...known.flat(), ...(elements ?? [])]).filter((value) => !forbidden.has(value as Scalar))
  const more = known.map((list) => (Array.isArray(list) ? list.filter((value) => !forbidden.has(value)) : []))
  const values = picks.flatMap((pick): readonly Json[] => [
    ...more.map((list) => unique([...pick, ...(accepted.length === 0 ? strangers(asked) : []), ...list])),
    ...more.map((list) => unique([...pick, ...list])),
    ...[minItems, minItems + 1].map((length) => filledUp(pick, neutral, length)),
  ])
  const unpadded = elements !== undefined && neutral.length === 0 && minItems > 0 && accepted.length === 0
  return { values, complete: picks.length === 0 || unpadded }
}

function picksOf(accepted: Asked['accepted']): readonly (readonly Scalar[])[] {
  const products = accepted.reduce<readonly (readonly Scalar[])[]>(
    (some, values) =>
      some.flatMap((pick) => values.map((value) => [...new Set([...pick, value])])).slice(0, MOST_PICKS),
    [[]],
  )
  return products.toSorted((a, b) => a.length - b.length)
}

function filledUp(pick: readonly Json[], neutral: readonly Json[], length: number): readonly Json[] {
  const further = neutral.filter((value) => !pick.includes(value))
  return [...pick, ...further.slice(0, Math.max(0, length - pick.length))]
}

/** Whose id it may be where a relation asks for the caller's. */
function strangers({ unwanted, somebody }: Pick<FieldQuestion, 'unwanted' | 'somebody'>): readonly Json[] {
  return unwanted.some(({ kind }) => kind === 'caller') ? [somebody] : []
}

function isAvoiding(value: Json, forbidden: ReadonlySet<Scalar>): boolean {
  return ![...forbidden].some((one) => has({ value }, 'value', one))
}

function isValid({ resource, field, present }: FieldQuestion, value: Json): boolean {
  return !(present && value === null) && isAllowed(resource, field.name, value)
}

/** The server fills a default in with every write, so that no object lacks the field. */
function mayLack({ resource: { schema }, field, wanted, present }: FieldQuestion): boolean {
  if (present || wanted.length > 0 || field.name === 'id' || field.default !== undefined) return false
  return field.readOnly || !(Array.isArray(schema.required) && schema.required.includes(field.name))
}

/** `elements` where the schema lists all that there can be. */
function itemsOf({ schema }: Resource, { name }: Field) {
  const properties = isObject(schema.properties) ? schema.properties : {}
  const list = followReferences(schema, properties[name] ?? true)
  const { minItems = 0, maxItems = Number.POSITIVE_INFINITY, items = true } = isObject(list) ? list : {}
  const element = followReferences(schema, items)
  const { enum: listed, type, const: only } = isObject(element) ? element : {}
  const all = only === undefined ? (type === 'boolean' ? [true, false] : listed) : [only]
  return {
    minItems: Number(minItems),
    maxItems: Number(maxItems),
    elements: Array.isArray(all) ? (all as readonly Json[]) : undefined,
  }
}
