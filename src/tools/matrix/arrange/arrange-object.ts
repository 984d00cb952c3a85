/**
 * Makes an object so that exactly the wanted relations hold. The relations are solved together, field by field, because
 * several may compare one field; related-objects.ts makes the other objects that they rest on. If no object is found,
 * the result says whether one can exist.
 */
import { lookUpIn, meets } from '../../../decide/conditions/condition.ts'
import { comparedAttributes, comparedFields, followsFrom, kindOf, stepOf } from '../../../decide/relations/all-kinds.ts'
import { askingAs, type Relation } from '../../../decide/relations/relation-kind.ts'
import { namesText } from '../../../present/quote.ts'
import type { Field, Json, Representation } from '../../../resources/resource.ts'
import { candidateObjects, choicesOf, type FieldChoices, fits, type WantedField } from './field-choice.ts'
import { placeRelated } from './related-objects.ts'
import { leavesIn, type NotFound, type ObjectFound, type PlacedObject, type WantedObject } from './wanted-object.ts'

/** An id that no caller has. */
const SOMEBODY = '01980000-0000-7000-8000-00000000000d'
export const TIMES: ReadonlySet<string> = new Set(['createdAt', 'updatedAt'])

/** For how many objects related objects are made. */
const MOST_RELATED = 8

export function arrangeObject(wanted: WantedObject): ObjectFound {
  if (!isConsistent(wanted)) return noSuchObject(wanted)
  const choices = choicesByField(wanted)
  const unfit = [...choices].find(([, { values }]) => values.length === 0)
  if (unfit)
    return unfit[1].complete ? noSuchObject(wanted) : unarranged(wanted, `no value of \`${unfit[0]}\` was found`)
  let why = 'the schema as a whole refuses what was tried'
  for (const object of candidateObjects(wanted, choices)
    .filter((one) => fitsAlone(wanted, one))
    .take(MOST_RELATED)) {
    const others = placeRelated(wanted, object, arrangeObject)
    if (others && isWanted(wanted, object, others)) return { kind: 'object', object, others }
    why = 'the objects that its relations rest on could not be made'
  }
  return unarranged(wanted, why)
}

/** Whether the relations that consist of others follow from them. */
function isConsistent({ ownership, relations }: WantedObject): boolean {
  const all = [...(ownership?.relations.values() ?? [])]
  return all.every(
    (relation) => followsFrom(relation, ({ name }) => relations.has(name)) === relations.has(relation.name),
  )
}

/** The values that a field can have before the caller's attributes are known. `present`: it must have a value. */
export function choicesWithoutAttributes(wanted: WantedObject, field: Field, present: boolean): FieldChoices {
  const relations = relationsOn(wanted, field.name).filter((one) =>
    comparedAttributes(one).every((name) => name === 'id'),
  )
  const question = questionOf(wanted, field, relations)
  return choiceOf({ ...question, present: present || question.present }, wanted)
}

export function noSuchObject({ resource, relations }: Pick<WantedObject, 'resource' | 'relations'>): NotFound {
  return { kind: 'impossible', why: `no object of ${resource.name} can exist ${wantedText(relations)}` }
}

export function unarranged(
  { resource, relations }: Pick<WantedObject, 'resource' | 'relations'>,
  why: string,
): NotFound {
  return {
    kind: 'unarranged',
    why: `no object of ${resource.name} could be made ${wantedText(relations)}: ${why}`,
  }
}

/** `with exactly the relations owner and draft to this caller`. */
export function wantedText(relations: ReadonlySet<string>): string {
  if (relations.size === 0) return 'without a relation to this caller'
  const noun = relations.size === 1 ? 'relation' : 'relations'
  return `with exactly the ${noun} ${namesText(relations, ' and ')} to this caller`
}

function choicesByField(wanted: WantedObject): ReadonlyMap<string, FieldChoices> {
  const { ownership, fixed, resource } = wanted
  const names = new Set([...leavesIn(ownership).flatMap(comparedFields), ...(fixed?.keys() ?? [])])
  return new Map(
    [...names].flatMap((name) => {
      const field = resource.fields.get(name)
      return field ? [[name, choiceOf(questionOf(wanted, field, relationsOn(wanted, name)), wanted)] as const] : []
    }),
  )
}

/** The leaves that look at the field. */
function relationsOn({ ownership }: WantedObject, field: string): readonly Relation[] {
  return leavesIn(ownership).filter((relation) => comparedFields(relation).includes(field))
}

function questionOf(
  { resource, samples, relations, attributes, now, around, somebody = SOMEBODY }: WantedObject,
  field: Field,
  about: readonly Relation[],
): WantedField {
  const known = samples.values.get(field.name) ?? []
  const isHeld = ({ name }: Relation) => relations.has(name)
  const ofValue = about.filter((relation) => !stepOf(relation))
  // The id of an object that it names; `some` needs only the object's own.
  const naming = field.name === 'id' ? [] : about.filter(stepOf)
  const heldByNaming = naming.filter(isHeld).length
  const ids = Array.from(
    { length: around && naming.length > 0 ? Math.max(1, heldByNaming) : 0 },
    () => around?.newId() ?? '',
  )
  return {
    resource,
    field,
    known,
    wanted: ofValue.filter(isHeld),
    unwanted: ofValue.filter((relation) => !isHeld(relation)),
    asking: askingAs(attributes, now),
    somebody,
    ids,
    present: heldByNaming > 0,
  }
}

function choiceOf(question: WantedField, { fixed, id, now }: WantedObject): FieldChoices {
  const { name } = question.field
  const only = (value: Json | undefined) => ({ values: fits(question, value) ? [value] : [], complete: true })
  if (fixed?.has(name)) return only(fixed.get(name))
  // The server sets the times when it stores the object.
  if (TIMES.has(name)) return { ...only(new Date(now).toISOString()), complete: false }
  if (name === 'id' && question.wanted.length === 0) return { ...only(id), complete: false }
  return choicesOf(question)
}

/** Whether the relations that look at the object alone hold as wanted. */
function fitsAlone({ ownership, attributes, relations, now }: WantedObject, object: Representation): boolean {
  const asking = askingAs(attributes, now)
  const leaves = leavesIn(ownership).filter((leaf) => !stepOf(leaf))
  return leaves.every((leaf) => meets(kindOf(leaf).condition(leaf, asking), object) === relations.has(leaf.name))
}

/** Whether exactly the wanted relations hold, among all objects. */
function isWanted(
  { resource, ownership, attributes, relations, now, around }: WantedObject,
  object: Representation,
  others: readonly PlacedObject[],
): boolean {
  const asking = askingAs(attributes, now)
  const all = [...(around?.placed ?? []), ...others, { resource: resource.name, object }]
  const lookUp = lookUpIn((name) => all.flatMap((one) => (one.resource === name ? [one.object] : [])))
  return leavesIn(ownership).every(
    (leaf) => meets(kindOf(leaf).condition(leaf, asking), object, lookUp) === relations.has(leaf.name),
  )
}
