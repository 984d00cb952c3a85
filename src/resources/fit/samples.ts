/** Values that fit schemas, and whether there are others. With keywords that aren't taken apart, they are proposals. */
import type { Json } from '../resource.ts'
import { unique, valuesOf } from '../samples/sample-values.ts'
import { accepts, takeTexts } from './accepts.ts'
import { takeNumbers } from './numbers.ts'
import {
  type Budget,
  declaredNames,
  itemsOf,
  type JsonType,
  leastOf,
  listedValues,
  memberOf,
  mostOf,
  opaqueKeywords,
  type RootedSchema,
  requiredNames,
  type SchemaPart,
  schemaParts,
  sharedTypes,
} from './parts.ts'
import { isNothing, MOST_INSIDE, NOTHING, type TakenValues, type Taking, UNKNOWN } from './taken.ts'

/** A schema that contains itself is followed so far. */
const DEEPEST = 8

interface Depth {
  readonly budget: Budget
  readonly depth: number
}

/** At most `count` different values. `complete`: no other value fits, whatever the opaque keywords say. */
export function take(schemas: readonly RootedSchema[], count: number, taking: Depth): TakenValues {
  const parts = schemaParts(schemas)
  taking.budget.spend(parts?.length ?? 0)
  if (parts === undefined || count === 0) return parts === undefined ? NOTHING : UNKNOWN
  if (taking.depth > DEEPEST) return UNKNOWN
  const inside: Taking['take'] = (all, most) => take(all, most, { ...taking, depth: taking.depth + 1 })
  const found = takeListed(parts, taking) ?? takeTyped(parts, { count, take: inside })
  const opaque = parts.filter((part) => opaqueKeywords(part).length > 0)
  if (opaque.length === 0 || (found.complete && found.values.length === 0)) {
    return { values: found.values.slice(0, count), complete: found.complete && found.values.length <= count }
  }
  const proposed = [...found.values, ...opaque.flatMap((part) => proposals(part))]
  const fitting = unique(proposed).filter((value) => accepts(schemas, value, taking.budget) !== false)
  return { values: fitting.slice(0, count), complete: false }
}

/** `const` and `enum` leave few values, which are looked at one by one. */
function takeListed(parts: readonly SchemaPart[], { budget }: Depth): TakenValues | undefined {
  const listed = parts.map(listedValues).find((values) => values !== undefined)
  if (listed === undefined) return undefined
  const answers = unique(listed).map((value) => ({ value, fits: accepts(parts, value, budget) }))
  const values = answers.filter(({ fits }) => fits !== false).map(({ value }) => value)
  return { values, complete: answers.every(({ fits }) => fits !== undefined) }
}

function takeTyped(parts: readonly SchemaPart[], { count, take: inside }: Taking): TakenValues {
  const values: Json[] = []
  let complete = true
  for (const type of sharedTypes(parts)) {
    const some = takeOfType(type, parts, { count: Math.max(1, count - values.length), take: inside })
    values.push(...some.values)
    complete &&= some.complete
  }
  return { values, complete }
}

function takeOfType(type: JsonType, parts: readonly SchemaPart[], taking: Taking): TakenValues {
  switch (type) {
    case 'null':
      return { values: [null], complete: true }
    case 'boolean':
      return { values: [false, true], complete: true }
    case 'number':
      return takeNumbers(parts, taking.count)
    case 'string':
      return takeTexts(parts, taking.count)
    case 'array':
      return takeLists(parts, taking)
    case 'object':
      return takeObjects(parts, taking)
  }
}

/** Values of the branches, and those that `examples` and the like show. */
function proposals({ root, schema }: SchemaPart): readonly Json[] {
  const branches = [schema.anyOf, schema.oneOf].flatMap((some) => (some ?? []) as readonly Json[])
  const conditional = [schema.then, schema.else].filter((one) => one !== undefined)
  return [schema, ...branches, ...conditional].flatMap((one) => valuesOf(root, one))
}

// The objects that schemas allow, those with few members first.

interface Choosing {
  readonly least: number
  readonly most: number
  readonly choices: readonly MemberChoice[]
  /** Values for names that no schema declares. */
  readonly free: TakenValues
  /** Names of a pattern may have other values than `free`, and none is looked for. */
  readonly hasPatterns: boolean
}

interface MemberChoice {
  readonly name: string
  readonly required: boolean
  readonly values: () => TakenValues
}

type SampledMembers = readonly (readonly [string, Json])[]

function takeObjects(parts: readonly SchemaPart[], { count, take }: Taking): TakenValues {
  const required = requiredNames(parts)
  const [least, most] = [leastOf(parts, 'minProperties', 0), mostOf(parts, 'maxProperties')]
  if (least > most) return NOTHING
  if (least > MOST_INSIDE) return UNKNOWN
  const choices = [...new Set([...required, ...declaredNames(parts)])].map((name): MemberChoice => {
    const schemas = parts.flatMap((part) => memberOf(part, name))
    let known: TakenValues | undefined
    const values = () => {
      known ??= take(schemas, count)
      return known
    }
    return { name, required: required.includes(name), values }
  })
  const needed = choices.filter((choice) => choice.required)
  if (needed.length > most || needed.some((choice) => isNothing(choice.values()))) return NOTHING
  if (needed.some((choice) => choice.values().values.length === 0)) return UNKNOWN
  const free = take(
    parts.flatMap((part) => memberOf(part, freeName(choices, 0))),
    count,
  )
  const tooFew = least > needed.length && choices.filter(({ values }) => !isNothing(values())).length < least
  const hasPatterns = parts.some(({ schema }) => Object.keys(schema.patternProperties ?? {}).length > 0)
  if (tooFew && isNothing(free)) return hasPatterns ? UNKNOWN : NOTHING
  return chosen({ least, most, choices, free, hasPatterns }, count)
}

