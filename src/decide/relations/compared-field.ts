/**
 * A field that a relation compares with values: whether it can be compared, the values that fit, and its description
 * for people.
 */
import { oneOf } from '../../base/did-you-mean.ts'
import { quote } from '../../present/quote.ts'
import type { Scalar } from '../../resources/object.ts'
import type { Field, Json, Representation } from '../../resources/resource.ts'
import { isComparable } from '../conditions/condition.ts'
import type { AcceptedValues, Declaration, KnownFacts } from './relation-kind.ts'

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
  const telling = values.filter(isComparable)
  return { field, telling, complete: true, accepts: (value) => telling.some((one) => one === value) }
}

/** Whether a field with this value, or with this list of values, makes the relation hold. */
export function acceptsField({ accepts }: AcceptedValues, value: Json | undefined): boolean {
  if (value === undefined) return false
  return Array.isArray(value) ? value.some(accepts) : accepts(value)
}

export function isTold({ fields, complete }: KnownFacts['object'], field: string): boolean {
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
