/** What an arranged object must be, what was found, and whether what was made relates to the caller as wanted. */
import { lookUpIn } from '../../../decide/conditions/condition.ts'
import { NO_FACTS, withFacts } from '../../../decide/facts.ts'
import type { Ownership } from '../../../decide/policy.ts'
import { holdsForOwnRecord, leavesOf, stepOf } from '../../../decide/relations/all-kinds.ts'
import { relate } from '../../../decide/relations/ownership.ts'
import { askingAs, type Relation } from '../../../decide/relations/relation-kind.ts'
import { namesText } from '../../../present/quote.ts'
import type { Scalar } from '../../../resources/object.ts'
import type { Json, Representation, Resource, Resources } from '../../../resources/resource.ts'
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
  readonly around?: ObjectSources
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
export interface ObjectSources {
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
