/**
 * Makes an object so that exactly the wanted relations hold. The relations are solved together, field by field, because
 * several may compare one field. If no object is found, the result says whether one can exist.
 */

import type { Ownership } from '../../../decide/policy.ts'
import { comparedAttributes, comparedFields } from '../../../decide/relations/all-kinds.ts'
import { relationsOf } from '../../../decide/relations/ownership.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'
import { askingAs } from '../../../decide/relations/relation-kind.ts'
import { namesText } from '../../../present/quote.ts'
import type { Scalar } from '../../../resources/object.ts'
import type { Field, Json, Representation, Resource } from '../../../resources/resource.ts'
import { choicesOf, type FieldChoices, fits, type WantedField } from './field-choice.ts'
import type { Samples } from './samples.ts'

export interface WantedObject {
  readonly resource: Resource
  readonly samples: Samples
  readonly ownership: Ownership | undefined
  /** The names of all relations that hold. */
  readonly relations: ReadonlySet<string>
  /** The caller's id and attributes. */
  readonly attributes: Readonly<Record<string, Scalar>>
  /** The object's id, unless a relation asks for another one. */
  readonly id: string
  /** The id of another caller, who owns the object if the caller must not own it. Absent if any other id will do. */
  readonly somebody?: string
  /** Fields with a given value; undefined means that the object lacks the field. */
  readonly fixed?: ReadonlyMap<string, Scalar | undefined>
}

export type ObjectFound = { readonly kind: 'object'; readonly object: Representation } | NotFound

/** `impossible`: there can be no such object. `unarranged`: there may be one, but none was found. */
export interface NotFound {
  readonly kind: 'impossible' | 'unarranged'
  readonly why: string
}

const AT = '2026-01-01T00:00:00.000Z'
/** An id that no caller has. */
const SOMEBODY = '01980000-0000-7000-8000-00000000000d'
const TIMES: ReadonlySet<string> = new Set(['createdAt', 'updatedAt'])

/** How many objects are tried with the same other fields. */
const MOST_TRIED = 200

export function arrangeObject(wanted: WantedObject): ObjectFound {
  const choices = choicesByField(wanted)
  const unfit = [...choices].find(([, { values }]) => values.length === 0)
  if (unfit) return unfit[1].complete ? impossible(wanted) : unarranged(wanted, `no value of \`${unfit[0]}\` was found`)
  for (const others of otherFields(wanted, choices)) {
    for (const chosen of combinations([...choices], MOST_TRIED)) {
      const object = inOrder(wanted.resource, { createdAt: AT, updatedAt: AT, ...others, ...chosen })
      if (isRelatedSo(wanted, object) && isSound(wanted.resource, object)) return { kind: 'object', object }
    }
  }
  return unarranged(wanted, 'the schema as a whole refuses what was tried')
}

/** The values that a field can have before the caller's attributes are known. `present`: it must have a value. */
export function choicesWithoutAttributes(wanted: WantedObject, field: Field, present: boolean): FieldChoices {
  const relations = relationsOn(wanted, field.name).filter((one) =>
    comparedAttributes(one).every((name) => name === 'id'),
  )
  return choiceOf({ ...questionOf(wanted, field, relations), present }, wanted)
}

export function impossible({ resource, relations }: Pick<WantedObject, 'resource' | 'relations'>): NotFound {
  return { kind: 'impossible', why: `no object of ${resource.name} can exist ${relationText(relations)}` }
}

export function unarranged(
  { resource, relations }: Pick<WantedObject, 'resource' | 'relations'>,
  why: string,
): NotFound {
  return {
    kind: 'unarranged',
    why: `no object of ${resource.name} could be made ${relationText(relations)}: ${why}`,
  }
}

/** `with exactly the relations owner and draft to this caller`. */
export function relationText(relations: ReadonlySet<string>): string {
  if (relations.size === 0) return 'without a relation to this caller'
  const noun = relations.size === 1 ? 'relation' : 'relations'
  return `with exactly the ${noun} ${namesText(relations, ' and ')} to this caller`
}

function choicesByField(wanted: WantedObject): ReadonlyMap<string, FieldChoices> {
  const { ownership, fixed, resource } = wanted
  const compared = [...(ownership?.relations.values() ?? [])].flatMap(comparedFields)
  const names = new Set([...compared, ...(fixed?.keys() ?? [])])
  return new Map(
    [...names].flatMap((name) => {
      const field = resource.fields.get(name)
      return field ? [[name, choiceOf(questionOf(wanted, field, relationsOn(wanted, name)), wanted)] as const] : []
    }),
  )
}

function relationsOn({ ownership }: WantedObject, field: string): readonly Relation[] {
  return [...(ownership?.relations.values() ?? [])].filter((relation) => comparedFields(relation).includes(field))
}

function questionOf(
  { resource, samples, relations, attributes, somebody = SOMEBODY }: WantedObject,
  field: Field,
  about: readonly Relation[],
): WantedField {
  const known = samples.values.get(field.name) ?? []
  const [wanted, unwanted] = [true, false].map((holds) => about.filter(({ name }) => relations.has(name) === holds))
  return {
    resource,
    field,
    known,
    wanted: wanted ?? [],
    unwanted: unwanted ?? [],
    attributes,
    somebody,
    present: false,
  }
}

function choiceOf(question: WantedField, { fixed, id }: WantedObject): FieldChoices {
  const { name } = question.field
  const only = (value: Json | undefined) => ({ values: fits(question, value) ? [value] : [], complete: true })
  if (fixed?.has(name)) return only(fixed.get(name))
  if (question.wanted.length > 0) return TIMES.has(name) ? { values: [], complete: false } : choicesOf(question)
  if (name === 'id') return { ...only(id), complete: false }
  return TIMES.has(name) ? { ...only(AT), complete: false } : choicesOf(question)
}

/** Values for the fields that no relation compares: first for all of them, then only for the required ones. */
function otherFields(
  { resource, samples, id }: WantedObject,
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

/** Whether exactly these relations hold between the caller and the object. */
export function isRelatedSo(
  { ownership, attributes, relations }: Pick<WantedObject, 'ownership' | 'attributes' | 'relations'>,
  object: Representation,
): boolean {
  const holding = relationsOf(ownership, askingAs(attributes, Date.now()), object)
  return holding.length === relations.size && holding.every((name) => relations.has(name))
}

/**
 * Whether the schema accepts the object. The server's own fields are ignored: an id may have another form than new ids.
 */
function isSound({ fields, validate }: Resource, object: Representation): boolean {
  return validate(object).every(({ pointer }) => fields.get(pointer.slice(1).split('/')[0] ?? '')?.readOnly ?? false)
}
