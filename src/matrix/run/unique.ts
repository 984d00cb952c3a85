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
      ? [`${id}@example.com`, id, id.slice(0, 12), id.replaceAll(/\D/g, '').slice(0, 8)]
      : [randomInt(2 ** 40)]
  return proposed.find((one) => isValid(resource, name, one)) ?? value
}

function isValid(resource: Resource, name: string, value: Json): boolean {
  return !resource.validate({ [name]: value }).some(({ pointer }) => pointer === `/${name}`)
}
