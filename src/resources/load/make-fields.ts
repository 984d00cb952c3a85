/** The fields that a schema declares: their types for policies and stores, which compare values. */
import { isObject } from '../../base/is-object.ts'
import type { Field, FieldType, Json, OnDelete, Resource } from '../resource.ts'
import type { JsonObject } from '../schema/schema-file.ts'
import { fieldSchemas, followReferences } from '../schema/subschemas.ts'

/** In the order of the file. The schema must have passed the checks. */
export function makeFields(json: JsonObject): ReadonlyMap<string, Field> {
  const names = Object.keys(json.properties ?? {})
  return new Map(names.map((name) => [name, Object.freeze(declaredField(json, name))]))
}

/** `x-reference` of fields. */
export function referencesIn(fields: ReadonlyMap<string, Field>): Pick<Resource, 'references'> {
  const references = [...fields.values()].flatMap(({ name, reference }) =>
    reference ? [{ field: name, reference }] : [],
  )
  return references.length === 0 ? {} : { references }
}

/** `x-unique` at the top of the file. */
export function uniqueTogetherIn(json: JsonObject): Pick<Resource, 'uniqueTogether'> {
  const declared = json['x-unique']
  return Array.isArray(declared) ? { uniqueTogether: deepFreeze(declared) as readonly (readonly string[])[] } : {}
}

export function declaredField(json: JsonObject, name: string): Field {
  const declared = fieldSchemas(json)[name]
  const own = isObject(declared) ? declared : {}
  return {
    name,
    ...typeOf(json, own),
    ...timeOf(json, name, own),
    ...referenceOf(json, own),
    ...listedOf(json, own),
    readOnly: own.readOnly === true,
    indexed: own['x-index'] === true,
    unique: own['x-unique'] === true,
    default: deepFreeze(own.default),
  }
}

function typeOf(root: JsonObject, field: JsonObject): Pick<Field, 'type' | 'list'> {
  const schema = followReferences(root, field)
  const type = singleType(schema)
  if (type !== 'array' || !isObject(schema)) return { type: fieldType(type), list: false }
  const element = singleType(followReferences(root, schema.items ?? true))
  return { type: schema.prefixItems === undefined ? fieldType(element) : 'other', list: true }
}

/** The server writes its times as RFC 3339, whatever the schema says about them. */
function timeOf(root: JsonObject, name: string, field: JsonObject): Pick<Field, 'time'> {
  const schema = followReferences(root, field)
  const time = isObject(schema) && schema.format === 'date-time'
  return time || name === 'createdAt' || name === 'updatedAt' ? { time: true } : {}
}

function referenceOf(root: JsonObject, field: JsonObject): Pick<Field, 'reference'> {
  const declared = field['x-reference']
  if (!isObject(declared) || typeof declared.resource !== 'string') return {}
  const schema = followReferences(root, field)
  const types = isObject(schema) && Array.isArray(schema.type) ? schema.type : []
  const onDelete = (declared.onDelete ?? 'restrict') as OnDelete
  return { reference: Object.freeze({ resource: declared.resource, onDelete, nullable: types.includes('null') }) }
}

function listedOf(root: JsonObject, field: JsonObject): Pick<Field, 'oneOf'> {
  const schema = followReferences(root, field)
  if (!isObject(schema)) return {}
  if (schema.const !== undefined) return { oneOf: [schema.const] }
  return Array.isArray(schema.enum) ? { oneOf: schema.enum } : {}
}

/** `["string", "null"]` is a string that may be null, and null makes no relation hold. */
function singleType(schema: Json): Json | undefined {
  const type = isObject(schema) ? schema.type : undefined
  if (!Array.isArray(type)) return type
  const [only, ...others] = (type as readonly Json[]).filter((one) => one !== 'null')
  return others.length === 0 ? only : undefined
}

function fieldType(type: Json | undefined): FieldType {
  return type === 'string' || type === 'integer' || type === 'number' || type === 'boolean' ? type : 'other'
}

function deepFreeze(value: Json | undefined): Json | undefined {
  if (typeof value !== 'object' || value === null) return value
  for (const inner of Object.values(value)) deepFreeze(inner)
  return Object.freeze(value)
}
