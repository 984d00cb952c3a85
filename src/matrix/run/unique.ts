/** Values that no other object has, for the fields that a schema wants unique. */
import { randomInt, randomUUID } from 'node:crypto'
import type { Field, Json, Representation, Resource } from '../../resources/resource.ts'

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

function uniqueLike(resource: Resource, { name, type }: Field, value: Json): Json {
  const id = randomUUID()
  const proposed: readonly Json[] =
    type === 'string'
      ? [`${id}@example.com`, id, id.slice(0, 12), id.replaceAll(/\D/g, '').slice(0, 8), ...varied(String(value))]
      : [randomInt(2 ** 40)]
  return proposed.find((one) => isValid(resource, name, one)) ?? value
}

/** Texts of the same form: `XQF-73` for `ABC-01`, which most patterns like as well. */
function varied(text: string): readonly string[] {
  const by = (letters: RegExp, from: string) => (one: string) =>
    one.replaceAll(letters, () => from.charAt(randomInt(from.length)))
  const digits = by(/[0-9]/g, '0123456789')
  const capitals = by(/[A-Z]/g, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ')
  const small = by(/[a-z]/g, 'abcdefghijklmnopqrstuvwxyz')
  return [small(capitals(digits(text))), digits(text), capitals(text), small(text)]
}

function isValid(resource: Resource, name: string, value: Json): boolean {
  return !resource.validate({ [name]: value }).some(({ pointer }) => pointer === `/${name}`)
}
