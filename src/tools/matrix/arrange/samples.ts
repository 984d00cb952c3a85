/**
 * The smallest body and sample values for the fields of every resource, from the schemas alone; and new values for unique
 * fields.
 */
import { randomInt, randomUUID } from 'node:crypto'
import { isObject } from '../../../base/is-object.ts'
import type { Policy } from '../../../decide/policy.ts'
import { kindOf } from '../../../decide/relations/all-kinds.ts'
import { askingAs, type Relation } from '../../../decide/relations/relation-kind.ts'
import { isScalar } from '../../../resources/object.ts'
import type { Field, Json, Representation, Resource, Resources } from '../../../resources/resource.ts'
import { unique, valuesOf } from '../../../resources/samples/sample-values.ts'
import { parseSchemaFile, type SourceText } from '../../../resources/schema/schema-file.ts'

/** The id of the caller, unless a column names a user. Most schemas accept its form. */
export const CALLER = '01980000-0000-7000-8000-00000000000c'
/** The object that a path names. */
export const OBJECT = '01980000-0000-7000-8000-00000000000a'

/** Ids in the form of the server's, which differ from this one in their last digits. */
export function idSeries(id: string): () => string {
  let count = 0x1000
  return () => `${id.slice(0, -4)}${(count++).toString(16).padStart(4, '0')}`
}

/** Whether a value names the caller of predictions; a running server has callers with other ids. */
export function namesCaller(value: Json): boolean {
  return JSON.stringify(value).includes(CALLER)
}

/** The number of values that keep their places: smallest bodies and stored objects have them. */
const FIRST = 3

export interface Samples {
  /** The smallest body that the schema accepts. */
  readonly smallest: Readonly<Record<string, Json>>
  /** Valid values of each field that clients may give, smallest first. */
  readonly values: ReadonlyMap<string, readonly Json[]>
}

/** By resource; built-in resources have no samples. */
export type SamplesOf = ReadonlyMap<string, Samples>

/** `sources` are the schema files of `resources`. */
export function sampleResources(sources: readonly SourceText[], { byName }: Resources): SamplesOf {
  return new Map(
    sources.flatMap((source) => {
      const parsed = parseSchemaFile(source)
      const resource = parsed.kind === 'file' ? byName.get(parsed.file.resource) : undefined
      if (parsed.kind !== 'file' || !resource || !isObject(parsed.file.json)) return []
      return [[resource.name, samplesOf(resource, parsed.file.json)] as const]
    }),
  )
}

/** A message if a required field has no known valid value, so that neither an object nor a body can be made. */
export function lackingValue(resource: string, { smallest, values }: Samples): string | undefined {
  const field = Object.keys(smallest).find((name) => (values.get(name)?.length ?? 0) === 0)
  return field && `no valid value was found for \`${field}\` of ${resource}: add \`examples\` to its schema`
}

/** Adds the values that relations of the policy compare, because predictions must try them too. */
export function withCompared(
  samples: SamplesOf,
  { byName }: Resources,
  { ownership }: Pick<Policy, 'ownership'>,
): SamplesOf {
  return new Map(
    [...samples].map(([name, { smallest, values }]) => {
      const resource = byName.get(name)
      const relations = [...(ownership.get(name)?.relations.values() ?? [])]
      const more = relations.flatMap((relation) => (resource ? comparedBy(relation, resource) : []))
      const joined = [...values].map(([field, known]) => {
        const compared = more.filter((one) => one.field === field).map(({ value }) => value)
        return [field, unique([...known.slice(0, FIRST), ...compared, ...known])] as const
      })
      return [name, { smallest, values: new Map(joined) }] as const
    }),
  )
}

function comparedBy(
  relation: Relation,
  resource: Resource,
): readonly { readonly field: string; readonly value: Json }[] {
  const accepted = kindOf(relation).accepted?.(relation, askingAs({ id: CALLER }, Date.now()))
  const field = accepted && resource.fields.get(accepted.field)
  if (!field || field.readOnly) return []
  const values = accepted.distinguishing.map((value) => (field.list ? [value] : value))
  return values.filter((value) => isValidIn(resource, field.name, value)).map((value) => ({ field: field.name, value }))
}

function samplesOf(resource: Resource, json: { readonly [key: string]: Json }): Samples {
  const properties = isObject(json.properties) ? json.properties : {}
  const values = new Map(
    [...resource.fields.values()].map((field) => {
      const proposed = valuesOf(json, properties[field.name] ?? true)
      return [field.name, proposed.filter((value) => isValidIn(resource, field.name, value))] as const
    }),
  )
  const required = Array.isArray(json.required) ? json.required.map(String) : []
  const smallest = Object.fromEntries(
    required
      .filter((name) => !resource.fields.get(name)?.readOnly)
      .map((name) => [name, values.get(name)?.[0] ?? null] as const),
  )
  return { smallest: validBody(resource, smallest, values), values }
}

/** The required fields. If the schema needs more (for example with `anyOf`), one further field, or all of them. */
function validBody(
  { validate, fields }: Resource,
  required: Samples['smallest'],
  values: Samples['values'],
): Samples['smallest'] {
  const optional = [...values].flatMap(([name, [value]]) =>
    value === undefined || fields.get(name)?.readOnly || Object.hasOwn(required, name) ? [] : [{ [name]: value }],
  )
  const bodies = [{}, ...optional, Object.assign({}, ...optional)].map((more) => ({ ...required, ...more }))
  return bodies.find((body) => validate(body).length === 0) ?? required
}

/** Arranging asks about the same values again and again, and a schema takes long to find its faults. */
const MOST_KNOWN = 10_000
const known = new WeakMap<Resource, Map<string, Map<Json, boolean>>>()

