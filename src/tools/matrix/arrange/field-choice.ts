/** The values that one field can have so that exactly the wanted relations hold. */

import { isObject } from '../../../base/is-object.ts'
import { kindOf, needsCaller } from '../../../decide/relations/all-kinds.ts'
import { acceptsField } from '../../../decide/relations/compared-field.ts'
import type { AcceptedValues, Relation } from '../../../decide/relations/relation-kind.ts'
import { askingAs } from '../../../decide/relations/relation-kind.ts'
import { isScalar, type Scalar } from '../../../resources/object.ts'
import type { Field, Json, Resource } from '../../../resources/resource.ts'
import { followReferences } from '../../../resources/schema/references.ts'
import { unique } from './sample-values.ts'
import { isValidIn } from './samples.ts'

export interface WantedField {
  readonly resource: Resource
  readonly field: Field
  /** Sample values that the schema allows. */
  readonly known: readonly Json[]
  /** Relations that compare this field and must hold; then those that must not. */
  readonly wanted: readonly Relation[]
  readonly unwanted: readonly Relation[]
  /** The caller's id and attributes. */
  readonly attributes: Readonly<Record<string, Scalar>>
  /** The id of another caller. */
  readonly somebody: string
  /** Whether the object must have the field. */
  readonly present: boolean
}

export interface FieldChoices {
  /** The likeliest first; undefined means that the object lacks the field. */
  readonly values: readonly (Json | undefined)[]
  /** Whether there are no other values. */
  readonly complete: boolean
}

/** The number of lists that are tried. */
const MOST_PICKS = 64

export function choicesOf(question: WantedField): FieldChoices {
  const asked = { ...question, ...acceptedIn(question) }
  const { values, complete } = question.field.list ? listChoices(asked) : scalarChoices(asked)
  const fitting = unique(values).filter((value) => isValid(question, value) && asked.avoids(value))
  return { values: mayLack(question) ? [...fitting, undefined] : fitting, complete: complete && asked.isKnown }
}

/** Whether the field can have this value (undefined: none) so that exactly the wanted relations hold. */
export function fits(question: WantedField, value: Json | undefined): boolean {
  const { wanted, avoids } = acceptedIn(question)
  if (!wanted.every((accepted) => acceptsField(accepted, value)) || (value !== undefined && !avoids(value)))
    return false
  return value === undefined ? mayLack(question) : isValid(question, value)
}

/** Whether the schema allows this value, whatever the other fields hold. The server's own fields may have any value. */
export function isAllowed(resource: Resource, name: string, value: Json): boolean {
  return resource.fields.get(name)?.readOnly || isValidIn(resource, name, value)
}

/** What the relations accept, as far as the field's value decides it. */
interface Accepted {
  readonly wanted: readonly AcceptedValues[]
  /** Whether no unwanted relation accepts the value (for a list: the list or one of its members). */
  readonly avoids: (value: Json) => boolean
  /** Whether the field's value decides all wanted relations. */
  readonly isKnown: boolean
}

interface FieldQuestion extends Omit<WantedField, 'wanted'>, Accepted {
  readonly otherIds: readonly Json[]
}

function acceptedIn({
  wanted,
  unwanted,
  attributes,
  somebody,
}: WantedField): Accepted & Pick<FieldQuestion, 'otherIds'> {
  const asking = askingAs(attributes, Date.now())
  const acceptedBy = (relations: readonly Relation[]) =>
    relations.flatMap((relation) => kindOf(relation).accepted?.(relation, asking) ?? [])
  const [held, avoided] = [acceptedBy(wanted), acceptedBy(unwanted)]
  return {
    wanted: held,
    avoids: (value) => !avoided.some((accepted) => acceptsField(accepted, value)),
    isKnown: held.length === wanted.length,
    // If a relation to the caller must not hold, the field may name another user.
    otherIds: unwanted.some(needsCaller) ? [somebody] : [],
  }
}

interface Proposed {
  readonly values: readonly Json[]
  readonly complete: boolean
}

function scalarChoices({ field, known, wanted, avoids, otherIds }: FieldQuestion): Proposed {
  const first = wanted.find(({ complete }) => complete) ?? wanted[0]
  if (first) {
    const values = candidatesOf(first, known).filter((value) => wanted.every(({ accepts }) => accepts(value)))
    return { values, complete: first.complete }
  }
  const all = field.type === 'boolean' ? [true, false, null] : field.oneOf
  return { values: [...otherIds, ...known, ...(all ?? [null])].filter(avoids), complete: all !== undefined }
}

/** Includes the samples if the relation accepts more values than it lists. */
function candidatesOf({ telling, complete, accepts }: AcceptedValues, known: readonly Json[]): readonly Scalar[] {
  return [...telling, ...(complete ? [] : known.flat().filter(isScalar))].filter(accepts)
}

/**
 * Lists with an element for each wanted relation. If the schema needs more elements, those that no relation accepts.
 */
function listChoices({ resource, field, known, wanted, avoids, otherIds }: FieldQuestion): Proposed {
  const { minItems, maxItems, elements } = itemsOf(resource, field)
  const accepted = wanted.map((one) => candidatesOf(one, known).filter(avoids))
  const picks = picksOf(accepted).filter((pick) => pick.length <= maxItems)
  const neutral = unique([...known.flat(), ...(elements ?? [])]).filter(avoids)
  const more = known.map((list) => (Array.isArray(list) ? list.filter(avoids) : []))
  const strangers = accepted.length === 0 ? otherIds : []
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

function isValid({ resource, field, present }: WantedField, value: Json): boolean {
  return !(present && value === null) && isAllowed(resource, field.name, value)
}

/** Whether an object may lack the field. A field with a default is never absent: every write fills it in. */
function mayLack({ resource: { schema }, field, wanted, present }: WantedField): boolean {
  if (present || wanted.length > 0 || field.name === 'id' || field.default !== undefined) return false
  return field.readOnly || !(Array.isArray(schema.required) && schema.required.includes(field.name))
}

/** `elements`: all possible elements, if the schema lists them. */
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
