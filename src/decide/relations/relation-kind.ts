/**
 * The interface of a kind of relation, so that no code outside this folder knows the kinds: each kind is a file next to
 * this one, and `all-kinds.ts` lists them. A relation itself is plain data, which can be sent between threads.
 */
import type { Phrase } from '../../present/phrase.ts'
import type { Scalar } from '../../resources/object.ts'
import type { Json, Representation, Resource } from '../../resources/resource.ts'
import type { Condition } from '../condition.ts'

/** The caller's side of a comparison: `id`, or an attribute; undefined when the caller has none. */
export type AttributeOf = (attribute: string) => Scalar | undefined

/** Whether the caller has an attribute; every caller with credentials has `id`. */
export type Has = (attribute: string) => boolean

interface NamedRelation {
  readonly kind: string
  /** Its name in ownership.yaml, unique for each resource. */
  readonly name: string
}

/** `Form` is how ownership.yaml writes the relation; policy/schemas/ownership.schema.json has checked its shape. */
export interface RelationKind<R extends NamedRelation, Form = unknown> {
  /** Whether a form is of this kind; each form is of exactly one kind. */
  isForm(form: unknown): form is Form
  /** Undefined if there is a fault, which is reported to `declaration.fault`. */
  parse(name: string, form: Form, declaration: Declaration): R | undefined

  /** The fields of the object that the relation looks at. */
  fields(relation: R): readonly string[]
  /** The caller's values that the relation looks at: `id`, attributes, or none. */
  attributes(relation: R): readonly string[]
  /** The field that must equal an attribute; absent for kinds that don't compare a field with an attribute. */
  equates?(relation: R): Equation
  /**
   * The values of one field that make the relation hold, if the value and the caller alone decide it; absent for kinds
   * that look at more.
   */
  accepted?(relation: R, attributeOf: AttributeOf): AcceptedValues

  /**
   * The object (stored or proposed) that the second decision about a write looks at (semantics.md, "replace, update").
   */
  readonly onResultOfWrite: 'proposed' | 'stored'
  /** Whether it holds for an object. */
  holds(relation: R, attributeOf: AttributeOf, object: Representation): boolean
  /** The objects for which it holds, for SQL. */
  condition(relation: R, attributeOf: AttributeOf): Condition
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
  /**
   * Forms that somebody could have written by mistake. `valuesOf` returns the values of a field, if the schema lists
   * them.
   */
  mistakes(relation: R, resource: Resource, valuesOf: (field: string) => readonly Scalar[]): readonly unknown[]
}

/** The declaration of a relation. */
export interface Declaration {
  readonly resource: Resource
  /** `path` is within the relation's form. */
  fault(path: readonly (string | number)[], code: string, message: string, hint?: string): void
}

interface Equation {
  readonly field: string
  readonly attribute: string
}

/** The values of one field that make a relation hold; for a list, one such member is enough. */
export interface AcceptedValues {
  readonly field: string
  accepts(value: Json): boolean
  /**
   * Values that show how relations of one field overlap: for each value that makes some relations hold, one of these
   * values makes the same relations hold. The likeliest first.
   */
  readonly telling: readonly Scalar[]
  /** Whether `telling` contains every accepted value. */
  readonly complete: boolean
}

/** The known facts about a caller and an object, for explaining a relation. */
export interface KnownFacts {
  readonly hasCredentials: boolean
  /** A value is undefined if the caller doesn't have it, or if it isn't known. */
  attribute(name: string): { readonly value: Scalar | undefined; readonly isKnown: boolean }
  /** Fields of the object: all of them, or some, or none. */
  readonly object: { readonly fields: Representation; readonly complete: boolean }
  /** The object is the caller's own record, whoever that is. */
  readonly isOwnRecord: boolean
}

export interface RelationReason {
  /** Null if it isn't known. */
  readonly holds: boolean | null
  readonly why: string
}
