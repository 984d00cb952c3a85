/** Values that a field's schema allows, smallest first: enough to change a field, and to tell constants apart. */
import { isObject } from '../../base/is-object.ts'
import { isScalar } from '../object.ts'
import type { Json } from '../resource.ts'
import { type PatternNode, patternTree } from '../schema/bounds.ts'
import type { JsonObject } from '../schema/schema-file.ts'
import { followReferences } from '../schema/subschemas.ts'

const FORMATTED: Readonly<Record<string, readonly string[]>> = {
  date: ['2026-01-01', '2026-01-02'],
  time: ['00:00:00Z', '00:00:01Z'],
  'date-time': ['2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z'],
  duration: ['P1D', 'P2D'],
  email: ['a@example.com', 'b@example.com'],
  hostname: ['a.example.com', 'b.example.com'],
  ipv4: ['192.0.2.1', '192.0.2.2'],
  ipv6: ['2001:db8::1', '2001:db8::2'],
  uri: ['https://example.com/a', 'https://example.com/b'],
  'uri-reference': ['/a', '/b'],
  uuid: ['01980000-0000-7000-8000-000000000001', '01980000-0000-7000-8000-000000000002'],
  'json-pointer': ['/a', '/b'],
}

/** Texts that fit most schemas; they are repeated up to LONGEST times. */
const CHARACTERS = ['a', 'b', 'A', 'B', '0', '1', 'A1', 'a-']
const LONGEST = 40
const MOST = 40

/** Proposals: the caller of this function must check them with the schema. Nested values are the smallest ones. */
export function valuesOf(root: JsonObject, schema: Json): readonly Json[] {
  const resolved = followReferences(root, schema)
  if (!isObject(resolved)) return ['a', 'b']
  const said = [resolved.const, ...listOf(resolved.enum), ...listOf(resolved.examples), resolved.default]
  const known = said.filter((value) => value !== undefined)
  return unique([...known, ...typed(root, resolved), ...combined(root, resolved)]).slice(0, MOST)
}

function typed(root: JsonObject, schema: JsonObject): readonly Json[] {
  const types = listOf(schema.type).length > 0 ? listOf(schema.type) : [schema.type]
  return types.flatMap((type) => {
    if (type === 'string') return strings(schema)
    if (type === 'integer' || type === 'number') return numbers(schema)
    if (type === 'boolean') return [false, true]
    if (type === 'array') return arrays(root, schema)
    return type === 'object' ? [smallestObject(root, schema)] : []
  })
}

function strings(schema: JsonObject): readonly Json[] {
  const format = typeof schema.format === 'string' ? (FORMATTED[schema.format] ?? []) : []
  const repeated = CHARACTERS.flatMap((characters) =>
    Array.from({ length: LONGEST }, (_, i) => characters.repeat(i + 1)),
  )
  const described = typeof schema.pattern === 'string' ? textsOfPattern(schema.pattern) : []
  const words = [...format, ...repeated, '', ...described]
  const shortest = typeof schema.minLength === 'number' ? schema.minLength : 0
  const longest = typeof schema.maxLength === 'number' ? schema.maxLength : Number.POSITIVE_INFINITY
  const pattern = typeof schema.pattern === 'string' ? new RegExp(schema.pattern, 'u') : /^/
  const fits = words.filter((word) => word.length >= shortest && word.length <= longest && pattern.test(word))
  return fits.length > 0 || shortest === 0 ? fits : ['a'.repeat(shortest), 'b'.repeat(shortest)]
}

function numbers({ minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf }: JsonObject): readonly Json[] {
  const ends = [minimum, maximum, multipleOf, next(exclusiveMinimum, 1), next(exclusiveMaximum, -1)]
  const [step, from] = [limitOf(multipleOf, 1), limitOf(minimum ?? exclusiveMinimum, 0)]
  const multiples = [0, 1, 2].map((times) => Number(((Math.ceil(from / step) + times) * step).toPrecision(15)))
  const proposed = [0, 1, 2, ...ends.filter((end) => typeof end === 'number'), ...multiples]
  const [least, most] = [limitOf(minimum, Number.NEGATIVE_INFINITY), limitOf(maximum, Number.POSITIVE_INFINITY)]
  return proposed.filter((value) => value >= least && value <= most)
}

