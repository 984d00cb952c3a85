/** The values that one field can have so that just the wanted ones of its relations hold. */

import { acceptsField } from '../../../decide/relations/compared-field.ts'
import { kindOf, needsCaller, type Relation } from '../../../decide/relations/relation.ts'
import type { AcceptedValues } from '../../../decide/relations/relation-kind.ts'
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
  const asked = { ...question, ...acceptedIn(question) }
  const { values, complete } = question.field.list ? listChoices(asked) : scalarChoices(asked)
  const fitting = unique(values).filter((value) => isValid(question, value) && asked.avoids(value))
  return { values: mayLack(question) ? [...fitting, undefined] : fitting, complete: complete && asked.isKnown }
}

/** Whether the field can have this value, undefined for none, so that just the wanted relations hold. */
export function fits(question: FieldQuestion, value: Json | undefined): boolean {
  const { wanted, avoids } = acceptedIn(question)
  if (!wanted.every((accepted) => acceptsField(accepted, value)) || (value !== undefined && !avoids(value)))
    return false
  return value === undefined ? mayLack(question) : isValid(question, value)
}

/** Whether the schema allows this value, whatever the other fields hold. What only the server sets isn't asked. */
export function isAllowed({ validate, fields }: Resource, name: string, value: Json): boolean {
  if (fields.get(name)?.readOnly) return true
  return !validate({ [name]: value }).some(({ pointer }) => pointer === `/${name}` || pointer.startsWith(`/${name}/`))
}

/** What the relations accept that the field's values can tell. */
interface Accepted {
  readonly wanted: readonly AcceptedValues[]
  /** Whether no relation that mustn't hold accepts a value, or a member of a list. */
  readonly avoids: (value: Json) => boolean
  /** Whether the values tell all that the relations ask. */
  readonly isKnown: boolean
}

interface Asked extends Omit<FieldQuestion, 'wanted'>, Accepted {
  readonly somebodys: readonly Json[]
}

function acceptedIn({ wanted, unwanted, attributes, somebody }: FieldQuestion): Accepted & Pick<Asked, 'somebodys'> {
  const attributeOf = (name: string) => (Object.hasOwn(attributes, name) ? attributes[name] : undefined)
  const acceptedBy = (relations: readonly Relation[]) =>
    relations.flatMap((relation) => kindOf(relation).accepted?.(relation, attributeOf) ?? [])
  const [held, avoided] = [acceptedBy(wanted), acceptedBy(unwanted)]
  return {
    wanted: held,
    avoids: (value) => !avoided.some((accepted) => acceptsField(accepted, value)),
    isKnown: held.length === wanted.length,
    // Whose id it may be where a relation asks for the caller's.
    somebodys: unwanted.some(needsCaller) ? [somebody] : [],
  }
}

interface Proposed {
  readonly values: readonly Json[]
  readonly complete: boolean
}

function scalarChoices({ field, known, wanted, avoids, somebodys }: Asked): Proposed {
  const first = wanted.find(({ complete }) => complete) ?? wanted[0]
  if (first) {
    const values = candidatesOf(first, known).filter((value) => wanted.every(({ accepts }) => accepts(value)))
    return { values, complete: first.complete }
  }
  const all = field.type === 'boolean' ? [true, false, null] : field.oneOf
  return { values: [...somebodys, ...known, ...(all ?? [null])].filter(avoids), complete: all !== undefined }
}

/** Where a relation accepts more than it can tell, the samples are tried as well. */
function candidatesOf({ telling, complete, accepts }: AcceptedValues, known: readonly Json[]): readonly Scalar[] {
  return [...telling, ...(complete ? [] : known.flat().filter(isScalar))].filter(accepts)
}

/** An element for each wanted relation; further ones, as the schema asks for them, that mean nothing to any relation. */
function listChoices({ resource, field, known, wanted, avoids, somebodys }: Asked): Proposed {
  const { minItems, maxItems, elements } = itemsOf(resource, field)
  const accepted = wanted.map((one) => candidatesOf(one, known).filter(avoids))
  const picks = picksOf(accepted).filter((pick) => pick.length <= maxItems)
  const neutral = unique([...known.flat(), ...(elements ?? [])]).filter(avoids)
  const more = known.map((list) => (Array.isArray(list) ? list.filter(avoids) : []))
  const strangers = accepted.length === 0 ? somebodys : []
  const values = picks.flatMap((pick): readonly Json[] => [
    ...more.map((list) => unique([...pick, ...strangers, ...list])),
    ...more.map((list) => unique([...pick, ...list])),
    ...[minItems, minItems + 1].map((length) => filledUp(pick, neutral, length)),
  ])
  const unpadded = elements !== undefined && neutral.length === 0 && minItems > 0 && accepted.length === 0
  const isAll = wanted.every(({ complete }) => complete)
  return { values, complete: (picks.length === 0 && isAll) || unpadded }
}

function picksOf(accepted: readonly (readonly Scalar[])[]): readonly (readonly Scalar[])[] {
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

function isScalar(value: Json): value is Scalar {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}
