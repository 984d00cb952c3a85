/** Finds every schema inside a schema of JSON Schema 2020-12, and which of them apply to the same value. */
import { isObject } from '../../base/is-object.ts'
import { type Path, pathOfPointer } from '../../base/json-pointer.ts'
import type { Json } from '../resource.ts'
import type { JsonObject } from './schema-file.ts'

export interface Subschema {
  readonly path: Path
  readonly schema: JsonObject | boolean
  /** Applies to the very value that the schema around it applies to. */
  readonly inPlace: boolean
}

interface Applicator {
  /** One schema, or several in a list or by name. */
  readonly holds: 'one' | 'several'
  readonly inPlace: boolean
}

/** JSON Schema 2020-12 core sections 8.2.4, 10 and 11. */
const APPLICATORS: ReadonlyMap<string, Applicator> = new Map([
  ...applicators(['allOf', 'anyOf', 'oneOf', 'dependentSchemas'], { holds: 'several', inPlace: true }),
  ...applicators(['if', 'then', 'else', 'not'], { holds: 'one', inPlace: true }),
  ...applicators(['$defs', 'properties', 'patternProperties', 'prefixItems'], { holds: 'several', inPlace: false }),
  ...applicators(['items', 'contains', 'unevaluatedItems'], { holds: 'one', inPlace: false }),
  ...applicators(['additionalProperties', 'propertyNames', 'unevaluatedProperties'], { holds: 'one', inPlace: false }),
])

/** The schema itself and all schemas inside it, outer ones first. It must be valid under the meta-schema. */
export function allSubschemas(schema: JsonObject | boolean): readonly Subschema[] {
  return withInner({ path: [], schema, inPlace: true })
}

/** The schema of each field; the file must be valid under the meta-schema. */
export function fieldSchemas({ properties }: JsonObject): Readonly<Record<string, Json>> {
  return isObject(properties) ? properties : {}
}

/** The schemas right inside a schema. */
export function innerSchemas({ path, schema }: Pick<Subschema, 'path' | 'schema'>): readonly Subschema[] {
  if (typeof schema === 'boolean') return []
  return Object.entries(schema).flatMap(([keyword, value]) => held([...path, keyword], value, APPLICATORS.get(keyword)))
}

function withInner(one: Subschema): readonly Subschema[] {
  return [one, ...innerSchemas(one).flatMap(withInner)]
}

function held(path: Path, value: Json, applicator: Applicator | undefined): readonly Subschema[] {
  if (applicator === undefined) return []
  const values: readonly (readonly [Path, Json])[] =
    applicator.holds === 'one'
      ? [[path, value]]
      : Object.entries(value ?? {}).map(([key, inner]) => [[...path, key], inner as Json])
  return values.flatMap(([where, schema]) =>
    isSchema(schema) ? [{ path: where, schema, inPlace: applicator.inPlace }] : [],
  )
}

function isSchema(value: Json): value is JsonObject | boolean {
  return typeof value === 'boolean' || isObject(value)
}

function applicators(keywords: readonly string[], applicator: Applicator): readonly (readonly [string, Applicator])[] {
  return keywords.map((keyword) => [keyword, applicator])
}

// Follows a `$ref` into the same file.

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
