/** The simplest form of a condition with the same meaning. Engines translate it, and equal forms share a statement. */

import type { Scalar } from '../../resources/object.ts'
import {
  type Between,
  type Climb,
  type Condition,
  type Holds,
  isComparable,
  type Related,
  SERVER_FIELDS,
  type Time,
} from './condition.ts'

const ALWAYS: Condition = { kind: 'always' }
const NEVER: Condition = { kind: 'never' }

/**
 * The same condition in its simplest form: `always` and `never` stand alone or not at all, nothing is nested without
 * need, a part common to all alternatives appears once (so that an index can answer it), and each `holds` has at least
 * one value, all distinct and comparable. Bounds that exclude each other are `never`, and so is a related object that
 * nothing can be.
 */
export function simplify(condition: Condition): Condition {
  switch (condition.kind) {
    case 'always':
    case 'never':
      return condition
    case 'present':
      return condition
    case 'holds':
      return simplifyHolds(condition)
    case 'between':
      return canLieBetween(condition) ? condition : NEVER
    case 'time':
      return canLieInTime(condition) ? condition : NEVER
    case 'related':
    case 'climb':
      return simplifyRelated(condition)
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

/** The server's fields are texts. */
function canLieBetween({ field, atLeast = -Infinity, atMost = Infinity }: Between): boolean {
  return !SERVER_FIELDS.has(field) && atLeast <= atMost
}

/** Instants are whole milliseconds, and both bounds are strict. */
function canLieInTime({ after = -Infinity, before = Infinity }: Time): boolean {
  return Math.floor(after) + 1 < Math.ceil(before)
}

function simplifyRelated(condition: Related | Climb): Condition {
  const where = simplify(condition.where)
  if (where.kind === 'never' || (condition.kind === 'climb' && condition.depth < 1)) return NEVER
  return { ...condition, where }
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

function isComparableText(value: Scalar): boolean {
  return typeof value === 'string' && value.isWellFormed()
}
