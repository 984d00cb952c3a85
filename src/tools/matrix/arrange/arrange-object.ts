/**
 * Makes an object so that exactly the wanted relations hold. The relations are solved together, field by field, because
 * several may compare one field. If no object is found, the result says whether one can exist. The objects on which its
 * relations rest are made too: parents, members, and the objects that those rest on. Where a relation must not hold, such
 * an object exists too if it can, and lacks the relation.
 */

import { possibleSets } from '../../../analysis/possible-sets.ts'
import { fieldValues, lookUpIn, meets } from '../../../decide/conditions/condition.ts'
import { NO_FACTS, withFacts } from '../../../decide/facts.ts'
import { type Ownership, USERS } from '../../../decide/policy.ts'
import {
  comparedAttributes,
  comparedFields,
  followsFrom,
  holdsForOwnRecord,
  kindOf,
  leavesOf,
  stepOf,
} from '../../../decide/relations/all-kinds.ts'
import { relate } from '../../../decide/relations/ownership.ts'
import { askingAs, type Relation } from '../../../decide/relations/relation-kind.ts'
import { namesText } from '../../../present/quote.ts'
import type { Scalar } from '../../../resources/object.ts'
import type { Field, Json, Representation, Resource, Resources } from '../../../resources/resource.ts'
import { candidateObjects, choicesOf, type FieldChoices, fits, type WantedField } from './field-choice.ts'
import type { Samples, SamplesOf } from './samples.ts'

/** The caller's attributes; a list has several values. */
export type Attributes = Readonly<Record<string, Scalar | readonly Scalar[]>>

export interface WantedObject {
  readonly resource: Resource
  readonly samples: Samples
  readonly ownership: Ownership | undefined
  /** The names of all relations that hold. */
  readonly relations: ReadonlySet<string>
  /** The caller's id and attributes. */
  readonly attributes: Attributes
  /** The time of the request, in milliseconds since the epoch. */
  readonly now: number
  /** The object's id, unless a relation asks for another one. */
  readonly id: string
  /** The id of another caller, who owns the object if the caller must not own it. Absent if any other id will do. */
  readonly somebody?: string
  /** Fields with a given value; undefined means that the object lacks the field. */
  readonly fixed?: ReadonlyMap<string, Json | undefined>
  /** For relations that rest on other objects; without it, no such relation holds. */
  readonly around?: Around
}

/** A caller and an object. */
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

export type ObjectFound =
  | {
      readonly kind: 'object'
      readonly object: Representation
      /** The objects that its relations rest on. */
      readonly others: readonly PlacedObject[]
    }
  | NotFound

/** `impossible`: there can be no such object. `unarranged`: there may be one, but none was found. */
export interface NotFound {
  readonly kind: 'impossible' | 'unarranged'
  readonly why: string
}

export interface PlacedObject {
  readonly resource: string
  readonly object: Representation
}

/** What other objects are made from, and those that exist. */
interface Around {
  readonly resources: Resources
  readonly samplesOf: SamplesOf
  /** Another id each time. */
  newId(): string
  readonly placed: readonly PlacedObject[]
}

/** The leaves of these relations, each once. */
export function leavesIn(ownership: Ownership | undefined): readonly Relation[] {
  return [
    ...new Map([...(ownership?.relations.values() ?? [])].flatMap(leavesOf).map((leaf) => [leaf.name, leaf])).values(),
  ]
}

/** Whether the object's id is the caller's. */
export function isOwn(pair: Pick<WantedPair, 'own' | 'ownership' | 'relations'>): boolean {
  return pair.own || wantedOf(pair).some(holdsForOwnRecord)
}

/** The wanted leaves, which decide all other relations. */
export function wantedOf({ ownership, relations }: Pick<WantedPair, 'ownership' | 'relations'>): readonly Relation[] {
  return leavesIn(ownership).filter(({ name }) => relations.has(name))
}

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
  const world = [...(around?.placed ?? []), ...others, { resource: resource.name, object }]
  return relatesSo({ ownership, attributes, now, world }, object, relations)
}

/** The caller of a cell, and all objects that were made for it. */
export interface Among {
  readonly ownership: Ownership | undefined
  /** Of the caller, with the id; empty without credentials. */
  readonly attributes: Attributes
  /** The time of the request, in milliseconds since the epoch. */
  readonly now: number
  /** All objects that relations may rest on. */
  readonly world: readonly PlacedObject[]
}

/** The names of the relations that hold between the caller and an object. */
export function relationsAmong(
  { ownership, attributes, now, world }: Among,
  object: Representation,
): readonly string[] {
  const steps = [...(ownership?.relations.values() ?? [])].flatMap(leavesOf).filter(stepOf)
  const objectsOf = (resource: string) => world.flatMap((one) => (one.resource === resource ? [one.object] : []))
  const facts = { ...NO_FACTS, lookup: lookUpIn(objectsOf) }
  return withFacts(relate({ ownership, asking: askingAs(attributes, now), steps }, object), facts).names
}

/** Whether these relations hold, and no others. */
export function relatesSo(among: Among, object: Representation, relations: ReadonlySet<string>): boolean {
  const holding = relationsAmong(among, object)
  return holding.length === relations.size && holding.every((one) => relations.has(one))
}

/** Ids in the form of the server's, which differ from this one in their last digits. */
export function idSeries(id: string): () => string {
  let count = 0x1000
  return () => `${id.slice(0, -4)}${(count++).toString(16).padStart(4, '0')}`
}

/** How many sets of relations are tried for one other object. */
const MOST_SETS_TRIED = 8

/**
 * Undefined if they can't be made; it isn't checked whether they make other relations hold.
 */
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

type Asked = WantedObject & { readonly around: Around }

/** The relations that an object must and must not have. */
interface Demand {
  readonly must: readonly Relation[]
  readonly mustNot: readonly Relation[]
}

function placeGroup(asked: Asked, object: Representation, group: Group): readonly PlacedObject[] | undefined {
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
function placeChain(asked: Asked, resource: Resource, group: Group, id: string): readonly PlacedObject[] | undefined {
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
  asked: Asked,
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
  { attributes, now, somebody, around }: Asked,
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
