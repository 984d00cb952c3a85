/**
 * The interface of a kind of relation, so that no code outside this folder knows the kinds: each kind is a file next to
 * this one, and `all-kinds.ts` lists them. A relation itself is plain data, which can be sent between threads.
 */

import { oneOf } from '../../base/did-you-mean.ts'
import type { Path } from '../../base/json-pointer.ts'
import type { Phrase } from '../../present/phrase.ts'
import { quote } from '../../present/quote.ts'
import { isScalar, type Scalar } from '../../resources/object.ts'
import type { Field, Json, Representation, Resource, Resources } from '../../resources/resource.ts'
import { type Condition, isComparable } from '../conditions/condition.ts'

/** The caller's side of a comparison: `id`, or an attribute; no value when the caller has none. */
export type CallerValues = (attribute: string) => readonly Scalar[]

/** Whether the caller has an attribute; every caller with credentials has `id`. */
export type Has = (attribute: string) => boolean

/** What a relation depends on besides the object. */
export interface CallerAndTime {
  readonly valuesOf: CallerValues
  /** The time of the request, in milliseconds since the epoch. */
  readonly now: number
}

/** What a caller with these attributes (`id` included) compares objects with; `now` in milliseconds since the epoch. */
export function askingAs(attributes: Readonly<Record<string, unknown>>, now: number): CallerAndTime {
  const valuesOf = (name: string) => (Object.hasOwn(attributes, name) ? scalarsOf(attributes[name]) : [])
  return { valuesOf, now }
}

/** The values of an attribute: one, those of a list, or none. */
export function scalarsOf(value: unknown): readonly Scalar[] {
  return (Array.isArray(value) ? value : [value]).filter(isScalar)
}

/** How a caller relates to an object. Only its kind knows its other members. */
export interface Relation {
  readonly kind: string
  /** Its name in ownership.yaml, unique for each resource. */
  readonly name: string
}

/** Gives kinds that rest on other relations the kinds of those. */
export type KindOf = (relation: Relation) => RelationKind<Relation>

/** `Form` is how ownership.yaml writes the relation; policy/schemas/ownership.schema.json has checked its shape. */
export interface RelationKind<R extends Relation, Form = unknown> {
  /** Whether a form is of this kind; each form is of exactly one kind. */
  isForm(form: unknown): form is Form
  /** Undefined if there is a fault, which is reported to `declaration.fault`. */
  parse(name: string, form: Form, declaration: Declaration): R | undefined

  /** The fields of the object itself that the relation looks at. */
  fields(relation: R): readonly string[]
  /** The caller's values that the relation looks at, also through other objects: `id`, attributes, or none. */
  attributes(relation: R): readonly string[]
  /** The field that must have an attribute's value; absent for kinds that don't compare a field with an attribute. */
  equates?(relation: R): Equation
  /**
   * The values of one field that make the relation hold, if the value and the caller alone decide it; absent for kinds
   * that look at more.
   */
  accepted?(relation: R, asking: CallerAndTime): AcceptedValues
  /** The relations of the same object that this one consists of; absent for kinds that stand for themselves. */
  parts?(relation: R): RelationParts
  /** The relation of other objects on which this one rests; absent for kinds that look at the object alone. */
  step?(relation: R): RelationStep

  /** Whether it depends on the time of the request. */
  isTimed?(relation: R): boolean
  /** The object (stored or proposed) that the left side of a rule looks at on the result of a write. */
  readonly onResultOfWrite: 'proposed' | 'stored'
  /** The objects for which it holds: for a list's SQL, and for one object. */
  condition(relation: R, asking: CallerAndTime): Condition
  /** Whether it could hold for some object and a caller with these attributes. */
  couldHold(relation: R, has: Has): boolean

  /** The condition in words: `customerId is the caller`. */
  describe(relation: R): string
  /** The same in short, in the terms of ownership.yaml: `department = subject.department`. */
  define(relation: R): Phrase
  /** Whether it holds, as far as that is known, and why. */
  explain(relation: R, known: KnownFacts): RelationReason

  /** A text that is equal for relations that hold for the same callers and objects, whatever their names. */
  meaning(relation: R): string
  /** Whether a relation of this kind holds for `more` objects than another, or for `fewer`; undefined if unknown. */
  reach(before: R, after: R): 'more' | 'fewer' | undefined
  /** Forms that somebody could have written by mistake. */
  mistakes(relation: R, resource: Resource, known: KnownNames): readonly unknown[]
}