function chosen(choosing: Choosing, count: number): TakenValues {
  const values: Json[] = []
  for (const members of membersOf(choosing, 0, [])) {
    if (values.length >= count) return { values, complete: false }
    values.push(Object.fromEntries(members))
  }
  const { choices, most, free, hasPatterns } = choosing
  const needed = choices.filter(({ required }) => required)
  const possible = most > needed.length ? choices : needed
  const sure = possible.every((choice) => choice.values().complete)
  return { values, complete: sure && (most === needed.length || (isNothing(free) && !hasPatterns)) }
}

/** Fewer members first. A way that can't reach the number of members ends at once. */
function* membersOf(choosing: Choosing, at: number, members: SampledMembers): Generator<SampledMembers> {
  const { choices, most } = choosing
  const choice = choices[at]
  if (members.length > most || !canReach(choosing, at, members.length)) return
  if (choice === undefined) return yield* withFree(choosing, members)
  if (!choice.required) yield* membersOf(choosing, at + 1, members)
  for (const value of choice.values().values) yield* membersOf(choosing, at + 1, [...members, [choice.name, value]])
}

function canReach({ choices, least, most, free }: Choosing, at: number, reached: number): boolean {
  const rest = choices.slice(at)
  if (reached + rest.filter(({ required }) => required).length > most) return false
  if (free.values.length > 0 || reached >= least) return true
  if (reached + rest.length < least) return false
  return reached + rest.filter(({ values }) => values().values.length > 0).length >= least
}

/** As few members with free names as the bounds want, then one more each time. */
function* withFree({ least, most, choices, free }: Choosing, members: SampledMembers): Generator<SampledMembers> {
  if (members.length >= least) yield members
  const [first] = free.values
  if (first === undefined) return
  for (let size = Math.max(least, members.length + 1); size <= Math.min(most, MOST_INSIDE); size++) {
    const more = size - members.length
    const names = Array.from({ length: more }, (_, nth) => freeName(choices, nth))
    for (const value of free.values) yield [...members, ...names.map((name) => [name, value] as const)]
  }
}

/** A name that no schema declares. */
function freeName(choices: readonly { readonly name: string }[], nth: number): string {
  const taken = new Set(choices.map(({ name }) => name))
  const base = ['other', 'more', 'extra'].find((word) => ![...taken].some((name) => name.startsWith(word)))
  return `${base ?? `x${'_'.repeat(Math.max(...[...taken].map((name) => name.length)))}`}${nth === 0 ? '' : nth}`
}

// The lists that schemas allow, the shortest first.

function takeLists(parts: readonly SchemaPart[], { count, take }: Taking): TakenValues {
  const [least, most] = [leastOf(parts, 'minItems', 0), mostOf(parts, 'maxItems')]
  if (least > most) return NOTHING
  if (least > MOST_INSIDE) return UNKNOWN
  const distinct = parts.some(({ schema }) => schema.uniqueItems === true)
  if (least === 0 && (most === 0 || count <= 1)) return { values: [[]], complete: most === 0 }
  const items = take(itemsOf(parts), distinct ? Math.max(count, least) + 1 : count)
  const values: Json[] = []
  for (const list of listsUpTo(items.values, { least, most, distinct })) {
    if (values.length >= count || list.length > MOST_INSIDE) return { values, complete: false }
    values.push(list)
  }
  return { values, complete: items.complete }
}

interface Lengths {
  readonly least: number
  readonly most: number
  readonly distinct: boolean
}

function* listsUpTo(items: readonly Json[], { least, most, distinct }: Lengths): Generator<readonly Json[]> {
  const longest = distinct || items.length === 0 ? items.length : most
  for (let length = least; length <= Math.min(most, longest); length++) yield* listsOf(items, length, distinct)
}

/** Every list of this length, in order; the last items change first. */
function* listsOf(items: readonly Json[], length: number, distinct: boolean): Generator<readonly Json[]> {
  const places = Array.from({ length }, (_, i) => (distinct ? i : 0))
  for (;;) {
    yield places.map((place) => items[place] ?? null)
    if (!advance(places, items.length, distinct)) return
  }
}

/** The next places in lexical order; with `distinct`, without repeated places. False at the end. */
function advance(places: number[], size: number, distinct: boolean): boolean {
  for (let i = places.length - 1; i >= 0; i--) {
    const before = new Set(distinct ? places.slice(0, i) : [])
    const next = nextFree((places[i] ?? 0) + 1, size, before)
    if (next === undefined) continue
    places[i] = next
    for (let j = i + 1; j < places.length; j++) {
      const used = new Set(distinct ? places.slice(0, j) : [])
      places[j] = nextFree(0, size, used) ?? 0
    }
    return true
  }
  return false
}

function nextFree(from: number, size: number, used: ReadonlySet<number>): number | undefined {
  for (let place = from; place < size; place++) if (!used.has(place)) return place
  return undefined
}
