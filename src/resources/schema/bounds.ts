/** Finds the fields of a schema that can hold a value of any size, and the keywords that would bound them. */
import regjsparser, { type AstNode } from 'regjsparser'
import { isObject } from '../../base/is-object.ts'
import type { Json, Resource } from '../resource.ts'
import type { JsonObject } from './schema-file.ts'
import { fieldSchemas, followReferences } from './subschemas.ts'

interface Unbounded {
  readonly field: string
  /** The keywords that would bound it: one for each unbounded part. */
  readonly lacks: readonly string[]
}

/** Clients don't write the server's own fields. */
export function unboundedFields({ schema, fields }: Pick<Resource, 'schema' | 'fields'>): readonly Unbounded[] {
  const properties = fieldSchemas(schema)
  return [...fields.values()].flatMap(({ name, readOnly }) => {
    const lacks = readOnly ? [] : lacksOf(schema, properties[name] ?? true, [])
    return lacks.length === 0 ? [] : [{ field: name, lacks: [...new Set(lacks)] }]
  })
}

/** Formats whose texts can't be long (a fraction of a second can be, but isn't worth a warning). */
const SHORT: readonly Json[] = ['date', 'time', 'date-time', 'duration', 'hostname', 'ipv4', 'ipv6', 'uuid']

const SIZED: readonly Json[] = ['string', 'array', 'object']

/** Empty when the schema, or one that applies beside it, bounds the value. */
function lacksOf(root: JsonObject, written: Json, around: readonly Json[]): readonly string[] {
  if (written === false) return []
  if (!isObject(written)) return ['type']
  // A value within itself is nested as deeply as a body may be, each time wider.
  if (around.includes(written)) return ['$ref']
  const [schema, inside] = [written, [...around, written]]
  const lacks =
    schema.$ref !== undefined && ownLacks(root, schema, inside).length > 0
      ? lacksOf(root, followReferences(root, schema), inside)
      : ownLacks(root, schema, inside)
  if (lacks.length === 0) return []
  const beside = listOf(schema.allOf).some((one) => lacksOf(root, one, inside).length === 0)
  const branches = [schema.anyOf, schema.oneOf].map(listOf).filter((some) => some.length > 0)
  const oneOf = branches.some((some) => some.every((one) => lacksOf(root, one, inside).length === 0))
  return beside || oneOf ? [] : lacks
}

function ownLacks(root: JsonObject, schema: JsonObject, inside: readonly Json[]): readonly string[] {
  if (schema.const !== undefined || schema.enum !== undefined) return []
  if (schema.type === undefined) {
    const branches = [...listOf(schema.anyOf), ...listOf(schema.oneOf)]
    return branches.length === 0 ? ['type'] : branches.flatMap((one) => lacksOf(root, one, inside))
  }
  return [schema.type].flat().flatMap((type) => {
    if (!SIZED.includes(type as Json)) return []
    if (type === 'string') return isShortText(schema) ? [] : ['maxLength']
    return type === 'array' ? arrayLacks(root, schema, inside) : objectLacks(root, schema, inside)
  })
}

function isShortText({ maxLength, format, pattern }: JsonObject): boolean {
  if (maxLength !== undefined || (format !== undefined && SHORT.includes(format))) return true
  return typeof pattern === 'string' && boundsText(pattern)
}

function arrayLacks(root: JsonObject, schema: JsonObject, inside: readonly Json[]): readonly string[] {
  const first = listOf(schema.prefixItems).flatMap((one) => lacksOf(root, one, inside))
  if (schema.items === false || schema.unevaluatedItems === false || schema.maxItems === 0) return first
  const rest = schema.items === undefined ? ['items'] : lacksOf(root, schema.items, inside)
  return [...(schema.maxItems === undefined ? ['maxItems'] : []), ...first, ...rest]
}

function objectLacks(root: JsonObject, schema: JsonObject, inside: readonly Json[]): readonly string[] {
  const { properties, patternProperties, additionalProperties, unevaluatedProperties } = schema
  const known = Object.values((properties ?? {}) as JsonObject).flatMap((one) => lacksOf(root, one, inside))
  const patterns = Object.values((patternProperties ?? {}) as JsonObject)
  const rest = additionalProperties ?? unevaluatedProperties
  if (rest === undefined) return [...known, 'additionalProperties']
  const free = rest === false ? patterns : [...patterns, rest]
  if (free.length === 0) return known
  const isNamed = rest === false && Object.keys(patternProperties as JsonObject).every(boundsText)
  const names =
    isNamed || (isObject(schema.propertyNames) && isShortText(schema.propertyNames)) ? [] : ['propertyNames']
  const count = schema.maxProperties === undefined ? ['maxProperties'] : []
  return [...known, ...names, ...count, ...free.flatMap((one) => lacksOf(root, one, inside))]
}

function listOf(json: Json | undefined): readonly Json[] {
  return Array.isArray(json) ? json : []
}

// Whether a regular expression of a schema (flag `u`) fits short texts alone, as `^[A-Z]{3}$` does.

const FEATURES = { lookbehind: true, namedGroups: true, unicodePropertyEscape: true } as const
export type PatternNode = AstNode<typeof FEATURES>

/** The parts of a regular expression of a schema, which compiles. */
export function patternTree(pattern: string): PatternNode {
  return regjsparser.parse(pattern, 'u', FEATURES) as PatternNode
}

/** JSON Schema looks for the pattern anywhere in the text, so it bounds a text only from its start to its end. */
export function boundsText(pattern: string): boolean {
  const tree = patternTree(pattern)
  return isAnchored(tree, 'start') && isAnchored(tree, 'end') && isShort(tree)
}

function isAnchored(node: PatternNode, edge: 'start' | 'end'): boolean {
  switch (node.type) {
    case 'anchor':
      return node.kind === edge
    case 'disjunction':
      return (node.body as readonly PatternNode[]).every((branch) => isAnchored(branch, edge))
    case 'alternative':
    case 'group': {
      const part = isLookaround(node) ? undefined : (node.body as readonly PatternNode[]).at(edge === 'start' ? 0 : -1)
      return part !== undefined && isAnchored(part, edge)
    }
    default:
      return false
  }
}

/** A reference repeats a group, which is short too. */
function isShort(node: PatternNode): boolean {
  switch (node.type) {
    case 'quantifier':
      return node.max !== undefined && isShort(node.body[0])
    case 'disjunction':
    case 'alternative':
    case 'group':
      return isLookaround(node) || (node.body as readonly PatternNode[]).every(isShort)
    default:
      return true
  }
}

/** It takes no character of the text. */
function isLookaround(node: PatternNode): boolean {
  return node.type === 'group' && node.behavior !== 'normal' && node.behavior !== 'ignore'
}
