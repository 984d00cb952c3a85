/** Where values that fit one schema may not fit another: keyword by keyword, with examples where there are any. */
import { isDeepStrictEqual } from 'node:util'
import { isObject } from '../../base/is-object.ts'
import type { Path } from '../../base/json-pointer.ts'
import type { Json } from '../resource.ts'
import { unique } from '../samples/sample-values.ts'
import type { JsonObject } from '../schema/schema-file.ts'
import { innerSchemas, referredSchema } from '../schema/subschemas.ts'
import { accepts, textFits } from './accepts.ts'
import { impliesStep, numberFits } from './numbers.ts'
import {
  Budget,
  declaredNames,
  itemsOf,
  type JsonType,
  leastOf,
  listedValues,
  memberOf,
  mostOf,
  numberAt,
  opaqueKeywords,
  type RootedSchema,
  requiredNames,
  type SchemaPart,
  schemaParts,
  sharedTypes,
  typesOf,
  WITHOUT_EFFECT,
  wantsIntegers,
} from './parts.ts'
import { take } from './samples.ts'
import { isNothing, type Values } from './taken.ts'

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
/** So many values of the old schema are tried, and so many numbers or texts against a step, a pattern or a format. */
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
      .map((held): Example => ({ value: held, at: [key, ...at] })),
  )
  return { ...gap, path: [shown, ...gap.path], examples }
}

// Gaps in the value itself: its type, listed values, bounds, lengths and texts.

/** All values of an old `enum` are looked at one by one. Undefined if the old schema lists no values. */
function listedGaps(comparing: Comparing, next: SchemaPart): readonly Gap[] | undefined {
  const { old, parts, budget } = comparing
  const listed = parts.map(listedValues).find((values) => values !== undefined)
  if (listed === undefined) return undefined
  const { values } = take(old, listed.length, { budget, depth: 0 })
  const answers = values.map((value) => ({ value, fits: accepts([next], value, budget) }))
  const lost = answers.filter(({ fits }) => fits === false).map(({ value }) => value)
  const [first] = lost
  if (first !== undefined) {
    const [gap] = gapFor(brokenKeyword(comparing, next, first), { values: lost, complete: true })
    return gap ? [{ ...gap, lost }] : []
  }
  const unsure = answers.some(({ fits }) => fits === undefined)
  return unsure ? gapFor('combination', { values: [], complete: false }) : []
}

/** The first keyword that the value breaks alone. */
function brokenKeyword({ budget }: Comparing, next: SchemaPart, value: Json): string {
  const alone = (schemaParts([next]) ?? []).flatMap(({ root, schema }) =>
    Object.keys(schema).map((keyword) => ({
      keyword,
      bound: { root, schema: { [keyword]: schema[keyword] ?? true } },
    })),
  )
  return alone.find(({ bound }) => accepts([bound], value, budget) === false)?.keyword ?? 'enum'
}

function ownGaps(comparing: Comparing, next: SchemaPart): readonly Gap[] {
  const types = sharedTypes(comparing.parts)
  const shared = types.filter((type) => typesOf(next).has(type))
  const lost = types.filter((type) => !shared.includes(type))
  return [
    ...lost.flatMap((type) => gapFor('type', takeWith(comparing, { type }))),
    ...valueGaps(comparing, next),
    ...shared.flatMap((type) => OF_TYPE[type]?.(comparing, next) ?? []),
  ]
}

/** With one value more than the new schema lists, one of them is not in its list. */
function valueGaps(comparing: Comparing, next: SchemaPart): readonly Gap[] {
  const listed = listedValues(next)
  if (listed === undefined) return []
  // The types that are lost are a gap already.
  const types = sharedTypes(comparing.parts).filter((type) => typesOf(next).has(type))
  const known = takeWith(comparing, { type: types }, listed.length + 1)
  const values = known.values.filter((value) => !listed.some((one) => isDeepStrictEqual(one, value)))
  return gapFor(next.schema.enum === undefined ? 'const' : 'enum', { values, complete: known.complete })
}

type GapsOfType = (comparing: Comparing, next: SchemaPart) => readonly Gap[]

const OF_TYPE: Partial<Readonly<Record<JsonType, GapsOfType>>> = {
  number: (comparing, next) => [...boundGaps(comparing, next, NUMBER_BOUNDS), ...stepGaps(comparing, next)],
  string: (comparing, next) => [...boundGaps(comparing, next, TEXT_BOUNDS), ...writingGaps(comparing, next)],
  array: (comparing, next) => boundGaps(comparing, next, LIST_BOUNDS),
  object: (comparing, next) => boundGaps(comparing, next, OBJECT_BOUNDS),
}

/** For each bound, the keywords that hold for exactly the values that break it; undefined if no value can. */
type Bounds = Readonly<Record<string, (bound: number) => JsonObject | undefined>>

const below = (type: JsonType, keyword: string) => (bound: number) =>
  bound <= 0 ? undefined : { type, [keyword]: bound - 1 }
