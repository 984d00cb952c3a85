/** A schema as a list of parts that all hold for the same value, without `$ref` and `allOf`. */
import { isObject } from '../../base/is-object.ts'
import type { Json } from '../resource.ts'
import { OWN_KEYWORDS } from '../schema/own-keywords.ts'
import type { JsonObject } from '../schema/schema-file.ts'
import { referredSchema } from '../schema/subschemas.ts'

/** A schema, with the file that its references lead into. */
export interface RootedSchema {
  readonly root: JsonObject
  readonly schema: Json
}

export interface SchemaPart extends RootedSchema {
  readonly schema: JsonObject
}

/** Bounds the work for schemas that contain one another many times. */
export class Budget {
  #left = 1_000_000
  #branches = 100

  /** `parts`: how many schemas are looked at. Throws TooLarge. */
  spend(parts: number): void {
    this.#left -= 1 + parts
    if (this.#left < 0) throw new TooLarge()
  }

  /** Whether a choice of branches may be compared branch by branch; each such choice multiplies the work. */
  mayBranch(): boolean {
    this.#branches -= 1
    return this.#branches >= 0
  }
}

export class TooLarge extends Error {}

/** Undefined if no value fits, because one of the schemas is `false`. `seen`: those that are parts already. */
export function schemaParts(
  schemas: readonly RootedSchema[],
  seen = new Set<Json>(),
): readonly SchemaPart[] | undefined {
  const parts: SchemaPart[] = []
  for (const { root, schema } of schemas) {
    if (schema === false) return undefined
    if (!isObject(schema) || seen.has(schema as Json)) continue
    seen.add(schema as Json)
    const inner = innerOf({ root, schema: schema as JsonObject })
    const held = inner.length === 0 ? [] : schemaParts(inner, seen)
    if (held === undefined) return undefined
    parts.push({ root, schema: schema as JsonObject }, ...held)
  }
  return parts
}

/** The schemas of `$ref` and `allOf`, which hold beside the schema's own keywords. */
function innerOf({ root, schema }: SchemaPart): readonly RootedSchema[] {
  const referred = referredSchema(root, schema)
  const all = Array.isArray(schema.allOf) ? (schema.allOf as readonly Json[]) : []
  return [...(referred === undefined ? [] : [referred]), ...all].map((one) => ({ root, schema: one }))
}

const TYPES = ['string', 'number', 'boolean', 'object', 'array', 'null'] as const
export type JsonType = (typeof TYPES)[number]

export function typeOfValue(value: Json): JsonType {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value as JsonType
}

/** The types that a part lets a value have; integers count as numbers. */
export function typesOf({ schema }: SchemaPart): ReadonlySet<JsonType> {
  if (schema.type === undefined) return new Set(TYPES)
  return new Set([schema.type].flat().map((type) => (type === 'integer' ? 'number' : type)) as readonly JsonType[])
}

export function sharedTypes(parts: readonly SchemaPart[]): readonly JsonType[] {
  const sets = parts.map(typesOf)
  return TYPES.filter((type) => sets.every((set) => set.has(type)))
}

/** Whether the part lets numbers be integers only. */
export function wantsIntegers({ schema }: SchemaPart): boolean {
  const types = [schema.type].flat()
  return types.includes('integer') && !types.includes('number')
}

/** The values of `const` and `enum`, or undefined if the part lists none. */
export function listedValues({ schema }: SchemaPart): readonly Json[] | undefined {
  if (schema.const !== undefined) return [schema.const]
  return Array.isArray(schema.enum) ? (schema.enum as readonly Json[]) : undefined
}

/** The schemas of an object's member. */
export function memberOf({ root, schema }: SchemaPart, name: string): readonly RootedSchema[] {
  const own = isObject(schema.properties) && Object.hasOwn(schema.properties, name) ? [schema.properties[name]] : []
  const named = isObject(schema.patternProperties) ? Object.entries(schema.patternProperties) : []
  const matching = named.filter(([pattern]) => new RegExp(pattern, 'u').test(name)).map(([, one]) => one)
  const found = [...own, ...matching] as readonly Json[]
  const schemas = found.length > 0 ? found : [schema.additionalProperties ?? true]
  return schemas.map((one) => ({ root, schema: one }))
}

export function declaredNames(parts: readonly SchemaPart[]): readonly string[] {
  const names = parts.flatMap(({ schema }) => (isObject(schema.properties) ? Object.keys(schema.properties) : []))
  return [...new Set(names)]
}

export function requiredNames(parts: readonly SchemaPart[]): readonly string[] {
  return [...new Set(parts.flatMap(({ schema }) => (schema.required ?? []) as readonly string[]))]
}

/** The schemas of a list's items, as far as `items` says. */
export function itemsOf(parts: readonly SchemaPart[]): readonly RootedSchema[] {
  return parts.flatMap(({ root, schema }) => (schema.items === undefined ? [] : [{ root, schema: schema.items }]))
}

/** The tightest lower bound that one of the parts has. */
export function leastOf(parts: readonly SchemaPart[], keyword: string, otherwise: number): number {
  return Math.max(otherwise, ...parts.map(({ schema }) => numberAt(schema, keyword) ?? otherwise))
}

/** The tightest upper bound that one of the parts has. */
export function mostOf(parts: readonly SchemaPart[], keyword: string): number {
  const infinity = Number.POSITIVE_INFINITY
  return Math.min(infinity, ...parts.map(({ schema }) => numberAt(schema, keyword) ?? infinity))
}

export function numberAt(schema: JsonObject, keyword: string): number | undefined {
  const value = schema[keyword]
  return typeof value === 'number' ? value : undefined
}

/** Keywords that change nothing about which values fit. */
export const WITHOUT_EFFECT = [
  '$schema',
  '$defs',
  '$comment',
  'title',
  'description',
  'examples',
  'deprecated',
  'default',
  'readOnly',
  ...Object.keys(OWN_KEYWORDS),
]

/** Keywords that samples and comparisons take apart. */
const UNDERSTOOD: ReadonlySet<string> = new Set([
  ...WITHOUT_EFFECT,
  ...['$ref', 'allOf', 'type', 'const', 'enum', 'pattern', 'format'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'minLength', 'maxLength'],
  ...['items', 'minItems', 'maxItems', 'uniqueItems'],
  ...['properties', 'required', 'additionalProperties', 'minProperties', 'maxProperties'],
])

/** All other keywords: with them, samples are proposals, and a comparison may end without an answer. */
export function opaqueKeywords({ schema }: SchemaPart): readonly string[] {
  return Object.keys(schema).filter((keyword) => !UNDERSTOOD.has(keyword))
}
