/**
 * Conditions over objects, and their meaning in plain code. simplify-condition.ts gives a condition its simplest form,
 * which engines translate.
 */

import { isObject } from '../../base/is-object.ts'
import { instantOf } from '../../base/time.ts'
import { isScalar, type Scalar } from '../../resources/object.ts'
import type { Representation } from '../../resources/resource.ts'

/**
 * A predicate over an object. A field that is a list fits when one of its members does. A missing or null field, a
 * nested list and an object have no value: they hold nothing, so `not` of it is true (SQL: `IS NOT TRUE`).
 */
export type Condition =
  | { readonly kind: 'always' }
  | { readonly kind: 'never' }
  | Holds
  | Present
  | Between
  | Time
  | Related
  | Climb
  | { readonly kind: 'all'; readonly of: readonly Condition[] }
  | { readonly kind: 'some'; readonly of: readonly Condition[] }
  | { readonly kind: 'not'; readonly of: Condition }

/** The field is one of these values. */
export interface Holds {
  readonly kind: 'holds'
  readonly field: string
  readonly values: readonly Scalar[]
}

/** The field has a value. */
export interface Present {
  readonly kind: 'present'
  readonly field: string
}

/** The field is a number between the bounds, both included. */
export interface Between {
  readonly kind: 'between'
  readonly field: string
  readonly atLeast?: number
  readonly atMost?: number
}

/**
 * The field is an RFC 3339 date-time strictly after and strictly before these instants, in milliseconds since the
 * epoch.
 */
export interface Time {
  readonly kind: 'time'
  readonly field: string
  readonly after?: number
  readonly before?: number
}

/**
 * Some object of `resource` whose field `by` has a value in common with this object's `field` meets `where`. Both
 * fields may be lists.
 */
export interface Related {
  readonly kind: 'related'
  readonly field: string
  readonly resource: string
  readonly by: string
  readonly where: Condition
}

/** Some object of the same resource that this object reaches by 1 to `depth` steps of `field` (to `id`) meets `where`. */
export interface Climb {
  readonly kind: 'climb'
  readonly field: string
  readonly resource: string
  readonly depth: number
  readonly where: Condition
}

/**
 * A question about stored objects: whether some object of `resource` whose field `by` has one of these values meets
 * `where`. With `climb`, an object that it reaches by at most `climb.depth - 1` steps of `climb.field` (to `id`) counts
 * too.
 */
export interface Lookup {
  readonly resource: string
  readonly by: string
  readonly values: readonly Scalar[]
  readonly climb?: { readonly field: string; readonly depth: number }
  readonly where: Condition
}

/** Answers questions about stored objects. */
type LookUp = (lookup: Lookup) => boolean

/** The fields outside the document; an engine keeps each in its own column. All are strings. */
export const SERVER_FIELDS: ReadonlySet<string> = new Set(['id', 'createdAt', 'updatedAt'])

/**
 * Whether the condition holds for the object. Types are strict: `'1'` isn't `1`, `true` isn't `1`. Text that isn't
 * well-formed Unicode equals nothing: databases can't compare it. `related` answers `related` and `climb` conditions.
 */
export function meets(condition: Condition, object: Representation, related: LookUp = refuseLookup): boolean {
  switch (condition.kind) {
    case 'always':
      return true
    case 'never':
      return false
    case 'holds':
      return condition.values.some((wanted) => has(object, condition.field, wanted))
    case 'present':
      return fieldValues(object, condition.field).length > 0
    case 'between':
      return fieldValues(object, condition.field).some((value) => liesBetween(condition, value))
    case 'time':
      return fieldValues(object, condition.field).some((value) => liesInTime(condition, value))
    case 'related':
    case 'climb': {
      const lookup = lookupOf(condition, object)
      return lookup !== undefined && related(lookup)
    }
    case 'all':
      return condition.of.every((part) => meets(part, object, related))
    case 'some':
      return condition.of.some((part) => meets(part, object, related))
    case 'not':
      return !meets(condition.of, object, related)
  }
}

function refuseLookup(): never {
  throw new Error('a condition asks for related objects, and its caller has none')
}

/** Whether the field's value is this one, or is a list that has it. */
function has(object: Representation, field: string, wanted: Scalar): boolean {
  if (!isComparable(wanted) || !Object.hasOwn(object, field)) return false
  const value = object[field]
  return Array.isArray(value) ? value.includes(wanted) : value === wanted
}

/** What the condition asks for this object; undefined if the object's field has no value, so the condition fails. */
export function lookupOf(condition: Related | Climb, object: Representation): Lookup | undefined {
  const { resource, where, field } = condition
  const values = [...new Set(fieldValues(object, field).filter(isComparable))]
  if (values.length === 0) return undefined
  if (condition.kind === 'related') return { resource, by: condition.by, values, where }
  return { resource, by: 'id', values, climb: { field, depth: condition.depth }, where }
}

export function isComparable(value: Scalar): boolean {
  return typeof value === 'string' ? value.isWellFormed() : typeof value !== 'number' || Number.isFinite(value)
}

/** The values of a field: one, those of a list, or none. */
export function fieldValues(object: Representation, field: string): readonly Scalar[] {
  const value = Object.hasOwn(object, field) ? object[field] : undefined
  return Array.isArray(value) ? value.filter(isScalar) : isScalar(value) ? [value] : []
}

