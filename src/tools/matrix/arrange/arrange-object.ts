/**
 * Makes an object so that exactly the wanted relations hold. The relations are solved together, field by field, because
 * several may compare one field. If no object is found, the result says whether one can exist. The objects on which its
 * relations rest are made too: parents, members, and the objects that those rest on. Where a relation must not hold, such
 * an object exists too if it can, and lacks the relation.
 */
import { possibleSets } from '../../../analysis/possible-sets.ts'
import { fieldValues, meets } from '../../../decide/conditions/condition.ts'
import { USERS } from '../../../decide/policy.ts'
import {
  comparedAttributes,
  comparedFields,
  followsFrom,
  kindOf,
  leavesOf,
  stepOf,
} from '../../../decide/relations/all-kinds.ts'
import { askingAs, type Relation } from '../../../decide/relations/relation-kind.ts'
import type { Field, Json, Representation, Resource } from '../../../resources/resource.ts'
import { candidateObjects, choicesOf, type FieldChoices, fits, type WantedField } from './field-choice.ts'
import {
  leavesIn,
  noSuchObject,
  type ObjectFound,
  type ObjectSources,
  type PlacedObject,
  relatesSo,
  unarranged,
  type WantedObject,
} from './wanted-object.ts'

/** An id that no caller has. */
const SOMEBODY = '01980000-0000-7000-8000-00000000000d'
export const TIMES: ReadonlySet<string> = new Set(['createdAt', 'updatedAt'])

/** How many objects are tried with the objects that their relations rest on. */
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
    const others = placeRelated(wanted, object)
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
  const world = [...(around?.placed ?? []), ...others, { resource: resource.name, object }]
  return relatesSo({ ownership, attributes, now, world }, object, relations)
}

/** How many sets of relations are tried for one other object. */
const MOST_SETS_TRIED = 8

/** Undefined if they can't be made; it isn't checked whether they make other relations hold. */
function placeRelated(wanted: WantedObject, object: Representation): readonly PlacedObject[] | undefined {
  const { ownership, resource, around } = wanted
  const groups = groupsOf(leavesIn(ownership))
  if (groups.length === 0) return []
  if (!around) return undefined
  let made: readonly PlacedObject[] = []
  for (const group of groups) {
    const placed = [...around.placed, { resource: resource.name, object }, ...made]
    const more = placeGroup({ ...wanted, around: { ...around, placed } }, object, group)
    if (!more) return undefined
    made = [...made, ...more]
  }
  return made
}

/** Relations that look at the same other objects. */
interface Group {
  /** The field of the object itself, and the field of the others that has its value. */
  readonly field: string
  readonly by: string
  readonly resource: string
  readonly leaves: readonly Relation[]
}

function groupsOf(leaves: readonly Relation[]): readonly Group[] {
  const resting = leaves.flatMap((leaf) => {
    const step = stepOf(leaf)
    const [field] = comparedFields(leaf)
    return step && field !== undefined ? [{ leaf, field, by: step.by, resource: step.resource }] : []
  })
  return [...Map.groupBy(resting, ({ field, by, resource }) => JSON.stringify([field, by, resource])).values()].flatMap(
    (some) => (some[0] ? [{ ...some[0], leaves: some.map(({ leaf }) => leaf) }] : []),
  )
}

type Goal = WantedObject & { readonly around: ObjectSources }

/** The relations that an object must and must not have. */
interface Demand {
  readonly must: readonly Relation[]
  readonly mustNot: readonly Relation[]
}

function placeGroup(asked: Goal, object: Representation, group: Group): readonly PlacedObject[] | undefined {
  const { relations, around } = asked
  const { field, by, resource: name, leaves } = group
  const resource = around.resources.byName.get(name)
  const values = fieldValues(object, field).filter((value) => typeof value === 'string')
  const targets = (held: boolean) =>
    leaves.filter((leaf) => relations.has(leaf.name) === held).flatMap((leaf) => stepOf(leaf)?.relation ?? [])
  const [must, mustNot] = [targets(true), targets(false)]
  if (!resource || values.length === 0) return must.length === 0 ? [] : undefined
  // All relations through one object, or each through its own.
  const ways = must.length > 1 ? [[must], must.map((one) => [one])] : [[must]]
  for (const way of ways) {
    const demands = by === 'id' ? values.map((_, i) => way[i] ?? []) : way
    if (demands.length < way.length) continue
    const made = placeEach(
      asked,
      resource,
      demands.map((one) => ({ must: one, mustNot })),
      (i) => (by === 'id' ? { id: values[i] ?? '' } : { id: around.newId(), by, value: values[0] ?? '' }),
    )
    if (made) return made
  }
  return must.length > 0 && by === 'id' ? placeChain(asked, resource, group, values[0] ?? '') : undefined
}

