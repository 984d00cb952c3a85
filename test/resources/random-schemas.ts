/** Random schemas of one field, schemas that differ from them a little, and random values that mostly fit. */
import fc from 'fast-check'
import { parseResources } from '../../src/resources/load/load-resources.ts'
import type { Json, Resource } from '../../src/resources/resource.ts'

type Schema = { readonly [keyword: string]: Json }

/** A resource with these fields, and others that a resource must have. */
export function resourceWith(properties: Schema, more: Schema = {}, name = 'things'): Resource {
  const server = { type: 'string', readOnly: true }
  const { required = [], ...rest } = more
  const text = JSON.stringify({
    type: 'object',
    'x-resource': { routes: [{ path: '/things', methods: ['GET'] }] },
    properties: { id: server, createdAt: server, updatedAt: server, ...properties },
    required,
    additionalProperties: false,
    ...rest,
  })
  const resource = parseResources([{ name: `${name}.json`, text }]).byName.get(name)
  if (!resource) throw new Error('no resource')
  return resource
}

const bound = fc.integer({ min: -2, max: 4 })
const size = fc.integer({ min: 0, max: 3 })
const scalar: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom<Json>('', 'a', 'b', 'aa', 'ab', null, true, false),
  fc.integer({ min: -2, max: 4 }),
  fc.constantFrom(0.5, 1.5),
)

const NAMES = ['a', 'b', 'c']

/** Keywords that are compared exactly. Small numbers, so that bounds often meet. */
export const exactSchema: fc.Arbitrary<Schema> = fc.letrec<{ schema: Schema }>((tie) => ({
  schema: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalarSchema(),
    listSchema(tie('schema')),
    objectSchema(tie('schema')),
  ),
})).schema

/** The same with keywords whose answer may be unknown. */
export const anySchema: fc.Arbitrary<Schema> = fc.letrec<{ schema: Schema }>((tie) => ({
  schema: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    { arbitrary: scalarSchema(), weight: 3 },
    { arbitrary: writtenSchema(), weight: 2 },
    { arbitrary: listSchema(tie('schema')), weight: 2 },
    { arbitrary: objectSchema(tie('schema')), weight: 2 },
    { arbitrary: combinedSchema(tie('schema')), weight: 3 },
    { arbitrary: dependentSchema(tie('schema')), weight: 1 },
  ),
})).schema

function scalarSchema(): fc.Arbitrary<Schema> {
  const number = keywords({
    minimum: bound,
    maximum: bound,
    exclusiveMinimum: bound,
    exclusiveMaximum: bound,
    multipleOf: fc.constantFrom(0.5, 1, 2, 3, 0.1),
  })
  const text = keywords({ minLength: size, maxLength: size })
  return fc.oneof(
    typed('number', number),
    typed('integer', number),
    typed('string', text),
    typed('boolean', fc.constant({})),
    fc.constant({ type: 'null' }),
    fc
      .uniqueArray(scalar, { minLength: 1, maxLength: 4, selector: (value) => JSON.stringify(value) })
      .map((values) => ({
        enum: values,
      })),
    scalar.map((value) => ({ const: value })),
  )
}

function writtenSchema(): fc.Arbitrary<Schema> {
  const written = keywords({
    minLength: size,
    maxLength: size,
    pattern: fc.constantFrom('^a*$', '^[ab]{1,2}$', '^b'),
    format: fc.constantFrom('date', 'uuid', 'email'),
  })
  return typed('string', written)
}

function listSchema(items: fc.Arbitrary<Schema>): fc.Arbitrary<Schema> {
  const list = typed('array', keywords({ items, minItems: size, maxItems: size }))
  const distinct = fc
    .tuple(scalarSchema(), keywords({ minItems: size, maxItems: size }))
    .map(([one, sizes]) => ({ type: 'array', items: one, uniqueItems: true, ...sizes }))
    .filter(({ items: one }) => 'type' in one && one.type !== 'null' && !Array.isArray(one.type))
  return fc.oneof({ arbitrary: list, weight: 3 }, distinct)
}

