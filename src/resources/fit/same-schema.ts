/** Whether two schemas are written alike, with the schemas that their references lead to. */
import { isDeepStrictEqual } from 'node:util'
import { isObject } from '../../base/is-object.ts'
import type { Json } from '../resource.ts'
import { referredSchema } from '../schema/references.ts'
import { innerSchemas } from '../schema/subschemas.ts'
import { type RootedSchema, WITHOUT_EFFECT } from './parts.ts'

/**
 * `seen`: the pairs that are looked at already, or are being looked at. One difference ends the comparison, so until
 * then each of them counts as the same.
 */
export function isSameSchema(a: RootedSchema, b: RootedSchema, seen = new Map<Json, Set<Json>>()): boolean {
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
