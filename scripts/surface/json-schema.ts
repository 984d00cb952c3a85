/** The members of a JSON Schema: its properties, items, alternatives and definitions, without words for people. */
import { type Members, requires } from './members.ts'

type Part = Readonly<Record<string, unknown>>

const FOR_PEOPLE = ['$schema', '$id', '$comment', 'title', 'description', 'examples', 'default', 'markdownDescription']
const STRUCTURE = ['properties', 'patternProperties', '$defs', 'enum', 'required']
const PARTS = [
  'items',
  'additionalProperties',
  'unevaluatedProperties',
  'propertyNames',
  'contains',
  'not',
  'if',
  'then',
  'else',
]
const LISTS = ['anyOf', 'oneOf', 'allOf', 'prefixItems']

/** `owner`: the name of the whole. */
export function schemaMembers(owner: string, schema: unknown): Members {
  if (!isPart(schema)) return [[owner, JSON.stringify(schema)]]
  const form = Object.entries(schema).filter(([key, value]) => {
    return !FOR_PEOPLE.includes(key) && !STRUCTURE.includes(key) && !isNested(key, value)
  })
  return [
    [owner, JSON.stringify(Object.fromEntries(form))],
    ...listOf(schema.enum).map((value) => [`${owner} = ${JSON.stringify(value)}`, ''] as const),
    ...listOf(schema.required).map((name) => requires(owner, String(name))),
    ...named(schema.properties, (name) => `${owner}.${name}`),
    ...named(schema.patternProperties, (name) => `${owner}./${name}/`),
    ...named(schema.$defs, (name) => `${owner}#${name}`),
    ...PARTS.flatMap((key) => (isPart(schema[key]) ? schemaMembers(`${owner}.<${key}>`, schema[key]) : [])),
    ...LISTS.flatMap((key) =>
      listOf(schema[key]).flatMap((part, i) => schemaMembers(`${owner}.<${key} ${i + 1}>`, part)),
    ),
  ]
}

function isNested(key: string, value: unknown): boolean {
  return LISTS.includes(key) || (PARTS.includes(key) && isPart(value))
}

function named(parts: unknown, nameOf: (name: string) => string): Members {
  return isPart(parts) ? Object.entries(parts).flatMap(([name, part]) => schemaMembers(nameOf(name), part)) : []
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function isPart(value: unknown): value is Part {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