/** What mistakes can be made with. */
interface KnownNames {
  /** The values of a field, if the schema lists them. */
  valuesOf(field: string): readonly Scalar[]
  /** The other relations of a resource. */
  relationsOf(resource: string): Iterable<Relation>
}

/** The declaration of a relation. */
export interface Declaration {
  readonly resource: Resource
  readonly resources: Resources
  /** A relation of this or another resource; undefined, and reported, if there is no such relation. */
  relationOf(resource: string, name: string, path: Path): Relation | undefined
  /** `path` is within the relation's form. */
  fault(path: Path, code: string, message: string, hint?: string): void
}

interface Equation {
  readonly field: string
  readonly attribute: string
  /** Whether a new object gets the caller's value, if its body doesn't name the field. */
  readonly fill: boolean
}

export interface RelationParts {
  /** Whether all of them must hold, or one. */
  readonly need: 'all' | 'any'
  readonly of: readonly Relation[]
}

export interface RelationStep {
  readonly resource: string
  /** The field of the other objects that is compared. */
  readonly by: string
  readonly relation: Relation
  /** For a climb, the most steps. */
  readonly depth?: number
}

/** The values of one field that make a relation hold; for a list, one such member is enough. */
export interface AcceptedValues {
  readonly field: string
  accepts(value: Json): boolean
  /**
   * Values that show how relations of one field overlap: for each value that makes some relations hold, one of these
   * values makes the same relations hold. The likeliest first.
   */
  readonly distinguishing: readonly Scalar[]
  /** Whether `distinguishing` contains every accepted value. */
  readonly complete: boolean
}

/** The known facts about a caller and an object, for explaining a relation. */
export interface KnownFacts {
  readonly hasCredentials: boolean
  readonly now: number
  /** No value if the caller doesn't have it, or if it isn't known. */
  attribute(name: string): { readonly values: readonly Scalar[]; readonly isKnown: boolean }
  /** Fields of the object: all of them, or some, or none. */
  readonly object: { readonly fields: Representation; readonly complete: boolean }
  /** The object is the caller's own record, whoever that is. */
  readonly isOwnRecord: boolean
  /** The objects of a resource whose field has one of these values; undefined if they aren't known. */
  related(resource: string, by: string, values: readonly Scalar[]): readonly Representation[] | undefined
}

export interface RelationReason {
  /** Null if it isn't known. */
  readonly holds: boolean | null
  readonly why: string
  /** The other objects on which it rests, in the order of the steps: `projects/7`, `memberships/42`. */
  readonly via?: readonly string[]
}

export const WITHOUT_CREDENTIALS: RelationReason = { holds: false, why: 'nobody is known without credentials' }

// A field that a relation compares with values: whether it can be compared, the values that fit, and its description
// for people.

/** Undefined, and reported to `fault`, for a field that the resource doesn't have or whose values can't be compared. */
export function comparedField(name: string, { resource, fault }: Declaration): Field | undefined {
  const field = resource.fields.get(name)
  if (!field) {
    fault([], 'unknown-field', `\`${resource.name}\` has no field \`${name}\``, oneOf(name, resource.fields.keys()))
    return undefined
  }
  if (field.type !== 'other') return field
  const hint = 'its schema type must be string, number, integer or boolean, or a list of these'
  fault([], 'incomparable-field', `the field \`${name}\` can't be compared`, hint)
  return undefined
}

/** Exactly these values. */
export function exactly(field: string, values: readonly Scalar[]): AcceptedValues {
  const distinguishing = values.filter(isComparable)
  return {
    field,
    distinguishing,
    complete: true,
    accepts: (value) => distinguishing.some((one) => one === value),
  }
}

/** Whether a field with this value, or with this list of values, makes the relation hold. */
export function acceptsField({ accepts }: AcceptedValues, value: Json | undefined): boolean {
  if (value === undefined) return false
  return Array.isArray(value) ? value.some(accepts) : accepts(value)
}

export function isFieldKnown({ fields, complete }: KnownFacts['object'], field: string): boolean {
  return complete || Object.hasOwn(fields, field)
}

export function fieldOf(object: Representation, field: string): Json | undefined {
  return Object.hasOwn(object, field) ? object[field] : undefined
}

/** `status is draft`, `tags has a, b`. */
export function fieldText(object: Representation, field: string): string {
  const value = fieldOf(object, field)
  return `${field} ${Array.isArray(value) ? 'has' : 'is'} ${valueText(value)}`
}

function valueText(value: Json | undefined): string {
  if (value === undefined || value === null) return 'absent'
  if (Array.isArray(value)) return value.length === 0 ? 'nothing' : value.slice(0, 3).map(quote).join(', ')
  return quote(value)
}
