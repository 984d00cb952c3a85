/** Checks the fields of a resource: a closed object, the server's fields, names, required fields and indexes. */
import type { Diagnostic } from '../../base/diagnostic.ts'
import { didYouMean } from '../../base/did-you-mean.ts'
import { isObject } from '../../base/is-object.ts'
import { type Path, pointerOfPath } from '../../base/json-pointer.ts'
import { declaredField } from '../load/make-fields.ts'
import type { Json } from '../resource.ts'
import type { JsonObject, SchemaFile } from '../schema/schema-file.ts'
import { allSubschemas, fieldSchemas, innerSchemas, localPointer, type Subschema } from '../schema/subschemas.ts'
import { isScalarType, KEYWORDS } from './keywords.ts'

const SERVER_FIELDS = ['id', 'createdAt', 'updatedAt']
/** Parameters of a list's query string: a filter by a field of the same name would clash. */
const QUERY_PARAMETERS: ReadonlySet<string> = new Set(['limit', 'sort', 'fields', 'cursor', 'count'])
/** The member of an object's answer that says what its caller can do. */
const CAN = 'can'

export function checkFields(file: SchemaFile): readonly Diagnostic[] {
  const { json } = file
  if (!isObject(json)) return []
  const fields = fieldSchemas(json)
  return [
    ...openFaults(file, json),
    ...serverFieldsOf(json).flatMap((name) => serverFieldFault(file, fields, name)),
    ...Object.keys(fields).flatMap((name) => nameFault(file, name)),
    ...expandFaults(file, fields),
    ...allSubschemas(json).flatMap((one) => requiredFaults(file, one)),
    ...Object.keys(fields).flatMap((name) => indexFaults(file, json, name)),
    ...togetherFaults(file, json),
  ]
}

/** Another service keeps its own times, and names them as it likes. */
function serverFieldsOf({ 'x-resource': declared }: JsonObject): readonly string[] {
  return isObject(declared) && declared.external === true ? ['id'] : SERVER_FIELDS
}

/** Only declared fields can be granted or refused, so the schema must not accept other fields. */
function openFaults(file: SchemaFile, { type, additionalProperties, patternProperties }: JsonObject) {
  const faults: Diagnostic[] = []
  const add = (keyword: string, message: string) => faults.push(file.fault([keyword], 'schema-open', message))
  if (type !== 'object') add('type', 'a resource must be of the `type` `object`')
  if (additionalProperties !== false) add('additionalProperties', '`additionalProperties` must be `false`')
  if (patternProperties !== undefined)
    add('patternProperties', '`patternProperties` accepts fields that the schema does not declare')
  return faults
}

function serverFieldFault(file: SchemaFile, fields: Readonly<Record<string, Json>>, name: string) {
  const schema = fields[name]
  if (schema === undefined) return [file.fault(['properties'], 'server-field', `the field \`${name}\` is missing`)]
  if (isObject(schema) && schema.type === 'string' && schema.readOnly === true) return []
  // A typing error, such as `readonly`, is reported by itself.
  if (isObject(schema) && Object.keys(schema).some((keyword) => !KEYWORDS.has(keyword))) return []
  return [file.fault(['properties', name], 'server-field', `\`${name}\` must be a string that only the server writes`)]
}

function nameFault(file: SchemaFile, name: string): readonly Diagnostic[] {
  if (name === CAN) {
    const message = `the field \`${name}\` would look like what \`?can=true\` adds to each object`
    return [file.faultAtKey(['properties', name], 'field-name', message)]
  }
  // A name that every JavaScript object inherits would look present where it is absent.
  if (/^[A-Za-z][A-Za-z0-9_]{0,63}$/.test(name) && !(name in Object.prototype)) return []
  return [file.faultAtKey(['properties', name], 'field-name', `\`${name}\` can't be a field's name`)]
}

/** Where a field refers to other objects, lists take `expand`, and answers have `expanded`. */
function expandFaults(file: SchemaFile, fields: Readonly<Record<string, Json>>): readonly Diagnostic[] {
  const refers = Object.values(fields).some((schema) => isObject(schema) && schema['x-reference'] !== undefined)
  return ['expand', 'expanded']
    .filter((name) => refers && Object.hasOwn(fields, name))
    .map((name) => {
      const message = `the field \`${name}\` would look like what \`?expand\` asks for, or adds to each object`
      return file.faultAtKey(['properties', name], 'field-name', message)
    })
}

/** A closed object (the root or an inner one) can't have a field that isn't declared, so it must not require one. */
function requiredFaults(file: SchemaFile, { path, schema }: Subschema): readonly Diagnostic[] {
  if (!isObject(schema) || schema.additionalProperties !== false || schema.patternProperties !== undefined) return []
  const required = (schema.required ?? []) as readonly string[]
  return required.flatMap((name, i) =>
    isObject(schema.properties) && Object.hasOwn(schema.properties, name)
      ? []
      : [file.fault([...path, 'required', i], 'required-undeclared', `\`${name}\` is required but not declared`)],
  )
}

