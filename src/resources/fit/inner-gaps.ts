/** Gaps inside a value: the members of objects and the items of lists. */
import { isDeepStrictEqual } from 'node:util'
import { isObject } from '../../base/is-object.ts'
import type { Json } from '../resource.ts'
import { type Comparing, type Example, type Gap, gapFor, takeWith } from './gap.ts'
import { declaredNames, itemsOf, leastOf, memberOf, mostOf, requiredNames, type SchemaPart } from './parts.ts'
import { take } from './samples.ts'
import { isNothing } from './taken.ts'

export function objectGaps(comparing: Comparing, next: SchemaPart): readonly Gap[] {
  const { parts } = comparing
  const had = requiredNames(parts)
  const missing = requiredNames([next]).filter((name) => !had.includes(name))
  const names = [...new Set([...declaredNames(parts), ...declaredNames([next])])]
  return [
    ...missing.flatMap((name) =>
      gapFor('required', takeWith(comparing, { type: 'object', properties: { [name]: false } }), [name]),
    ),
    ...names.flatMap((name) => memberGaps(comparing, next, { name, shown: name })),
    ...freeGaps(comparing, next, names),
  ]
}

interface Member {
  readonly name: string
  /** The name, or `*` if it stands for all names that no schema declares. */
  readonly shown: string
}

function memberGaps(comparing: Comparing, next: SchemaPart, { name, shown }: Member): readonly Gap[] {
  const old = comparing.parts.flatMap((part) => memberOf(part, name))
  const refused = isObject(next.schema.properties) && Object.hasOwn(next.schema.properties, name)
  const having = { type: 'object', required: [name] }
  const gaps = memberOf(next, name).flatMap((schema) => comparing.compare(old, schema))
  if (gaps.length === 0 || isNothing(takeWith(comparing, having))) return []
  return gaps.map((gap) => {
    const placed = gap.keyword === 'false schema' && !refused ? { ...gap, keyword: 'additionalProperties' } : gap
    const around = (value: Json) => takeWith(comparing, { ...having, properties: { [name]: { const: value } } }).values
    return outside(placed, { shown, key: name, around })
  })
}

/** One name stands for all names that neither schema declares, unless patterns tell them apart. */
function freeGaps(comparing: Comparing, next: SchemaPart, names: readonly string[]): readonly Gap[] {
  const { schema } = next
  const rest = schema.additionalProperties ?? true
  const patterns = (part: SchemaPart) => Object.keys(part.schema.patternProperties ?? {}).length > 0
  const { parts } = comparing
  if (parts.some((part) => part.schema.additionalProperties === false && !patterns(part))) return []
  if (rest === true && !patterns(next)) return []
  if (parts.some(patterns) || patterns(next)) return gapFor('patternProperties', { values: [], complete: false })
  const name = ['other', 'more', 'extra'].find((one) => !names.includes(one)) ?? `x${'_'.repeat(longest(names))}`
  return memberGaps(comparing, next, { name, shown: '*' })
}

function longest(names: readonly string[]): number {
  return Math.max(...names.map((name) => name.length))
}

export function listGaps(comparing: Comparing, next: SchemaPart): readonly Gap[] {
  const { parts } = comparing
  const most = mostOf(parts, 'maxItems')
  const least = leastOf(parts, 'minItems', 0)
  const repeated = next.schema.uniqueItems === true && !isDistinct(comparing) && most >= 2
  return [
    ...(most >= 1 ? itemGaps(comparing, next, Math.max(1, least)) : []),
    ...(repeated ? repeatedItems(comparing, Math.max(2, least)) : []),
  ]
}

function itemGaps(comparing: Comparing, next: SchemaPart, length: number): readonly Gap[] {
  const { items, prefixItems } = next.schema
  if (items === undefined || prefixItems !== undefined) return []
  const gaps = comparing.compare(itemsOf(comparing.parts), { root: next.root, schema: items })
  const some = { type: 'array', minItems: 1 }
  if (gaps.length === 0 || isNothing(takeWith(comparing, some))) return []
  return gaps.map((gap) => outside(gap, { shown: '*', key: 0, around: (value) => listsWith(comparing, value, length) }))
}

function isDistinct({ parts }: Comparing): boolean {
  return parts.some(({ schema }) => schema.uniqueItems === true)
}

/** A longer list is not written as an example. */
const LONGEST = 10_000

/** A list of the old schema that begins with the value. */
function listsWith(comparing: Comparing, value: Json, length: number): readonly Json[] {
  if (length > LONGEST) return []
  if (!isDistinct(comparing)) return [Array.from({ length }, () => value)]
  const known = take(itemsOf(comparing.parts), length, { budget: comparing.budget, depth: 0 })
  const others = known.values.filter((one) => !isDeepStrictEqual(one, value)).slice(0, length - 1)
  return others.length < length - 1 ? [] : [[value, ...others]]
}

function repeatedItems(comparing: Comparing, length: number): readonly Gap[] {
  if (length > LONGEST) return gapFor('uniqueItems', { values: [], complete: false })
  const { values, complete } = take(itemsOf(comparing.parts), 1, { budget: comparing.budget, depth: 0 })
  return gapFor('uniqueItems', { values: values.map((value) => Array.from({ length }, () => value)), complete })
}

interface Outside {
  readonly shown: string
  readonly key: string | number
  /** Values of the old schema around that hold this one. */
  readonly around: (value: Json) => readonly Json[]
}

/** The gap as one of the value around. */
function outside(gap: Gap, { shown, key, around }: Outside): Gap {
  const examples = gap.examples.flatMap(({ value, at }) =>
    around(value)
      .slice(0, 1)
      .map((held): Example => ({ value: held, at: [key, ...at] })),
  )
  return { ...gap, path: [shown, ...gap.path], examples }
}
