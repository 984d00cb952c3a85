/** Where values that fit one schema may not fit another: keyword by keyword, with examples where there are any. */
import type { Json } from '../resource.ts'
import { unique } from '../samples/sample-values.ts'
import type { JsonObject } from '../schema/schema-file.ts'
import { accepts } from './accepts.ts'
import { type Comparing, type Example, type Gap, gapFor, MOST_EXAMPLES } from './gap.ts'
import { listGaps, objectGaps } from './inner-gaps.ts'
import { listedGaps, ownGaps } from './own-gaps.ts'
import { Budget, opaqueKeywords, type RootedSchema, type SchemaPart, schemaParts, sharedTypes } from './parts.ts'
import { isSameSchema } from './same-schema.ts'
import { take } from './samples.ts'

/**
 * No gap means that each value of the old schemas, which hold all together, fits the new one. A gap without examples
 * means that this is unknown. Examples are certain only if the real validators say so: opaque keywords of the old
 * schema may refuse them. Throws TooLarge.
 */
export function gapsBetween(old: readonly RootedSchema[], next: RootedSchema, budget: Budget): readonly Gap[] {
  return within(budget, new Set())(old, next)
}

/** The first example that surely fits the old schemas and not the new one. */
export function sureExample(gap: Gap, old: readonly RootedSchema[], next: RootedSchema): Example | undefined {
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
/** So many values of the old schema are tried. */
const TRIED = 40

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
