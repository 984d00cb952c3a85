/** Where values that fit one schema may not fit another: keyword by keyword, with examples where there are any. */
import { isDeepStrictEqual } from 'node:util'
import { isObject } from '../../base/is-object.ts'
import type { Path } from '../../base/json-pointer.ts'
import type { Json } from '../resource.ts'
import { unique } from '../samples/sample-values.ts'
import type { JsonObject } from '../schema/schema-file.ts'
import { innerSchemas, referredSchema } from '../schema/subschemas.ts'
import { accepts } from './accepts.ts'
import {
  Budget,
  declaredNames,
  itemsOf,
  leastOf,
  memberOf,
  mostOf,
  opaqueKeywords,
  type RootedSchema,
  requiredNames,
  type SchemaPart,
  schemaParts,
  sharedTypes,
  WITHOUT_EFFECT,
} from './parts.ts'
import { take } from './samples.ts'
import { isNothing } from './taken.ts'
import {
  type Comparing,
  type Gap,
  type GapExample,
  gapFor,
  listedGaps,
  MOST_EXAMPLES,
  ownGaps,
  TRIED,
  takeWith,
} from './value-gaps.ts'

/**
 * No gap means that each value of the old schemas, which hold all together, fits the new one. A gap without examples
 * means that this is unknown. Examples are certain only if the real validators say so: opaque keywords of the old
 * schema may refuse them. Throws TooLarge.
 */
export function gapsBetween(old: readonly RootedSchema[], next: RootedSchema, budget: Budget): readonly Gap[] {
  return within(budget, new Set())(old, next)
}

/** The first example that surely fits the old schemas and not the new one. */
export function sureExample(gap: Gap, old: readonly RootedSchema[], next: RootedSchema): GapExample | undefined {
  const budget = new Budget()
  return gap.examples.find(
    ({ value }) => accepts(old, value, budget) === true && accepts([next], value, budget) === false,
  )
}

/**
 * `around`: the comparisons that this one is a part of. A schema that contains itself only further down has no gap if
 * no other keyword has one: a smallest value with a gap would have a smaller one inside.
 */
function within(budget: Budget, around: ReadonlySet<string>): Comparing['compare'] {
  return (old, next) => {
    budget.spend(old.length)
    const pair = `${[...new Set(old.map(identity))].sort().join()} ${identity(next)}`
    if (next.schema === true || around.has(pair)) return []
    const parts = schemaParts(old)
    if (parts === undefined) return []
    const compare = within(budget, new Set([...around, pair]))
    return merged(gapsOf({ old, parts, budget, compare }, next))
  }
}

function gapsOf(comparing: Comparing, next: RootedSchema): readonly Gap[] {
  const { old, parts, budget } = comparing
  if (next.schema === false) return gapFor('false schema', take(old, 1, { budget, depth: 0 }))
  if (parts.some((part) => isSameSchema(part, next))) return []
  return (schemaParts([next]) ?? []).flatMap((part) => partGaps(comparing, part))
}

function partGaps(comparing: Comparing, next: SchemaPart): readonly Gap[] {
  if (comparing.parts.some((part) => isSameSchema(part, next))) return []
  const listed = listedGaps(comparing, next)
  if (listed) return listed
  const branches = branchesOf(comparing.parts)
  if (branches && comparing.budget.mayBranch()) return branches.flatMap((branch) => comparing.compare(branch, next))
  const types = sharedTypes(comparing.parts)
  return [
    ...ownGaps(comparing, next),
    ...(types.includes('object') ? objectGaps(comparing, next) : []),
    ...(types.includes('array') ? listGaps(comparing, next) : []),
    ...opaqueGaps(comparing, next),
  ]
}

/** A value of `anyOf` or `oneOf` fits one of the branches, so each branch is compared alone. */
function branchesOf(parts: readonly SchemaPart[]): readonly (readonly RootedSchema[])[] | undefined {
  const keyword = ['anyOf', 'oneOf'].find((one) => parts.some(({ schema }) => schema[one] !== undefined))
  if (keyword === undefined) return undefined
  const chosen = parts.find(({ schema }) => schema[keyword] !== undefined)
  // The parts of `$ref` and `allOf` stand beside it already.
  const plain = parts.map((part) => without(part, part === chosen ? ['$ref', 'allOf', keyword] : ['$ref', 'allOf']))
  const branches = (chosen?.schema[keyword] ?? []) as readonly Json[]
  return branches.map((branch) => [...plain, { root: chosen?.root ?? {}, schema: branch }])
}

function without({ root, schema }: SchemaPart, keywords: readonly string[]): SchemaPart {
  return keywords.some((keyword) => schema[keyword] !== undefined)
    ? { root, schema: Object.fromEntries(Object.entries(schema).filter(([one]) => !keywords.includes(one))) }
    : { root, schema }
}

/** Keywords that mean the same beside other siblings too, so that the same keyword in the old schema implies them. */
const ALONE = ['anyOf', 'oneOf', 'not', 'dependentRequired', 'dependentSchemas', 'propertyNames']
const TOGETHER = [
  ['if', 'then', 'else'],
  ['contains', 'minContains', 'maxContains'],
  ['prefixItems', 'items'],
]
const GROUPS: readonly (readonly string[])[] = [...ALONE.map((keyword) => [keyword]), ...TOGETHER]