function liesBetween({ atLeast = -Infinity, atMost = Infinity }: Between, value: Scalar): boolean {
  return typeof value === 'number' && value >= atLeast && value <= atMost
}

function liesInTime({ after = -Infinity, before = Infinity }: Time, value: Scalar): boolean {
  const text = typeof value === 'string' ? instantOf(value) : undefined
  if (text === undefined) return false
  const instant = Date.parse(text)
  return instant > after && instant < before
}

// Questions about stored objects: answers from objects in memory (src/store/sqlite/query/ does the same in SQL).

/** `objectsOf`: all objects of a resource. */
export function lookUpIn(objectsOf: (resource: string) => Iterable<Representation>): LookUp {
  const lookUp: LookUp = (lookup) => {
    return foundBy(lookup, [...objectsOf(lookup.resource)]).some((object) => meets(lookup.where, object, lookUp))
  }
  return lookUp
}

/** Each object once, so that a circle ends. */
function foundBy({ by, values, climb }: Lookup, objects: readonly Representation[]): readonly Representation[] {
  const found = new Set(objects.filter((object) => values.some((value) => has(object, by, value))))
  if (!climb) return [...found]
  let last = [...found]
  for (let step = 1; step < climb.depth && last.length > 0; step += 1) {
    last = objects.filter(({ id }) => typeof id === 'string' && last.some((below) => has(below, climb.field, id)))
    last = last.filter((object) => !found.has(object))
    for (const object of last) found.add(object)
  }
  return [...found]
}

/** Whether the answer may depend on the objects of this resource. */
export function looksAt({ resource, where }: Pick<Lookup, 'resource' | 'where'>, sought: string): boolean {
  return resource === sought || isAbout(where, sought)
}

function isAbout(condition: Condition, sought: string): boolean {
  switch (condition.kind) {
    case 'related':
    case 'climb':
      return looksAt(condition, sought)
    case 'all':
    case 'some':
      return condition.of.some((part) => isAbout(part, sought))
    case 'not':
      return isAbout(condition.of, sought)
    default:
      return false
  }
}

// The values that a condition compares: records mask them, and a replay reads them back from a file.

/** `resource`: of a related object; undefined for the object itself. */
interface FieldComparison {
  readonly resource?: string | undefined
  readonly field: string
  readonly value: Scalar
}

/** Every comparison of a field with a value that the condition makes. */
export function comparisonsIn(condition: Condition, resource?: string): readonly FieldComparison[] {
  switch (condition.kind) {
    case 'holds':
      return condition.values.map((value) => ({ resource, field: condition.field, value }))
    case 'related':
    case 'climb':
      return comparisonsIn(condition.where, condition.resource)
    case 'all':
    case 'some':
      return condition.of.flatMap((part) => comparisonsIn(part, resource))
    case 'not':
      return comparisonsIn(condition.of, resource)
    default:
      return []
  }
}

/** The same condition with other values to compare. */
export function withValues(
  condition: Condition,
  valueFor: (comparison: FieldComparison) => Scalar,
  resource?: string,
): Condition {
  switch (condition.kind) {
    case 'holds': {
      const values = condition.values.map((value) => valueFor({ resource, field: condition.field, value }))
      return { ...condition, values }
    }
    case 'related':
    case 'climb':
      return { ...condition, where: withValues(condition.where, valueFor, condition.resource) }
    case 'all':
    case 'some':
      return { ...condition, of: condition.of.map((part) => withValues(part, valueFor, resource)) }
    case 'not':
      return { ...condition, of: withValues(condition.of, valueFor, resource) }
    default:
      return condition
  }
}

type ConditionMembers = Readonly<Record<string, unknown>>

/** Whether a value that was read from a file is a condition. */
export function isCondition(value: unknown): value is Condition {
  return isObject(value) && isKind(value.kind) && FORMS[value.kind](value)
}

const FORMS: Readonly<Record<Condition['kind'], (members: ConditionMembers) => boolean>> = {
  always: () => true,
  never: () => true,
  holds: (one) => areTexts(one.field) && Array.isArray(one.values),
  present: (one) => areTexts(one.field),
  between: (one) => areTexts(one.field) && areNumbersIfAny(one.atLeast, one.atMost),
  time: (one) => areTexts(one.field) && areNumbersIfAny(one.after, one.before),
  related: (one) => areTexts(one.field, one.resource, one.by) && isCondition(one.where),
  climb: (one) => areTexts(one.field, one.resource) && typeof one.depth === 'number' && isCondition(one.where),
  all: (one) => areConditions(one.of),
  some: (one) => areConditions(one.of),
  not: (one) => isCondition(one.of),
}

function isKind(kind: unknown): kind is Condition['kind'] {
  return typeof kind === 'string' && Object.hasOwn(FORMS, kind)
}

function areTexts(...values: readonly unknown[]): boolean {
  return values.every((value) => typeof value === 'string')
}

function areNumbersIfAny(...values: readonly unknown[]): boolean {
  return values.every((value) => value === undefined || typeof value === 'number')
}

function areConditions(values: unknown): boolean {
  return Array.isArray(values) && values.every(isCondition)
}
