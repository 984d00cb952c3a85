/** Plain data: fields, the values that they hold, equality, and the subsets of a few names. */
import type { Json, Plain } from '../world.ts'

export function own(object: Plain, field: string): Json | undefined {
  return Object.hasOwn(object, field) ? object[field] : undefined
}

/** A scalar has itself, a list its scalars. What is absent, null, or nested has no value. */
function valuesOf(value: Json | undefined): readonly Json[] {
  if (value === undefined) return []
  const members: readonly Json[] = isList(value) ? value : [value]
  return members.filter((member) => ['string', 'number', 'boolean'].includes(typeof member))
}

export function valuesIn(object: Plain, field: string): readonly Json[] {
  return valuesOf(own(object, field))
}

export function sameJson(a: Json | undefined, b: Json | undefined): boolean {
  if (isList(a) && isList(b)) return a.length === b.length && a.every((item, i) => sameJson(item, b[i]))
  if (!isObject(a) || !isObject(b)) return a === b
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && sameJson(a[key], b[key]))
}

export function isObject(value: Json | undefined): value is Plain {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value)
}

/** In the order of the names: those without the first name, and with it. */
export function subsets(names: readonly string[]): readonly ReadonlySet<string>[] {
  const [first, ...rest] = names
  if (first === undefined) return [new Set()]
  return subsets(rest).flatMap((set) => [set, new Set([first, ...set])])
}
