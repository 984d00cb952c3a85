/** The values that a condition compares: records mask them, and a replay reads them back from a file. */

import { isObject } from '../../base/is-object.ts'
import type { Scalar } from '../../resources/object.ts'
import type { Condition } from './condition.ts'

/** `resource`: of a related object; undefined for the object itself. */
interface Comparison {
  readonly resource?: string | undefined
  readonly field: string
  readonly value: Scalar
}

/** Every comparison of a field with a value that the condition makes. */
export function comparisonsIn(condition: Condition, resource?: string): readonly Comparison[] {
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
  valueFor: (comparison: Comparison) => Scalar,
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

type Members = Readonly<Record<string, unknown>>

/** Whether a value that was read from a file is a condition. */
export function isCondition(value: unknown): value is Condition {
  return isObject(value) && isKind(value.kind) && FORMS[value.kind](value)
}

const FORMS: Readonly<Record<Condition['kind'], (members: Members) => boolean>> = {
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
