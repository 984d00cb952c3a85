/**
 * Finds the constraints of a schema on several fields at once: there, a fault of one field may depend on another field.
 */
import { isObject } from '../../base/is-object.ts'
import type { Json, Resource } from '../resource.ts'
import type { JsonObject } from './schema-file.ts'
import { followReferences } from './subschemas.ts'

export interface CrossFieldRule {
  readonly keyword: string
  readonly fields: ReadonlySet<string>
}

/**
 * The constraints at the root of the schema, and in its `allOf` and `$ref`, that name two fields or more; and the fields
 * that are unique together.
 */
export function crossFieldRulesIn({
  schema,
  fields,
  uniqueTogether = [],
}: Pick<Resource, 'schema' | 'fields' | 'uniqueTogether'>): readonly CrossFieldRule[] {
  const reader: SchemaReader = {
    root: schema,
    all: [...fields.values()].flatMap(({ name, readOnly }) => (readOnly ? [] : [name])),
  }
  const together = uniqueTogether.map((names) => ({ keyword: 'x-unique', fields: new Set(names) }))
  return [...comparisonsOf(reader, schema, new Set()), ...together].filter((one) => one.fields.size > 1)
}

interface SchemaReader {
  readonly root: JsonObject
  /** The server's fields are always present, so counting fields says nothing about them. */
  readonly all: readonly string[]
}

function comparisonsOf(reader: SchemaReader, json: Json, seen: Set<Json>): readonly CrossFieldRule[] {
  if (!isObject(json) || seen.has(json)) return []
  seen.add(json)
  return Object.entries(json).flatMap(([keyword, value]): readonly CrossFieldRule[] => {
    switch (keyword) {
      case 'if':
        return [{ keyword, fields: named(reader, [json.if, json.then, json.else]) }]
      case 'anyOf':
      case 'oneOf':
      case 'not':
        return [{ keyword, fields: named(reader, [value].flat()) }]
      case 'minProperties':
      case 'maxProperties':
        return [{ keyword, fields: new Set(reader.all) }]
      case 'dependentRequired':
      case 'dependentSchemas':
        return Object.entries(value as JsonObject).map(([name, of]) => ({
          keyword,
          fields: named(reader, [{ dependentRequired: { [name]: Array.isArray(of) ? of : [] } }, of]),
        }))
      case 'allOf':
        return (value as readonly Json[]).flatMap((one) => comparisonsOf(reader, one, seen))
      case '$ref':
        return comparisonsOf(reader, followReferences(reader.root, json), seen)
      default:
        return []
    }
  })
}

/** The fields that schemas of the whole object look at. */
function named(reader: SchemaReader, schemas: readonly (Json | undefined)[]): ReadonlySet<string> {
  const seen = new Set<Json>()
  const fieldsOf = (json: Json | undefined): readonly string[] => {
    if (!isObject(json) || seen.has(json)) return []
    seen.add(json)
    return Object.entries(json).flatMap(([keyword, value]) => {
      switch (keyword) {
        case 'properties':
          return Object.keys(value as JsonObject)
        case 'required':
          return value as readonly string[]
        case 'dependentRequired':
          return Object.entries(value as JsonObject).flatMap(([name, names]) => [name, ...(names as readonly string[])])
        case 'dependentSchemas':
          return Object.entries(value as JsonObject).flatMap(([name, schema]) => [name, ...fieldsOf(schema)])
        case 'if':
        case 'then':
        case 'else':
        case 'not':
          return fieldsOf(value)
        case 'allOf':
        case 'anyOf':
        case 'oneOf':
          return (value as readonly Json[]).flatMap(fieldsOf)
        case '$ref':
          return fieldsOf(followReferences(reader.root, json))
        case 'minProperties':
        case 'maxProperties':
        case 'propertyNames':
        case 'patternProperties':
        case 'unevaluatedProperties':
          return reader.all
        default:
          return []
      }
    })
  }
  return new Set(schemas.flatMap(fieldsOf))
}
