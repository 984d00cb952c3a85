/** Checks that the server acts on every keyword of a schema, and that the keyword stands where it has an effect. */
import type { Diagnostic } from '../../base/diagnostic.ts'
import { didYouMean, nearestName } from '../../base/did-you-mean.ts'
import { isObject } from '../../base/is-object.ts'
import type { Path } from '../../base/json-pointer.ts'
import type { Json } from '../resource.ts'
import { OWN_KEYWORDS } from '../schema/own-keywords.ts'
import type { JsonObject, SchemaFile } from '../schema/schema-file.ts'
import { allSubschemas } from '../schema/subschemas.ts'
import type { SchemaCode } from './codes.ts'

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
const ownKeywords = (on: 'file' | 'field') =>
  Object.keys(OWN_KEYWORDS).filter((name) => OWN_KEYWORDS[name]?.on.includes(on))
const OF_FILE: ReadonlySet<string> = new Set(['$schema', ...ownKeywords('file')])
/**
 * Deeper inside a field, the server would neither apply the default nor refuse a client's value, so the keyword would
 * mislead.
 */
const OF_FIELD: ReadonlySet<string> = new Set(['readOnly', 'default', ...ownKeywords('field')])

/** All keywords that a schema may use; docs/schemas.md explains each. */
export const KEYWORDS: ReadonlySet<string> = new Set([...ANYWHERE, ...OF_FILE, ...OF_FIELD])

export function checkKeywords(file: SchemaFile): readonly Diagnostic[] {
  if (!isObject(file.json)) return []
  return allSubschemas(file.json).flatMap(({ path, schema }) => {
    if (typeof schema === 'boolean') return []
    const faults = Object.entries(schema).flatMap(([keyword, value]) => keywordFaults(file, [...path, keyword], value))
    return [...faults, ...formatFault(file, path, schema), ...uniqueItemsFault(file, path, schema)]
  })
}

/** The message about a file that lacks a keyword at its top. */
const LACKING: Readonly<Record<string, readonly SchemaCode[]>> = {
  type: ['schema-open'],
  additionalProperties: ['schema-open'],
  properties: ['schema-open', 'server-field', 'required-undeclared'],
  'x-resource': ['resource-missing'],
}

/** The faults without those that a keyword with a typing error, reported by itself, brings about. */
export function withoutConsequences({ json }: SchemaFile, faults: readonly Diagnostic[]): readonly Diagnostic[] {
  if (!isObject(json)) return faults
  const unknown = Object.keys(json).filter((keyword) => !KEYWORDS.has(keyword))
  const meant = unknown.map((keyword) => nearestName(keyword, KEYWORDS) ?? '')
  const caused = meant.flatMap((keyword): readonly string[] =>
    Object.hasOwn(json, keyword) ? [] : (LACKING[keyword] ?? []),
  )
  return faults.filter(({ code }) => !caused.includes(code))
}

function keywordFaults(file: SchemaFile, path: Path, value: Json): readonly Diagnostic[] {
  const keyword = String(path.at(-1))
  if (ANYWHERE.has(keyword)) return []
  const [onFile, onField] = [OF_FILE.has(keyword), OF_FIELD.has(keyword)]
  if (onFile && path.length === 1) return []
  if (onFile && !onField) return [misplaced(file, path, 'at the top of the file')]
  if (!onField) {
    const meant = didYouMean(keyword, KEYWORDS)
    return [file.faultAtKey(path, 'keyword-unknown', `the keyword \`${keyword}\` is not supported${meant}`)]
  }
  if (!isOfField(path)) return [misplaced(file, path, 'on a field of the resource itself')]
  if (OWN_KEYWORDS[keyword]?.takes?.(value) ?? true) return []
  return [file.fault(path, 'index-value', `\`${keyword}\` must be \`true\` or \`false\``)]
}

function misplaced(file: SchemaFile, path: Path, where: string): Diagnostic {
  return file.faultAtKey(path, 'keyword-misplaced', `\`${path.at(-1)}\` has an effect only ${where}`)
}

function isOfField(path: Path): boolean {
  return path.length === 3 && path[0] === 'properties'
}

function formatFault(file: SchemaFile, path: Path, { format }: JsonObject): readonly Diagnostic[] {
  if (format === undefined || FORMATS.some((known) => known === format)) return []
  return [file.fault([...path, 'format'], 'format-unknown', `the format \`${format}\` is not supported`)]
}

/** Each object is compared with each other: a list of 100 kB would take minutes, whatever `maxItems` is. */
function uniqueItemsFault(file: SchemaFile, path: Path, { uniqueItems, items }: JsonObject): readonly Diagnostic[] {
  if (uniqueItems !== true || (isObject(items) && isScalarType(items.type))) return []
  return [
    file.fault(
      [...path, 'uniqueItems'],
      'unique-items-slow',
      '`uniqueItems` is slow if items can be objects or arrays',
    ),
  ]
}

export function isScalarType(type: Json | undefined): boolean {
  return type === 'string' || type === 'number' || type === 'integer' || type === 'boolean'
}