function opaqueGaps(comparing: Comparing, next: SchemaPart): readonly Gap[] {
  const { old, parts, budget } = comparing
  // What members with patterns need is looked at with the members.
  const keywords = opaqueKeywords(next).filter((keyword) => keyword !== 'patternProperties')
  const groups = new Map(keywords.map((one) => [GROUPS.find((group) => group.includes(one)) ?? [one], one] as const))
  return [...groups].flatMap(([group, keyword]) => {
    const wanted = only(next, group)
    if (GROUPS.includes(group) && parts.some((part) => isSameSchema(only(part, group), wanted))) return []
    if (keyword === 'anyOf' && fitsBranch(comparing, next)) return []
    const tried = take(old, TRIED, { budget, depth: 0 })
    const breaking = tried.values.filter((value) => accepts([wanted], value, budget) === false)
    const complete = tried.complete && tried.values.every((value) => accepts([wanted], value, budget) !== undefined)
    return gapFor(keyword, { values: breaking, complete })
  })
}

function fitsBranch({ old, compare }: Comparing, { root, schema }: SchemaPart): boolean {
  return ((schema.anyOf ?? []) as readonly Json[]).some((branch) => compare(old, { root, schema: branch }).length === 0)
}

function only({ root, schema }: SchemaPart, keywords: readonly string[]): SchemaPart {
  return { root, schema: Object.fromEntries(Object.entries(schema).filter(([one]) => keywords.includes(one))) }
}

/** One gap for each keyword at each place, with the examples of all. */
function merged(gaps: readonly Gap[]): readonly Gap[] {
  const groups = Map.groupBy(gaps, ({ path, keyword }) => JSON.stringify([path, keyword]))
  return [...groups.values()].flatMap(([first, ...others]) => {
    if (first === undefined || others.length === 0) return first ?? []
    const examples = [first, ...others].flatMap((gap) => gap.examples).slice(0, 2 * MOST_EXAMPLES)
    const lost = unique([first, ...others].flatMap((gap) => gap.lost ?? []))
    return [{ ...first, examples, ...(lost.length > 0 ? { lost } : {}) }]
  })
}

const identities = new WeakMap<JsonObject, number>()
let known = 0

function identity({ schema }: RootedSchema): string {
  if (typeof schema !== 'object' || schema === null) return String(schema)
  const object = schema as JsonObject
  const own = identities.get(object) ?? known++
  identities.set(object, own)
  return String(own)
}

// Gaps inside a value: the members of objects and the items of lists.

function objectGaps(comparing: Comparing, next: SchemaPart): readonly Gap[] {
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

interface MemberOfObject {
  readonly name: string
  /** The name, or `*` if it stands for all names that no schema declares. */
  readonly shown: string
}

function memberGaps(comparing: Comparing, next: SchemaPart, { name, shown }: MemberOfObject): readonly Gap[] {
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

function listGaps(comparing: Comparing, next: SchemaPart): readonly Gap[] {
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
      .map((held): GapExample => ({ value: held, at: [key, ...at] })),
  )
  return { ...gap, path: [shown, ...gap.path], examples }
}

// Whether two schemas are written alike, with the schemas that their references lead to.

/**
 * `seen`: the pairs that are looked at already, or are being looked at. One difference ends the comparison, so until
 * then each of them counts as the same.
 */
function isSameSchema(a: RootedSchema, b: RootedSchema, seen = new Map<Json, Set<Json>>()): boolean {
  if (!isObject(a.schema) || !isObject(b.schema)) return a.schema === b.schema
  const others = seen.getOrInsertComputed(a.schema as Json, () => new Set())
  if (others.has(b.schema as Json)) return true
  others.add(b.schema as Json)
  const [left, right] = [contentOf(a), contentOf(b)]
  return (
    isDeepStrictEqual(left.values, right.values) &&
    left.schemas.size === right.schemas.size &&
    [...left.schemas].every(([place, schema]) => {
      const other = right.schemas.get(place)
      return other !== undefined && isSameSchema({ ...a, schema }, { ...b, schema: other }, seen)
    })
  )
}

/** A schema's plain values, and the schemas inside it by their places. */
function contentOf({ root, schema }: RootedSchema) {
  const json = schema as Readonly<Record<string, Json>>
  const inner = innerSchemas({ path: [], schema: json }).filter(({ path }) => path[0] !== '$defs')
  const schemas = new Map<string, Json>(inner.map(({ path, schema: one }) => [JSON.stringify(path), one]))
  const referred = referredSchema(root, schema)
  if (referred !== undefined) schemas.set('$ref', referred)
  const holders = new Set(inner.map(({ path }) => path[0]))
  const values = Object.entries(json).filter(
    ([keyword]) => !holders.has(keyword) && keyword !== '$ref' && !WITHOUT_EFFECT.includes(keyword),
  )
  return { schemas, values: Object.fromEntries(values) }
}

/** The value at the end of a path; undefined if the path leads nowhere. */
export function valueAtPath(value: Json, at: Path): Json | undefined {
  return at.reduce<Json | undefined>((one, key) => (one as Readonly<Record<string, Json>> | undefined)?.[key], value)
}
