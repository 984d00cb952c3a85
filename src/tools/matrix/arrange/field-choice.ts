/** The values that one field can have so that exactly the wanted relations hold, and the objects with such values. */
import { isObject } from '../../../base/is-object.ts'
import { choices } from '../../../base/subsets.ts'
import { kindOf, needsCaller } from '../../../decide/relations/all-kinds.ts'
import {
  type AcceptedValues,
  acceptsField,
  type CallerAndTime,
  type Relation,
} from '../../../decide/relations/relation-kind.ts'
import { isScalar, type Scalar } from '../../../resources/object.ts'
import type { Field, Json, Representation, Resource } from '../../../resources/resource.ts'
import { unique } from '../../../resources/samples/sample-values.ts'
import { followReferences } from '../../../resources/schema/subschemas.ts'
import { isValidIn, type Samples } from './samples.ts'

export interface WantedField {
  readonly resource: Resource
  readonly field: Field
  /** Sample values that the schema allows. */
  readonly known: readonly Json[]
  /** Relations that compare this field and must hold; then those that must not. */
  readonly wanted: readonly Relation[]
  readonly unwanted: readonly Relation[]
  /** What the relations depend on besides the field. */
  readonly asking: CallerAndTime
  /** The id of another caller. */
  readonly somebody: string
  /** Ids of other objects, which the field may name. */
  readonly ids: readonly string[]
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
  return { values: mayLack(question) ? [...fitting, undefined] : fitting, complete }
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
interface Acceptable {
  readonly wanted: readonly AcceptedValues[]
  readonly unwanted: readonly AcceptedValues[]
  /** Whether no unwanted relation accepts the value (for a list: the list or one of its members). */
  readonly avoids: (value: Json) => boolean
}

interface FieldQuestion extends Omit<WantedField, 'wanted' | 'unwanted'>, Acceptable {
  readonly strangers: readonly string[]
}

function acceptedIn({
  wanted,
  unwanted,
  asking,
  somebody,
}: WantedField): Acceptable & Pick<FieldQuestion, 'strangers'> {
  const acceptedBy = (relations: readonly Relation[]) =>
    relations.flatMap((relation) => kindOf(relation).accepted?.(relation, asking) ?? [])
  const [held, avoided] = [acceptedBy(wanted), acceptedBy(unwanted)]
  return {
    wanted: held,
    unwanted: avoided,
    avoids: (value) => !avoided.some((accepted) => acceptsField(accepted, value)),
    // If a relation to the caller must not hold, the field may name another user.
    strangers: unwanted.some(needsCaller) ? [somebody] : [],
  }
}

interface Proposed {
  readonly values: readonly Json[]
  readonly complete: boolean
}

function scalarChoices(question: FieldQuestion): Proposed {
  const { field, known, wanted, unwanted, avoids, ids, strangers } = question
  const all = field.type === 'boolean' ? [true, false, null] : field.oneOf
  const around = valuesAround([...wanted, ...unwanted])
  const first = wanted.find(({ complete }) => complete) ?? wanted[0]
  if (!first) {
    const values = [...ids, ...strangers, ...known, ...(all ?? [null]), ...around].filter(avoids)
    return { values, complete: all !== undefined }
  }
  const others = [...ids, ...strangers, ...around, ...(all ?? [])].filter(isScalar)
  const values = candidatesOf(first, known, others).filter((value) => wanted.every(({ accepts }) => accepts(value)))
  const isAll = first.complete || all !== undefined
  return { values, complete: isAll || isExcluded(question, values) }
}

/** Whether relations with bounds exclude one another, whatever the schema allows. */
function isExcluded({ wanted, unwanted, avoids }: FieldQuestion, values: readonly Scalar[]): boolean {
  const areBounds = [...wanted, ...unwanted].every(
    ({ complete, distinguishing }) => !complete && distinguishing.length > 0,
  )
  return (
    (areBounds && !values.some(avoids)) ||
    unwanted.some((one) => one.distinguishing.length === 0 && values.every(one.accepts))
  )
}

/** Includes the samples and other values if the relation accepts more values than it lists. */
function candidatesOf(
  { distinguishing, complete, accepts }: AcceptedValues,
  known: readonly Json[],
  others: readonly Scalar[],
): readonly Scalar[] {
  return [...distinguishing, ...(complete ? [] : [...others, ...known.flat().filter(isScalar)])].filter(accepts)
}

/** How far a date-time is moved beyond the bounds of a relation. */
const MOVED_MS = 120_000

/** Values within and just beyond the bounds of relations that accept more values than they list. */
function valuesAround(accepted: readonly AcceptedValues[]): readonly Scalar[] {
  const open = accepted.filter(({ complete }) => !complete)
  const distinguishing = [...new Set(open.flatMap((one) => one.distinguishing))]
  const numbers = distinguishing.filter((value) => typeof value === 'number').toSorted((a, b) => a - b)
  const instants = distinguishing
    .flatMap((value) => (typeof value === 'string' ? [Date.parse(value)] : []))
    .filter(Number.isFinite)
    .toSorted((a, b) => a - b)
  const between = (values: readonly number[]) => values.slice(1).map((value, i) => (value + (values[i] ?? value)) / 2)
  const times = [...instants, ...between(instants), ...instants.flatMap((at) => [at - MOVED_MS, at + MOVED_MS])]
  return [
    ...numbers.flatMap((value) => [value, value - 1, value + 1]),
    ...between(numbers).flatMap((value) => [Math.floor(value), value]),
    ...times.map((at) => new Date(at).toISOString()),
  ]
}

/**
 * Lists with an element for each wanted relation. If the schema needs more elements, those that no relation accepts.
 */
function listChoices({ resource, field, known, wanted, unwanted, avoids, ids, strangers }: FieldQuestion): Proposed {
  const { minItems, maxItems, elements } = itemsOf(resource, field)
  const around = [...strangers, ...valuesAround([...wanted, ...unwanted])]
  const accepted = wanted.map((one) => candidatesOf(one, known, around).filter(avoids))
  const picks = picksOf(accepted).filter((pick) => pick.length <= maxItems)
  const neutral = unique([...known.flat(), ...(elements ?? [])]).filter(avoids)
  const more = known.map((list) => (Array.isArray(list) ? list.filter(avoids) : []))
  const others = accepted.length === 0 ? strangers : []
  const values = picks.flatMap((pick): readonly Json[] => [
    ...ids.map((_, i) => unique([...pick, ...ids.slice(0, i + 1)])),
    ...more.map((list) => unique([...pick, ...others, ...list])),
    ...more.map((list) => unique([...pick, ...list])),
    ...[minItems, minItems + 1].map((length) => filledUp(pick, neutral, length)),
  ])
  const unpadded = elements !== undefined && neutral.length === 0 && minItems > 0 && accepted.length === 0
  const isAll = wanted.every(({ complete }) => complete)
  return { values, complete: (picks.length === 0 && isAll) || unpadded }
}

function picksOf(accepted: readonly (readonly Scalar[])[]): readonly (readonly Scalar[])[] {
  const picks = choices(accepted, MOST_PICKS).map((pick) => [...new Set(pick)])
  return picks.toSorted((a, b) => a.length - b.length)
}

function filledUp(pick: readonly Json[], neutral: readonly Json[], length: number): readonly Json[] {
  const further = neutral.filter((value) => !pick.includes(value))
  return [...pick, ...further.slice(0, Math.max(0, length - pick.length))]
}

function isValid({ resource, field, present }: WantedField, value: Json): boolean {
  return !(present && value === null) && isAllowed(resource, field.name, value)
}

function mayLack({ resource, field, wanted, present }: WantedField): boolean {
  return !present && wanted.length === 0 && canLack(resource, field)
}

/** Whether an object may lack the field. A field with a default is never absent: every write fills it in. */
export function canLack({ schema }: Resource, field: Field): boolean {
  if (field.name === 'id' || field.default !== undefined) return false
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

interface ChosenFor {
  readonly resource: Resource
  readonly samples: Samples
  readonly id: string
}

const AT = '2026-01-01T00:00:00.000Z'

/** How many objects are tried with the same other fields. */
const MOST_TRIED = 200

/** `choices`: the fields that relations compare. */
export function* candidateObjects(
  wanted: ChosenFor,
  choices: ReadonlyMap<string, FieldChoices>,
): Generator<Representation, undefined> {
  for (const others of otherFields(wanted, choices)) {
    for (const chosen of combinations([...choices], MOST_TRIED)) {
      const object = inOrder(wanted.resource, { createdAt: AT, updatedAt: AT, ...others, ...chosen })
      if (isSound(wanted.resource, object)) yield object
    }
  }
  return undefined
}

/** Values for the fields that no relation compares: first for all of them, then only for the required ones. */
function otherFields(
  { resource, samples, id }: ChosenFor,
  choices: ReadonlyMap<string, FieldChoices>,
): readonly Representation[] {
  const plain = [...resource.fields.values()].flatMap(({ name, readOnly }): readonly (readonly [string, Json])[] => {
    if (choices.has(name)) return []
    if (name === 'id') return [[name, id]]
    const value = samples.values.get(name)?.at(1) ?? samples.values.get(name)?.[0]
    return readOnly || value === undefined ? [] : [[name, value]]
  })
  const needed = plain.filter(([name]) => name === 'id' || Object.hasOwn(samples.smallest, name))
  const further = plain.filter((entry) => !needed.includes(entry))
  return [plain, needed, ...further.map((entry) => [...needed, entry])].map((entries) => Object.fromEntries(entries))
}

/** Takes one value for each field, the likeliest values first. */
function* combinations(
  choices: readonly (readonly [string, FieldChoices])[],
  most: number,
): Generator<Representation, void> {
  const sizes = choices.map(([, { values }]) => values.length)
  const total = sizes.reduce((product, size) => product * size, 1)
  for (let nth = 0; nth < Math.min(total, most); nth++) {
    let left = nth
    const entries = choices.flatMap(([name, { values }], i): readonly (readonly [string, Json])[] => {
      const size = sizes[i] ?? 1
      const value = values[left % size]
      left = Math.floor(left / size)
      return value === undefined ? [] : [[name, value]]
    })
    yield Object.fromEntries(entries)
  }
}

/** The fields in the order in which the server stores and shows them. */
function inOrder({ fields }: Resource, object: Representation): Representation {
  const names = [...fields.keys()].filter((name) => Object.hasOwn(object, name))
  return Object.fromEntries(names.map((name) => [name, object[name] ?? null]))
}

/**
 * Whether the schema accepts the object. The server's own fields are ignored: an id may have another form than new ids.
 */
function isSound({ fields, validate }: Resource, object: Representation): boolean {
  return validate(object).every(({ pointer }) => fields.get(pointer.slice(1).split('/')[0] ?? '')?.readOnly ?? false)
}
