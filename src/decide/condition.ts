/** Conditions: their meaning in plain code, and a simplest form with the same meaning, which engines translate. */

import type { Scalar } from '../resources/object.ts'
import type { Representation } from '../resources/resource.ts'

/**
 * A predicate over an object. `holds`: the field's value is one of `values`, or is a list that has one of them; a
 * missing or null field holds nothing, so `not` of it is true (SQL: `IS NOT TRUE`).
 */
export type Condition =
  | { readonly kind: 'always' }
  | { readonly kind: 'never' }
  | { readonly kind: 'holds'; readonly field: string; readonly values: readonly Scalar[] }
  | { readonly kind: 'all'; readonly of: readonly Condition[] }
  | { readonly kind: 'some'; readonly of: readonly Condition[] }
  | { readonly kind: 'not'; readonly of: Condition }

interface Comparison {
  readonly field: string
  readonly value: Scalar
}

type Holds = Extract<Condition, { kind: 'holds' }>

const ALWAYS: Condition = { kind: 'always' }
const NEVER: Condition = { kind: 'never' }

/** The fields outside the document; an engine keeps each in its own column. All are strings. */
export const SERVER_FIELDS: ReadonlySet<string> = new Set(['id', 'createdAt', 'updatedAt'])

/**
 * Whether the condition holds for the object. Types are strict: `'1'` isn't `1`, `true` isn't `1`. Text that isn't
 * well-formed Unicode equals nothing: databases can't compare it.
 */
export function meets(condition: Condition, object: Representation): boolean {
  switch (condition.kind) {
    case 'always':
      return true
    case 'never':
      return false
    case 'holds':
      return holds(condition, object)
    case 'all':
      return condition.of.every((part) => meets(part, object))
    case 'some':
      return condition.of.some((part) => meets(part, object))
    case 'not':
      return !meets(condition.of, object)
  }
}

function holds({ field, values }: Holds, object: Representation): boolean {
  return values.some((wanted) => has(object, field, wanted))
}

/** Whether the field's value is this one, or is a list that has it. */
export function has(object: Representation, field: string, wanted: Scalar): boolean {
  if (!isComparable(wanted) || !Object.hasOwn(object, field)) return false
  const value = object[field]
  return Array.isArray(value) ? value.includes(wanted) : value === wanted
}

/** Every comparison of a field with a value that the condition makes. */
export function comparisonsIn(condition: Condition): readonly Comparison[] {
  switch (condition.kind) {
    case 'always':
    case 'never':
      return []
    case 'holds':
      return condition.values.map((value) => ({ field: condition.field, value }))
    case 'all':
    case 'some':
      return condition.of.flatMap(comparisonsIn)
    case 'not':
      return comparisonsIn(condition.of)
  }
}

/** The same condition with other values to compare. */
export function withValues(condition: Condition, valueFor: (comparison: Comparison) => Scalar): Condition {
  switch (condition.kind) {
    case 'always':
    case 'never':
      return condition
    case 'holds':
      return { ...condition, values: condition.values.map((value) => valueFor({ field: condition.field, value })) }
    case 'all':
    case 'some':
      return { ...condition, of: condition.of.map((part) => withValues(part, valueFor)) }
    case 'not':
      return { ...condition, of: withValues(condition.of, valueFor) }
  }
}

/** Whether a value that was read from a file is a condition. */
export function isCondition(value: unknown): value is Condition {
  if (typeof value !== 'object' || value === null) return false
  const { kind, field, values, of } = value as Readonly<Record<string, unknown>>
  if (kind === 'always' || kind === 'never') return true
  if (kind === 'holds') return typeof field === 'string' && Array.isArray(values)
  if (kind === 'not') return isCondition(of)
  return (kind === 'all' || kind === 'some') && Array.isArray(of) && of.every(isCondition)
}

/**
 * The same condition in its simplest form: `always` and `never` stand alone or not at all, nothing is nested without
 * need, a part common to all alternatives appears once (so that an index can answer it), and each `holds` has at least
 * one value, all distinct and comparable.
 */
export function simplify(condition: Condition): Condition {
  switch (condition.kind) {
    case 'always':
    case 'never':
      return condition
    case 'holds':
      return simplifyHolds(condition)
    case 'all':
      return allOf(condition.of.map(simplify))
    case 'some':
      return someOf(condition.of.map(simplify))
    case 'not':
      return notOf(simplify(condition.of))
  }
}

function simplifyHolds({ kind, field, values }: Holds): Condition {
  const fits = SERVER_FIELDS.has(field) ? isComparableText : isComparable
  const distinct = [...new Set(values.filter(fits))]
  return distinct.length === 0 ? NEVER : { kind, field, values: distinct }
}

function allOf(parts: readonly Condition[]): Condition {
  const of = distinctOf(parts.flatMap((part) => (part.kind === 'all' ? part.of : [part])))
  if (of.some((part) => part.kind === 'never')) return NEVER
  const needed = of.filter((part) => part.kind !== 'always')
  return alone(needed) ?? (needed.length === 0 ? ALWAYS : { kind: 'all', of: needed })
}

function someOf(parts: readonly Condition[]): Condition {
  const of = distinctOf(parts.flatMap((part) => (part.kind === 'some' ? part.of : [part])))
  if (of.some((part) => part.kind === 'always')) return ALWAYS
  const possible = mergeHolds(of.filter((part) => part.kind !== 'never'))
  if (possible.length === 0) return NEVER
  return alone(possible) ?? factor(possible)
}

function notOf(part: Condition): Condition {
  if (part.kind === 'always') return NEVER
  if (part.kind === 'never') return ALWAYS
  return part.kind === 'not' ? part.of : { kind: 'not', of: part }
}

/** `(a and b) or (a and c)` is `a and (b or c)`; `a or (a and b)` is `a`. */
function factor(alternatives: readonly Condition[]): Condition {
  const conjuncts = alternatives.map((part) => new Map((part.kind === 'all' ? part.of : [part]).map(keyed)))
  const [first = new Map<string, Condition>(), ...others] = conjuncts
  const common = [...first].filter(([key]) => others.every((other) => other.has(key)))
  if (common.length === 0) return { kind: 'some', of: alternatives }
  for (const [key] of common) for (const conjunct of conjuncts) conjunct.delete(key)
  return allOf([...common.map(([, part]) => part), someOf(conjuncts.map((rest) => allOf([...rest.values()])))])
}

/** Merges alternatives about one field into one `holds`. */
function mergeHolds(parts: readonly Condition[]): readonly Condition[] {
  const byField = Map.groupBy(parts.filter(isHolds), (part) => part.field)
  const merged = [...byField].map(([field, same]): Condition => {
    return simplifyHolds({ kind: 'holds', field, values: same.flatMap((part) => part.values) })
  })
  return [...merged, ...parts.filter((part) => !isHolds(part))]
}

function alone(parts: readonly Condition[]): Condition | undefined {
  return parts.length === 1 ? parts[0] : undefined
}

function distinctOf(parts: readonly Condition[]): readonly Condition[] {
  return [...new Map(parts.map(keyed)).values()]
}

function keyed(part: Condition): [string, Condition] {
  return [JSON.stringify(part), part]
}

function isHolds(part: Condition): part is Holds {
  return part.kind === 'holds'
}

export function isComparable(value: Scalar): boolean {
  return typeof value === 'string' ? value.isWellFormed() : typeof value !== 'number' || Number.isFinite(value)
}

function isComparableText(value: Scalar): boolean {
  return typeof value === 'string' && value.isWellFormed()
}
