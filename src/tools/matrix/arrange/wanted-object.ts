/** What an arranged object must be, and what was found. */
import type { Ownership } from '../../../decide/policy.ts'
import { holdsForOwnRecord, leavesOf } from '../../../decide/relations/all-kinds.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'
import type { Scalar } from '../../../resources/object.ts'
import type { Json, Representation, Resource, Resources } from '../../../resources/resource.ts'
import type { Samples, SamplesOf } from './values/samples.ts'

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
export interface Around {
  readonly resources: Resources
  readonly samplesOf: SamplesOf
  /** Another id each time. */
  newId(): string
  readonly placed: readonly PlacedObject[]
}

/** Makes an object so that exactly the wanted relations hold. */
export type ArrangeObject = (wanted: WantedObject) => ObjectFound

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