const above = (type: JsonType, keyword: string) => (bound: number) => ({ type, [keyword]: bound + 1 })

const NUMBER_BOUNDS: Bounds = {
  minimum: (bound) => ({ type: 'number', exclusiveMaximum: bound }),
  maximum: (bound) => ({ type: 'number', exclusiveMinimum: bound }),
  exclusiveMinimum: (bound) => ({ type: 'number', maximum: bound }),
  exclusiveMaximum: (bound) => ({ type: 'number', minimum: bound }),
}
const TEXT_BOUNDS: Bounds = { minLength: below('string', 'maxLength'), maxLength: above('string', 'minLength') }
const LIST_BOUNDS: Bounds = { minItems: below('array', 'maxItems'), maxItems: above('array', 'minItems') }
const OBJECT_BOUNDS: Bounds = {
  minProperties: below('object', 'maxProperties'),
  maxProperties: above('object', 'minProperties'),
}

function boundGaps(comparing: Comparing, { schema }: SchemaPart, bounds: Bounds): readonly Gap[] {
  return Object.entries(bounds).flatMap(([keyword, broken]) => {
    const bound = numberAt(schema, keyword)
    const breaking = bound === undefined ? undefined : broken(bound)
    return breaking === undefined ? [] : gapFor(keyword, takeWith(comparing, breaking))
  })
}

/** `integer` is the step 1. Two neighbouring multiples can't both be multiples of a step that doesn't divide theirs. */
function stepGaps(comparing: Comparing, next: SchemaPart): readonly Gap[] {
  const step = numberAt(next.schema, 'multipleOf')
  const steps = [...(wantsIntegers(next) ? [{ keyword: 'type', step: 1 }] : [])]
  if (step !== undefined) steps.push({ keyword: 'multipleOf', step })
  return steps.flatMap(({ keyword, step: size }) => {
    if (impliesStep(comparing.parts, size)) return []
    const alone: SchemaPart = { root: {}, schema: { multipleOf: size } }
    return gapFor(
      keyword,
      breaking(comparing, { type: 'number' }, (value) => !numberFits(alone, value as number)),
    )
  })
}

/** A pattern or a format is kept for sure only if the old schema has the same. */
function writingGaps(comparing: Comparing, next: SchemaPart): readonly Gap[] {
  return ['pattern', 'format'].flatMap((keyword) => {
    const wanted = next.schema[keyword]
    if (wanted === undefined || comparing.parts.some(({ schema }) => schema[keyword] === wanted)) return []
    const alone: SchemaPart = { root: {}, schema: { [keyword]: wanted } }
    return gapFor(
      keyword,
      breaking(comparing, { type: 'string' }, (value) => !textFits(alone, value as string)),
    )
  })
}

function breaking(comparing: Comparing, schema: JsonObject, breaks: (value: Json) => boolean): Values {
  const { values, complete } = takeWith(comparing, schema, TRIED)
  return { values: values.filter(breaks), complete }
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

// A place where a value may fit the old schema and not the new one, and what a search for such places shares.

export interface Gap {
  /** From the compared value to the faulty one; `*` for any item, and for any member without a declared name. */
  readonly path: readonly string[]
  /** The keyword of the new schema that values may break; `additionalProperties` for a name that it doesn't accept. */
  readonly keyword: string
  /** Whole values that fit the old schema and not the new one. Empty if it is unknown whether there are any. */
  readonly examples: readonly Example[]
  /** The values of an old `enum` that the new schema doesn't accept. */
  readonly lost?: readonly Json[]
}

interface Example {
  readonly value: Json
  /** Where the fault is in this value. */
  readonly at: Path
}

interface Comparing {
  /** Its parts hold all together. */
  readonly old: readonly RootedSchema[]
  readonly parts: readonly SchemaPart[]
  readonly budget: Budget
  /** The same comparison for other schemas, deeper inside. */
  readonly compare: (old: readonly RootedSchema[], next: RootedSchema) => readonly Gap[]
}

/** More examples of one gap are not carried along: the first ones already stand for it. */
const MOST_EXAMPLES = 4

/** Values that fit the old schema and these keywords too. */
function takeWith({ old, budget }: Comparing, schema: JsonObject, count = 1): Values {
  return take([...old, { root: {}, schema }], count, { budget, depth: 0 })
}

/** No gap if surely no value breaks the keyword. */
function gapFor(keyword: string, breaking: Values, at: readonly string[] = []): readonly Gap[] {
  if (breaking.complete && breaking.values.length === 0) return []
  return [{ path: at, keyword, examples: breaking.values.slice(0, MOST_EXAMPLES).map((value) => ({ value, at })) }]
}

/** The value at the end of a path; undefined if the path leads nowhere. */
export function valueAtPath(value: Json, at: Path): Json | undefined {
  return at.reduce<Json | undefined>((one, key) => (one as Readonly<Record<string, Json>> | undefined)?.[key], value)
}
