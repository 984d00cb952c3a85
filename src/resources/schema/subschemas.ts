/** Finds every schema inside a schema of JSON Schema 2020-12, and which of them apply to the same value. */

import { isObject } from '../../base/is-object.ts'
import type { Path } from '../../base/json-pointer.ts'
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
