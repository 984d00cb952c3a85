/**
 * Conditions over objects, and their meaning in plain code. simplify-condition.ts gives a condition its simplest form,
 * which engines translate.
 */

import { instantOf } from '../../base/instant.ts'
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
export type LookUp = (lookup: Lookup) => boolean

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
export function has(object: Representation, field: string, wanted: Scalar): boolean {
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
