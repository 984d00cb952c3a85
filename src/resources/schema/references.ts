/** Follows a `$ref` into the same file. */

import { isObject } from '../../base/is-object.ts'
import { pathOfPointer } from '../../base/json-pointer.ts'
import type { Json } from '../resource.ts'

/** Follows `$ref` and returns the first schema that has none; the schema itself when it leads nowhere. */
export function followReferences(root: Json, schema: Json): Json {
  const target = referredSchema(root, schema)
  return target === undefined ? schema : followReferences(root, target)
}

/** The schema that `$ref` names, or undefined if there is no `$ref`, or it leads nowhere. */
export function referredSchema(root: Json, schema: Json): Json | undefined {
  const pointer = isObject(schema) ? localPointer(schema.$ref) : undefined
  return pointer === undefined ? undefined : pathOfPointer(pointer).reduce<Json | undefined>(stepInto, root)
}

function stepInto(value: Json | undefined, key: string): Json | undefined {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Readonly<Record<string, Json>>)[key]
    : undefined
}

/** The JSON Pointer of a reference into the same file (`#`, `#/…`), or undefined. */
export function localPointer(reference: Json | undefined): string | undefined {
  if (typeof reference !== 'string' || !/^#(?:\/|$)/.test(reference)) return undefined
  try {
    return decodeURIComponent(reference.slice(1))
  } catch {
    return undefined
  }
}