/**
 * For a relation that may need several steps: the objects of a chain. The last one has all relations that must hold.
 * No object of the chain has a relation that must not hold at its distance.
 */
function placeChain(asked: Goal, resource: Resource, group: Group, id: string): readonly PlacedObject[] | undefined {
  const { relations, around } = asked
  const steps = group.leaves.flatMap((leaf) => {
    const step = stepOf(leaf)
    return step ? [{ relation: step.relation, depth: step.depth ?? 1, held: relations.has(leaf.name) }] : []
  })
  const targets = (held: boolean, depth: number) =>
    steps.filter((one) => one.held === held && one.depth >= depth).map(({ relation }) => relation)
  const furthest = Math.min(...steps.filter(({ held }) => held).map(({ depth }) => depth))
  for (let length = 2; length <= furthest; length++) {
    const ids = [id, ...Array.from({ length: length - 1 }, () => around.newId())]
    const demands = ids.map((_, i) => ({
      must: i === length - 1 ? targets(true, 1) : [],
      mustNot: targets(false, i + 1),
    }))
    const made = placeEach(asked, resource, demands, (i) => {
      const next = ids[i + 1]
      return { id: ids[i] ?? '', ...(next === undefined ? {} : { by: group.field, value: next }) }
    })
    if (made && made.length >= length) return made
  }
  return undefined
}

/** The id of another object, or a field of it that names this one. */
interface Naming {
  readonly id: string
  readonly by?: string
  readonly value?: string
}

function placeEach(
  asked: Goal,
  resource: Resource,
  demands: readonly Demand[],
  namingOf: (nth: number) => Naming,
): readonly PlacedObject[] | undefined {
  let made: readonly PlacedObject[] = []
  for (const [i, demand] of demands.entries()) {
    const naming = namingOf(i)
    const placed = [...asked.around.placed, ...made]
    const isThere = placed.some((one) => one.resource === resource.name && one.object.id === naming.id)
    if (isThere) continue
    const more = makeOther({ ...asked, around: { ...asked.around, placed } }, resource, demand, naming)
    // Without it, no relation through it holds.
    if (!more && demand.must.length > 0) return undefined
    made = [...made, ...(more ?? [])]
  }
  return made
}

function makeOther(
  { attributes, now, somebody, around }: Goal,
  resource: Resource,
  { must, mustNot }: Demand,
  { id, by, value = '' }: Naming,
): readonly PlacedObject[] | undefined {
  const samples = around.samplesOf.get(resource.name)
  if (!samples) return undefined
  const named = [...must, ...mustNot].flatMap((one) => [one, ...leavesOf(one)])
  const relations = new Map(named.map((one) => [one.name, one]))
  const isFit = (set: ReadonlySet<string>) =>
    must.every(({ name }) => set.has(name)) && !mustNot.some(({ name }) => set.has(name))
  const own = resource.name === USERS && id === attributes.id ? Object.entries(attributes) : []
  const list = by !== undefined && resource.fields.get(by)?.list
  const fixed = new Map<string, Json>([
    ...own,
    ...(by === undefined ? [] : [[by, list ? [value] : value] as const]),
  ] as [string, Json][])
  const common = {
    resource,
    samples,
    attributes,
    now,
    id,
    around,
    fixed,
    ...(somebody === undefined ? {} : { somebody }),
  }
  const ownership = { conceal: false, relations }
  for (const set of possibleSets([...relations.values()], resource)
    .filter(isFit)
    .slice(0, MOST_SETS_TRIED)) {
    const found = arrangeObject({ ...common, ownership, relations: set })
    if (found.kind === 'object') return [{ resource: resource.name, object: found.object }, ...found.others]
  }
  return undefined
}