function objectSchema(member: fc.Arbitrary<Schema>): fc.Arbitrary<Schema> {
  const properties = fc.dictionary(fc.constantFrom(...NAMES), member, { maxKeys: 3 }).map((all) => ({ ...all }))
  const rest = fc.oneof(fc.boolean(), member)
  return fc
    .tuple(properties, keywords({ additionalProperties: rest, minProperties: size, maxProperties: size }), size)
    .map(([all, more, needed]) => ({
      type: 'object',
      properties: all,
      required: Object.keys(all).slice(0, needed),
      ...more,
    }))
}

function combinedSchema(schema: fc.Arbitrary<Schema>): fc.Arbitrary<Schema> {
  const some = fc.array(schema, { minLength: 1, maxLength: 3 })
  return fc.oneof(
    some.map((anyOf) => ({ anyOf })),
    some.map((oneOf) => ({ oneOf })),
    some.map((allOf) => ({ allOf })),
    schema.map((not) => ({ not })),
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    fc.tuple(schema, schema, schema).map(([one, two, three]) => ({ if: one, then: two, else: three })),
  )
}

function dependentSchema(schema: fc.Arbitrary<Schema>): fc.Arbitrary<Schema> {
  return fc.oneof(
    fc.constant({ type: 'object', dependentRequired: { a: ['b'] } }),
    schema.map((one) => ({ type: 'object', patternProperties: { '^a': one }, additionalProperties: false })),
    fc.constant({ type: 'object', propertyNames: { maxLength: 1 } }),
    fc
      .tuple(schema, schema)
      .map(([one, two]) => ({ type: 'array', prefixItems: [one], minItems: 1, maxItems: 2, items: two })),
    schema.map((one) => ({ type: 'array', contains: one })),
  )
}

/** Some of the keywords. */
function keywords(all: Readonly<Record<string, fc.Arbitrary<Json>>>): fc.Arbitrary<Schema> {
  return fc.record(all, { requiredKeys: [] }).map((some) => ({ ...some }) as Schema)
}

function typed(type: string, more: fc.Arbitrary<Schema>): fc.Arbitrary<Schema> {
  return fc
    .tuple(fc.constantFrom<Json>(type, type, [type, 'null']), more)
    .map(([one, rest]) => ({ type: one, ...rest }))
}

/** A schema and another one: written anew, or with one keyword less, more or other somewhere. */
export function pairOf(schema: fc.Arbitrary<Schema>): fc.Arbitrary<readonly [Schema, Schema]> {
  const edited = fc.tuple(schema, fc.nat(), schema).map(([one, at, other]) => [one, edit(one, at, other)] as const)
  return fc.oneof({ arbitrary: edited, weight: 4 }, { arbitrary: fc.tuple(schema, schema), weight: 1 })
}

/** Numbers move by one, lists lose an element, and a schema inside is replaced. Always the same for the same numbers. */
function edit(schema: Schema, at: number, other: Schema): Schema {
  const keys = Object.keys(schema).filter((key) => key !== 'type')
  const key = keys[at % Math.max(1, keys.length)]
  if (key === undefined) return other
  const next = Math.floor(at / Math.max(1, keys.length))
  const value = schema[key] as Json
  return { ...schema, [key]: editValue(key, value, next, other) }
}

function editValue(key: string, value: Json, at: number, other: Schema): Json {
  if (key === 'multipleOf') return [0.5, 1, 2, 4, 0.01][at % 5] as number
  if (typeof value === 'string' || value === null || key === 'const') return value
  if (typeof value === 'number') return Math.max(/Length|Items|Properties/.test(key) ? 0 : -9, value + ((at % 3) - 1))
  if (typeof value === 'boolean') return key === 'uniqueItems' ? value : !value
  if (Array.isArray(value)) return editList(value as readonly Json[], at)
  if (key !== 'properties') return key === 'items' || at % 2 === 0 ? edit(value as Schema, at, other) : other
  return editMembers(value as Schema, at, other)
}

