/** Checks that every keyword of a schema is one that the server acts on, and stands where it does. */
import type { Diagnostic } from '../../base/diagnostic.ts'
import type { Path } from '../../base/json-pointer.ts'
import type { Json } from '../resource.ts'
import type { JsonObject, SchemaFile } from '../schema/schema-file.ts'
import { allSubschemas, isObject } from '../schema/subschemas.ts'

/** Formats whose check takes linear time; `url` and `regex` of ajv-formats don't, so they aren't here. */
export const FORMATS = [
  'date',
  'time',
  'date-time',
  'duration',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'uri',
  'uri-reference',
  'uuid',
  'json-pointer',
] as const

const ANYWHERE: ReadonlySet<string> = new Set(
  [
    '$ref $defs $comment title description examples deprecated format type const enum',
    'properties patternProperties additionalProperties unevaluatedProperties propertyNames required',
    'minProperties maxProperties dependentRequired dependentSchemas',
    'items prefixItems unevaluatedItems contains minContains maxContains minItems maxItems uniqueItems',
    'minLength maxLength pattern minimum maximum exclusiveMinimum exclusiveMaximum multipleOf',
    'allOf anyOf oneOf not if then else',
  ].flatMap((line) => line.split(' ')),
)
const ROOT_ONLY: ReadonlySet<string> = new Set(['$schema', 'x-resource'])
/** Further inside a field nothing would give the default or keep clients from the value, so saying it would mislead. */
const FIELD_ONLY: ReadonlySet<string> = new Set(['x-index', 'x-unique', 'readOnly', 'default'])

/** All that a schema may say; docs/schemas.md tells what each means. */
export const KEYWORDS: ReadonlySet<string> = new Set([...ANYWHERE, ...ROOT_ONLY, ...FIELD_ONLY])

export function checkKeywords(file: SchemaFile): readonly Diagnostic[] {
  if (!isObject(file.json)) return []
  return allSubschemas(file.json).flatMap(({ path, schema }) => {
    if (typeof schema === 'boolean') return []
    const unknown = Object.keys(schema).flatMap((keyword) => keywordFault(file, path, keyword))
    return [...unknown, ...formatFault(file, path, schema), ...uniqueItemsFault(file, path, schema)]
  })
}

function keywordFault(file: SchemaFile, path: Path, keyword: string): readonly Diagnostic[] {
  const where = [...path, keyword]
  if (ANYWHERE.has(keyword)) return []
  if (ROOT_ONLY.has(keyword)) return path.length === 0 ? [] : [misplaced(file, where, 'at the top of the file')]
  if (FIELD_ONLY.has(keyword)) return isField(path) ? [] : [misplaced(file, where, 'on a field of the resource itself')]
  return [file.faultAtKey(where, 'keyword-unknown', `the keyword \`${keyword}\` is not supported`)]
}

function misplaced(file: SchemaFile, path: Path, where: string): Diagnostic {
  return file.faultAtKey(path, 'keyword-misplaced', `\`${path.at(-1)}\` has an effect only ${where}`)
}

function isField(path: Path): boolean {
  return path.length === 2 && path[0] === 'properties'
}

function formatFault(file: SchemaFile, path: Path, { format }: JsonObject): readonly Diagnostic[] {
  if (format === undefined || FORMATS.some((known) => known === format)) return []
  return [file.fault([...path, 'format'], 'format-unknown', `the format \`${format}\` is not supported`)]
}

/** Objects are compared each with each: a list of 100 kB would take minutes, whatever `maxItems` says. */
function uniqueItemsFault(file: SchemaFile, path: Path, { uniqueItems, items }: JsonObject): readonly Diagnostic[] {
  if (uniqueItems !== true || (isObject(items) && isScalarType(items.type))) return []
  return [file.fault([...path, 'uniqueItems'], 'unique-items-slow', '`uniqueItems` is slow on what may be structures')]
}

export function isScalarType(type: Json | undefined): boolean {
  return type === 'string' || type === 'number' || type === 'integer' || type === 'boolean'
}
