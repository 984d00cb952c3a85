/**
 * A place where a value may fit the old schema and not the new one, and the gaps in a value itself: its type, listed
 * values, bounds, lengths and texts.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Path } from '../../base/json-pointer.ts'
import type { Json } from '../resource.ts'
import type { JsonObject } from '../schema/schema-file.ts'
import { accepts, textFits } from './accepts.ts'
import { impliesStep, numberFits } from './numbers.ts'
import {
  type Budget,
  type JsonType,
  listedValues,
  numberAt,
  type RootedSchema,
  type SchemaPart,
  schemaParts,
  sharedTypes,
  typesOf,
  wantsIntegers,
} from './parts.ts'
import { take } from './samples.ts'
import type { TakenValues } from './taken.ts'

export interface Gap {
  /** From the compared value to the faulty one; `*` for any item, and for any member without a declared name. */
  readonly path: readonly string[]
  /** The keyword of the new schema that values may break; `additionalProperties` for a name that it doesn't accept. */
  readonly keyword: string
  /** Whole values that fit the old schema and not the new one. Empty if it is unknown whether there are any. */
  readonly examples: readonly GapExample[]
  /** The values of an old `enum` that the new schema doesn't accept. */
  readonly lost?: readonly Json[]
}

export interface GapExample {
  readonly value: Json
  /** Where the fault is in this value. */
  readonly at: Path
}

export interface Comparing {
  /** Its parts hold all together. */
  readonly old: readonly RootedSchema[]
  readonly parts: readonly SchemaPart[]
  readonly budget: Budget
  /** The same comparison for other schemas, deeper inside. */
  readonly compare: (old: readonly RootedSchema[], next: RootedSchema) => readonly Gap[]
}

/** More examples of one gap are not carried along: the first ones already stand for it. */
export const MOST_EXAMPLES = 4

/** Values that fit the old schema and these keywords too. */
export function takeWith({ old, budget }: Comparing, schema: JsonObject, count = 1): TakenValues {
  return take([...old, { root: {}, schema }], count, { budget, depth: 0 })
}

/** No gap if surely no value breaks the keyword. */
export function gapFor(keyword: string, breaking: TakenValues, at: readonly string[] = []): readonly Gap[] {
  if (breaking.complete && breaking.values.length === 0) return []
  return [{ path: at, keyword, examples: breaking.values.slice(0, MOST_EXAMPLES).map((value) => ({ value, at })) }]
}

/** So many values of the old schema are tried, and so many numbers or texts against a step, a pattern or a format. */
export const TRIED = 40

/** All values of an old `enum` are looked at one by one. Undefined if the old schema lists no values. */
export function listedGaps(comparing: Comparing, next: SchemaPart): readonly Gap[] | undefined {
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

export function ownGaps(comparing: Comparing, next: SchemaPart): readonly Gap[] {
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
type BoundBreakers = Readonly<Record<string, (bound: number) => JsonObject | undefined>>

const below = (type: JsonType, keyword: string) => (bound: number) =>
  bound <= 0 ? undefined : { type, [keyword]: bound - 1 }
const above = (type: JsonType, keyword: string) => (bound: number) => ({ type, [keyword]: bound + 1 })

const NUMBER_BOUNDS: BoundBreakers = {
  minimum: (bound) => ({ type: 'number', exclusiveMaximum: bound }),
  maximum: (bound) => ({ type: 'number', exclusiveMinimum: bound }),
  exclusiveMinimum: (bound) => ({ type: 'number', maximum: bound }),
  exclusiveMaximum: (bound) => ({ type: 'number', minimum: bound }),
}
const TEXT_BOUNDS: BoundBreakers = { minLength: below('string', 'maxLength'), maxLength: above('string', 'minLength') }
const LIST_BOUNDS: BoundBreakers = { minItems: below('array', 'maxItems'), maxItems: above('array', 'minItems') }
const OBJECT_BOUNDS: BoundBreakers = {
  minProperties: below('object', 'maxProperties'),
  maxProperties: above('object', 'minProperties'),
}

function boundGaps(comparing: Comparing, { schema }: SchemaPart, bounds: BoundBreakers): readonly Gap[] {
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

function breaking(comparing: Comparing, schema: JsonObject, breaks: (value: Json) => boolean): TakenValues {
  const { values, complete } = takeWith(comparing, schema, TRIED)
  return { values: values.filter(breaks), complete }
}