function editList(list: readonly Json[], at: number): Json {
  return list.length === 1 && !isSchema(list[0])
    ? [...list, 'a new value']
    : list.filter((_, i) => i !== at % list.length)
}

function isSchema(value: Json | undefined): boolean {
  return typeof value === 'object' && value !== null
}

function editMembers(members: Schema, at: number, other: Schema): Schema {
  const names = Object.keys(members)
  const name = names[at % Math.max(1, names.length)]
  if (name === undefined) return { c: other }
  if (at % 5 === 0) return Object.fromEntries(Object.entries(members).filter(([one]) => one !== name))
  return { ...members, [name]: edit(members[name] as Schema, at, other) }
}

/** A value that often fits the schema, made without the code under test. */
export function valueFor(schema: Json, draw: (below: number) => number, depth = 0): Json {
  if (schema === true || schema === false || depth > 5) return anything(draw)
  const one = schema as Schema
  if (one.const !== undefined) return one.const
  if (Array.isArray(one.enum)) return one.enum[draw(one.enum.length)] as Json
  const branches = [one.anyOf, one.oneOf, one.allOf].flatMap((some) => (some ?? []) as readonly Json[])
  const conditional = [one.then, one.else].filter((some) => some !== undefined)
  const inside = [...branches, ...conditional]
  if (inside.length > 0) return valueFor(inside[draw(inside.length)] as Json, draw, depth + 1)
  const types = [one.type ?? 'any'].flat() as readonly string[]
  return ofType(types[draw(types.length)] ?? 'any', one, draw, depth)
}

function ofType(type: string, schema: Schema, draw: (below: number) => number, depth: number): Json {
  const near = (least: string, most: string) => {
    const ends = [schema[least], schema[most]].filter((end) => typeof end === 'number')
    return ends.length === 0 ? draw(4) : Math.max(0, (ends[draw(ends.length)] as number) + draw(3) - 1)
  }
  switch (type) {
    case 'integer':
      return draw(10) - 3
    case 'number':
      return [draw(10) - 3, (draw(20) - 6) / 2, (draw(60) - 20) / 10, draw(100) / 7][draw(4)] as number
    case 'string':
      return text(schema, near('minLength', 'maxLength'), draw)
    case 'boolean':
      return draw(2) === 0
    case 'null':
      return null
    case 'array':
      return Array.from({ length: near('minItems', 'maxItems') }, (_, i) => {
        const first = (schema.prefixItems ?? []) as readonly Json[]
        return valueFor(first[i] ?? schema.items ?? true, draw, depth + 1)
      })
    case 'object':
      return object(schema, draw, depth)
    default:
      return anything(draw)
  }
}

function text({ format }: Schema, length: number, draw: (below: number) => number): string {
  if (format === 'date') return '2026-02-03'
  if (format === 'uuid') return '01980000-0000-7000-8000-000000000009'
  if (format === 'email') return 'b@example.org'
  return Array.from({ length }, () => (draw(2) === 0 ? 'a' : 'b')).join('')
}

function object(schema: Schema, draw: (below: number) => number, depth: number): Json {
  const properties = (schema.properties ?? {}) as Schema
  const required = (schema.required ?? []) as readonly string[]
  const names = [...Object.keys(properties), 'a', 'b', 'd'].filter((name) => required.includes(name) || draw(3) > 0)
  return Object.fromEntries(
    [...new Set(names)].map((name) => {
      const own = properties[name] ?? schema.additionalProperties ?? true
      return [name, valueFor(own, draw, depth + 1)]
    }),
  )
}

function anything(draw: (below: number) => number): Json {
  return [null, true, 0, 1, 2.5, '', 'a', 'bb', [], [1], {}, { a: 1 }][draw(12)] as Json
}