function next(value: Json | undefined, step: number): number | undefined {
  return typeof value === 'number' ? value + step : undefined
}

function limitOf(value: Json | undefined, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise
}

function arrays(root: JsonObject, { minItems, items, prefixItems }: JsonObject): readonly Json[] {
  const least = typeof minItems === 'number' ? minItems : 0
  const first = listOf(prefixItems).map((schema) => valuesOf(root, schema)[0] ?? null)
  const element = valuesOf(root, items ?? true)
  const of = (length: number) =>
    Array.from({ length }, (_, i) => first[i] ?? element[i % element.length] ?? null) as readonly Json[]
  return [of(least), of(least + 1)]
}

function smallestObject(root: JsonObject, { properties, required }: JsonObject): Json {
  const fields = isObject(properties) ? properties : {}
  const names = listOf(required).map(String)
  return Object.fromEntries(names.map((name) => [name, valuesOf(root, fields[name] ?? true)[0] ?? null]))
}

/** The values of all branches. */
function combined(root: JsonObject, { anyOf, oneOf, allOf }: JsonObject): readonly Json[] {
  return [anyOf, oneOf, allOf].flatMap((branches) => listOf(branches).flatMap((branch) => valuesOf(root, branch)))
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : []
}

/** Without repetitions. */
export function unique(values: readonly Json[]): readonly Json[] {
  if (values.every(isScalar)) return [...new Set(values)]
  return [...new Map(values.map((value) => [JSON.stringify(value), value])).values()]
}

// Short texts that fit a regular expression of a schema (flag `u`), for fields whose schema gives no `examples`.

/** What makes one text differ from the next: the branch and character chosen, and how often a part is repeated. */
interface TextChoice {
  /** The number of the branch or character, modulo how many there are. */
  readonly nth: number
  /** How often a part is repeated beyond the quantifier's minimum; never more than its maximum. */
  readonly more: number
}

const CHOICES: readonly TextChoice[] = [0, 1, 3, 8, 36].flatMap((more) => [0, 1, 2, 5].map((nth) => ({ nth, more })))

/** Characters that people read easily are taken first. */
const READABLE = [...'abcABC0123-_. @xyzXYZ456789']
const OTHERS = Array.from({ length: 0x3000 }, (_, code) => String.fromCodePoint(code))

/**
 * Texts that match, the shortest first. Empty if the pattern has parts that can't be chosen one by one, such as
 * `(?=x)`.
 */
export function textsOfPattern(pattern: string): readonly string[] {
  const tree = patternTree(pattern)
  const whole = new RegExp(pattern, 'u')
  const texts = CHOICES.map((choice) => textOf(tree, choice))
  return [...new Set(texts)].filter((text) => whole.test(text)).sort((a, b) => a.length - b.length)
}

function textOf(node: PatternNode, choice: TextChoice): string {
  switch (node.type) {
    case 'disjunction':
      return textOf(node.body[choice.nth % node.body.length] as PatternNode, choice)
    case 'alternative':
    case 'group':
      return (node.body as readonly PatternNode[]).map((part) => textOf(part, choice)).join('')
    case 'quantifier':
      return textOf(node.body[0], choice).repeat(Math.min(node.min + choice.more, node.max ?? Number.POSITIVE_INFINITY))
    case 'value':
      return String.fromCodePoint(node.codePoint)
    case 'anchor':
    case 'reference':
      return ''
    default:
      return characterOf(node.raw, choice)
  }
}

/** A character that a class, an escape or a dot accepts. */
function characterOf(source: string, { nth }: TextChoice): string {
  const one = new RegExp(`^${source}$`, 'u')
  const fitting = READABLE.filter((character) => one.test(character))
  return fitting[nth % fitting.length] ?? OTHERS.find((character) => one.test(character)) ?? ''
}
