/** Measures the size and the depth of a JSON value, and compares two values. */
import type { Json } from '../../../resources/resource.ts'

interface Measure {
  /** The number of containers around the innermost value; 0 for a scalar. */
  readonly depth: number
  /** The approximate number of characters of its JSON. */
  readonly size: number
}

/** The value is at most as deep as a body may be, so its depth bounds the recursion. */
export function measure(value: Json): Measure {
  if (typeof value !== 'object' || value === null) return { depth: 0, size: String(value).length + 1 }
  const inside = Object.entries(value).map(([name, child]) => ({ ...measure(child), name: name.length }))
  return {
    depth: 1 + inside.reduce((deepest, { depth }) => Math.max(deepest, depth), 0),
    size: 2 + inside.reduce((sum, { size, name }) => sum + size + name, 0),
  }
}

/** RFC 6902 section 4.6: numbers by value (-0 is 0), members in any order. */
export function sameJson(a: Json, b: Json): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const names = Object.keys(a)
  if (names.length !== Object.keys(b).length) return false
  const [left, right] = [a as Members, b as Members]
  return names.every((name) => Object.hasOwn(b, name) && sameJson(left[name] as Json, right[name] as Json))
}

/** An array's elements are members by index here. */
type Members = Readonly<Record<string, Json>>
