/**
 * What a kind of relation tells about its relations, so that nothing outside of this folder knows the kinds: each is one
 * file beside this one, and `all-kinds.ts` lists them. A relation itself is plain data, which can go from thread to thread.
 */
import type { Phrase } from '../../present/phrase.ts'
import type { Scalar } from '../../resources/object.ts'
import type { Json, Representation, Resource } from '../../resources/resource.ts'
import type { Condition } from '../condition.ts'

/** The caller's side of a comparison: `id`, or an attribute; undefined when the caller has none. */
export type AttributeOf = (attribute: string) => Scalar | undefined

/** Whether the caller has an attribute; `id` is what a caller with credentials has. */
export type Has = (attribute: string) => boolean

interface NamedRelation {
  readonly kind: string
  /** As ownership.yaml calls it, once for each resource. */
  readonly name: string
}

/** `Form` is how ownership.yaml writes the relation; policy/schemas/ownership.schema.json has checked its shape. */
export interface RelationKind<R extends NamedRelation, Form = unknown> {
  /** Whether a form is of this kind: each is of one. */
  isForm(form: unknown): form is Form
  /** Undefined where something is wrong, which `declaration.fault` is told. */
  parse(name: string, form: Form, declaration: Declaration): R | undefined

  /** The fields of the object that it looks at. */
  fields(relation: R): readonly string[]
  /** What it looks at of the caller: `id`, attributes, or nothing. */
  attributes(relation: R): readonly string[]
  /** The field that it wants to be equal to an attribute; absent for kinds that don't compare so. */
  equates?(relation: R): Equation
  /** What it accepts as a field's value, told from that value and the caller alone; absent for kinds that look elsewhere too. */
  accepted?(relation: R, attributeOf: AttributeOf): AcceptedValues

  /** Which object a second decision looks at, when a write would change it (semantics.md, "replace, update"). */
  readonly onResultOfWrite: 'proposed' | 'stored'
  /** Whether it holds for an object. */
  holds(relation: R, attributeOf: AttributeOf, object: Representation): boolean
  /** The objects for which it holds, for SQL. */
  condition(relation: R, attributeOf: AttributeOf): Condition
  /** Whether it could hold for some object and a caller with these attributes. */
  couldHold(relation: R, has: Has): boolean

  /** What must be so for it to hold: `customerId is the caller`. */
  describe(relation: R): string
  /** The same as ownership.yaml has it, in a few signs: `department = subject.department`. */
  define(relation: R): Phrase
  /** Whether it holds, as far as that is known, and why. */
  explain(relation: R, known: KnownFacts): RelationReason

  /** The same text for relations that hold for the same callers and objects, whatever they are called. */
  meaning(relation: R): string
  /** Whether one of this kind holds for `more` objects than another, or for `fewer`; undefined where neither is known. */
  reach(before: R, after: R): 'more' | 'fewer' | undefined
  /** Forms that somebody could have written by mistake. `valuesOf` are values of a field, as far as the schema lists them. */
  mistakes(relation: R, resource: Resource, valuesOf: (field: string) => readonly Scalar[]): readonly unknown[]
}

/** Where a relation is declared. */
export interface Declaration {
  readonly resource: Resource
  /** `path` is within the relation's form. */
  fault(path: readonly (string | number)[], code: string, message: string, hint?: string): void
}

interface Equation {
  readonly field: string
  readonly attribute: string
}

/** The values with which one field makes a relation hold; of a list, one member is enough. */
export interface AcceptedValues {
  readonly field: string
  accepts(value: Json): boolean
  /**
   * Values that show how relations of one field overlap: whatever relations some value makes hold, one of these makes hold
   * as well, unless it is none at all. The likeliest first.
   */
  readonly telling: readonly Scalar[]
  /** Whether nothing is accepted that isn't among `telling`. */
  readonly complete: boolean
}

/** What is known of a caller and an object, when a relation is explained. */
export interface KnownFacts {
  readonly hasCredentials: boolean
  /** A value is undefined where the caller doesn't have it, or where it isn't known. */
  attribute(name: string): { readonly value: Scalar | undefined; readonly isKnown: boolean }
  /** Fields of the object: all of them, or some, or none. */
  readonly object: { readonly fields: Representation; readonly complete: boolean }
  /** The object is the caller's own record, whoever that is. */
  readonly isOwnRecord: boolean
}

export interface RelationReason {
  /** Null where it isn't known. */
  readonly holds: boolean | null
  readonly why: string
}
