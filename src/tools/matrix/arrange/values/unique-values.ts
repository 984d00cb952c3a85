/** Values that no other object has, for the fields that a schema wants unique. */
import { randomInt, randomUUID } from 'node:crypto'
import type { Field, Json, Representation, Resource } from '../../../../resources/resource.ts'
import { isValidIn } from './samples.ts'

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
interface Form {
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
  const sizeOf = ({ text: one, places }: Form) =>
    places.reduce((size, place) => size * (alphabetOf(one.charAt(place))?.length ?? 1), 1)
  for (const form of formsOf(text).toSorted((a, b) => Number(sizeOf(b) > ENOUGH) - Number(sizeOf(a) > ENOUGH)))
    for (let i = 0; i < MOST_TRIED; i++) yield replaced(form, count++)
  return undefined
}

function formsOf(text: string): readonly Form[] {
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

function replaced({ text, places }: Form, nth: number): string {
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