/** Whether the schema accepts the value in this field, whatever the other fields are. */
export function isValidIn(resource: Resource, name: string, value: Json): boolean {
  const answers = known
    .getOrInsertComputed(resource, () => new Map<string, Map<Json, boolean>>())
    .getOrInsertComputed(name, () => new Map<Json, boolean>())
  if (answers.size > MOST_KNOWN) answers.clear()
  // A list is kept as text, told apart from the same text as a value.
  const key = isScalar(value) ? value : `\0${JSON.stringify(value)}`
  return answers.getOrInsertComputed(key, () => validates(resource, name, value))
}

function validates(resource: Resource, name: string, value: Json): boolean {
  const faults = resource.validate({ [name]: value })
  return !faults.some(({ pointer }) => pointer === `/${name}` || pointer.startsWith(`/${name}/`))
}

/** The same object with new values in its unique fields, as far as the schema lets them be replaced. */
export function withUniqueValues(
  resource: Resource,
  object: Representation,
  kept: ReadonlySet<string>,
): Representation {
  const entries = Object.entries(object).map(([name, value]): [string, Json] => {
    const field = resource.fields.get(name)
    return field?.unique && !kept.has(name) ? [name, uniqueLike(resource, field, value)] : [name, value]
  })
  return Object.fromEntries(entries)
}

/** Starts at random, so that values differ from those of earlier runs. */
let count = randomInt(2 ** 40)

/** The values of each field that were given out, so that small forms give none twice. */
const given = new WeakMap<Resource, Map<string, Set<Json>>>()
const MOST_GIVEN = 100_000

/** The distance between numbers. Series that start at slightly different values never produce the same number. */
const APART = 8

function uniqueLike(resource: Resource, field: Field, value: Json): Json {
  const { name, type } = field
  if (type === 'boolean') return value
  if (type !== 'string') return numberLike(resource, field, Number(value))
  const id = randomUUID()
  const nth = count++
  const digits = [8, 7, 6, 5, 4].map((length) => String(nth).slice(-length))
  const short = [`${id}@example.com`, id, id.slice(0, 12), ...digits]
  const taken = given.getOrInsertComputed(resource, () => new Map<string, Set<Json>>())
  const here = taken.getOrInsertComputed(name, () => new Set<Json>())
  const fits = (one: Json) => one !== value && !here.has(one) && isValidIn(resource, name, one)
  const found = short.find(fits) ?? alike(String(value)).find(fits)
  if (found === undefined) return value
  if (here.size >= MOST_GIVEN) here.clear()
  here.add(found)
  return found
}

/** A number of the largest series that the schema has room for. */
function numberLike(resource: Resource, { name }: Field, value: number): Json {
  const sizes = Array.from({ length: 40 }, (_, i) => 2 ** (40 - i))
  const size = sizes.find((one) => isValidIn(resource, name, value + APART * (one - 1))) ?? 1
  return value + APART * (count++ % size)
}

/** A text, and the places of the characters that others may replace. */
interface TextPattern {
  readonly text: string
  readonly places: readonly number[]
}

/** A form with fewer texts comes last. */
const ENOUGH = 10_000

/** How many texts of a form are tried: a schema may refuse some, such as days after the end of a month. */
const MOST_TRIED = 32

/**
 * Texts of the same form, each time others: `XQF-73` for `ABC-01`, which most patterns accept too. Where a pattern wants
 * parts as they are, another part is replaced, or made longer: `kfeopqxla@acme.com` for `a@acme.com`.
 */
function* alike(text: string): Generator<string, undefined> {
  const sizeOf = ({ text: one, places }: TextPattern) =>
    places.reduce((size, place) => size * (alphabetOf(one.charAt(place))?.length ?? 1), 1)
  for (const form of formsOf(text).toSorted((a, b) => Number(sizeOf(b) > ENOUGH) - Number(sizeOf(a) > ENOUGH)))
    for (let i = 0; i < MOST_TRIED; i++) yield replaced(form, count++)
  return undefined
}

function formsOf(text: string): readonly TextPattern[] {
  const placesOf = (pattern: RegExp) => [...text.matchAll(pattern)].map(({ index }) => index)
  const parts = [...text.matchAll(/[0-9]+|[A-Z]+|[a-z]+/g)].map(({ index, 0: part }) => ({ index, part }))
  const alone = parts.map(({ index, part }) => ({ text, places: Array.from(part, (_, i) => index + i) }))
  const longer = parts.map(({ index, part }) => ({
    text: text.slice(0, index) + part.charAt(0).repeat(LONGER) + text.slice(index),
    places: Array.from({ length: LONGER }, (_, i) => index + i),
  }))
  const kinds = [/[0-9A-Za-z]/g, /[0-9]/g, /[A-Z]/g, /[a-z]/g].map((kind) => ({ text, places: placesOf(kind) }))
  const ends = { text, places: parts.map(({ index, part }) => index + part.length - 1) }
  return [...kinds, ends, ...alone, ...longer]
}

/** By how many characters a part is made longer. */
const LONGER = 8

function replaced({ text, places }: TextPattern, nth: number): string {
  const characters = text.split('')
  let left = nth
  for (const place of places.toReversed()) {
    const from = alphabetOf(text.charAt(place)) ?? text.charAt(place)
    characters[place] = from.charAt(left % from.length)
    left = Math.floor(left / from.length)
  }
  return characters.join('')
}

function alphabetOf(character: string): string | undefined {
  return ALPHABETS.find((alphabet) => alphabet.includes(character))
}

const ALPHABETS = ['0123456789', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz']
