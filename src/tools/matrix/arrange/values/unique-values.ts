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

/** The distance between numbers. Series that start at slightly different values never produce the same number. */
const APART = 8

function uniqueLike(resource: Resource, field: Field, value: Json): Json {
  const { name, type } = field
  if (type === 'boolean') return value
  if (type !== 'string') return numberLike(resource, field, Number(value))
  const id = randomUUID()
  const nth = count++
  const digits = [8, 7, 6, 5, 4].map((length) => String(nth).slice(-length))
  const proposed = [`${id}@example.com`, id, id.slice(0, 12), ...digits, ...alike(String(value), nth)]
  return proposed.find((one) => isValidIn(resource, name, one)) ?? value
}

/** A number of the largest series that the schema has room for. */
function numberLike(resource: Resource, { name }: Field, value: number): Json {
  const sizes = Array.from({ length: 40 }, (_, i) => 2 ** (40 - i))
  const size = sizes.find((one) => isValidIn(resource, name, value + APART * (one - 1))) ?? 1
  return value + APART * (count++ % size)
}

/** Texts of the same form, a different one for each number: `XQF-73` for `ABC-01`, which most patterns accept too. */
function alike(text: string, nth: number): readonly string[] {
  return [/[0-9A-Za-z]/g, /[0-9]/g, /[A-Z]/g, /[a-z]/g].map((places) => {
    let left = nth
    const characters = [...text].toReversed().map((character) => {
      const from = character.match(places) ? ALPHABETS.find((alphabet) => alphabet.includes(character)) : undefined
      if (!from) return character
      const chosen = from.charAt(left % from.length)
      left = Math.floor(left / from.length)
      return chosen
    })
    return characters.toReversed().join('')
  })
}

const ALPHABETS = ['0123456789', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz']