function indexFaults(file: SchemaFile, json: JsonObject, name: string): readonly Diagnostic[] {
  const schema = fieldSchemas(json)[name]
  if (!isObject(schema)) return []
  return ['x-index', 'x-unique'].flatMap((keyword) => {
    const path = ['properties', name, keyword]
    return schema[keyword] !== true ? [] : [...notScalar(file, json, path, name), ...queryNameFault(file, path, name)]
  })
}

/** `x-unique` at the top of the file: lists of fields. */
function togetherFaults(file: SchemaFile, json: JsonObject): readonly Diagnostic[] {
  const declared = json['x-unique']
  if (declared === undefined) return []
  const fault = (path: Path, message: string) => file.fault(['x-unique', ...path], 'unique-together', message)
  if (!Array.isArray(declared) || declared.length === 0 || declared.length > MOST_TOGETHER) {
    return [fault([], `\`x-unique\` of a file must be a list of 1 to ${MOST_TOGETHER} lists of fields`)]
  }
  return declared.flatMap((names: Json, at): readonly Diagnostic[] => {
    if (
      !Array.isArray(names) ||
      names.length < 2 ||
      names.length > MOST_TOGETHER ||
      new Set(names).size < names.length
    ) {
      return [fault([at], `fields that are unique together must be 2 to ${MOST_TOGETHER} different ones`)]
    }
    // Their order means nothing, and an engine makes no second index of one name.
    if (declared.slice(0, at).some((other: Json) => isSameSet(other, names))) {
      return [fault([at], 'another list has the same fields')]
    }
    return names.flatMap((name: Json, i) => {
      const why = typeof name === 'string' ? togetherFault(json, name) : 'is no name of a field'
      return why === undefined ? [] : [fault([at, i], `\`${name}\` ${why}`)]
    })
  })
}

function isSameSet(one: Json, names: readonly Json[]): boolean {
  return Array.isArray(one) && new Set(one).symmetricDifference(new Set(names)).size === 0
}

/** Each list makes an index, and each field a column. */
const MOST_TOGETHER = 8

function togetherFault(json: JsonObject, name: string): string | undefined {
  if (!Object.hasOwn(fieldSchemas(json), name)) {
    return `is not declared under \`properties\`${didYouMean(name, Object.keys(fieldSchemas(json)))}`
  }
  if (SERVER_FIELDS.includes(name)) return 'is different in each object, or the time of a write'
  const { type, list } = declaredField(json, name)
  return isScalarType(type) && !list ? undefined : 'has no single value to compare'
}

function notScalar(file: SchemaFile, json: JsonObject, path: Path, name: string): readonly Diagnostic[] {
  const { type, list } = declaredField(json, name)
  if (isScalarType(type) && !list) return []
  return [file.faultAtKey(path, 'index-not-scalar', `\`${name}\` has no single value to compare`)]
}

function queryNameFault(file: SchemaFile, path: Path, name: string): readonly Diagnostic[] {
  if (!QUERY_PARAMETERS.has(name)) return []
  return [
    file.faultAtKey(path, 'field-name', `a filter on \`${name}\` would look like the query parameter \`${name}\``),
  ]
}

// Checks that every `$ref` names another schema of the same file, and that no chain of references is endless.

type FieldTargets = ReadonlyMap<string, Subschema>

export function checkReferences(file: SchemaFile): readonly Diagnostic[] {
  if (!isObject(file.json)) return []
  const all = allSubschemas(file.json)
  const targets: FieldTargets = new Map(all.map((one) => [pointerOfPath(one.path), one]))
  return all.flatMap((one) => referenceFault(file, targets, one))
}

function referenceFault(file: SchemaFile, targets: FieldTargets, one: Subschema): readonly Diagnostic[] {
  const reference = typeof one.schema === 'boolean' ? undefined : one.schema.$ref
  if (reference === undefined) return []
  const path = [...one.path, '$ref']
  const pointer = localPointer(reference)
  if (pointer === undefined) {
    return [file.fault(path, 'ref-outside', `\`${reference}\` does not refer to a place in this file`)]
  }
  if (!targets.has(pointer)) return [file.fault(path, 'ref-unknown', `there is no schema at \`${reference}\``)]
  if (!reaches(targets, one, one)) return []
  return [file.fault(path, 'ref-loop', `\`${reference}\` leads back to this schema for the same value, without end`)]
}

/** Whether validating a value with `from` leads to validating the same value with `goal`. */
function reaches(targets: FieldTargets, from: Subschema, goal: Subschema, seen = new Set<string>()): boolean {
  return nextInPlace(targets, from).some((next) => {
    const pointer = pointerOfPath(next.path)
    if (pointer === pointerOfPath(goal.path)) return true
    if (seen.has(pointer)) return false
    seen.add(pointer)
    return reaches(targets, next, goal, seen)
  })
}

function nextInPlace(targets: FieldTargets, one: Subschema): readonly Subschema[] {
  const pointer = typeof one.schema === 'boolean' ? undefined : localPointer(one.schema.$ref)
  const target = pointer === undefined ? undefined : targets.get(pointer)
  return [...innerSchemas(one).filter(({ inPlace }) => inPlace), ...(target ? [target] : [])]
}
