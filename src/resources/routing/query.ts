/**
 * The query of a request as parameters, and the filters of a list among them. subscriptions.yaml has such a query too.
 */
import { Problem } from '../../base/problems/problem.ts'
import { instantOf } from '../../base/time.ts'
import type { Scalar } from '../object.ts'
import type { Field } from '../resource.ts'
import { decode } from './request-target.ts'

/** `time`: a date-time of RFC 3339, compared as an instant, to the millisecond. */
export type ComparedBy = 'value' | 'time'

/**
 * A client's condition on one field. `in` compares for equality, as `holds` does. The other operators order values of
 * one type: numbers, texts by code points, or times. They never hold for another type or a missing field.
 */
export interface Comparison {
  readonly field: string
  readonly by: ComparedBy
  readonly operator: 'in' | 'gt' | 'gte' | 'lt' | 'lte'
  /** One value; for `in`, one or more. Times as `instantOf` (src/base/time.ts) writes them. */
  readonly values: readonly Scalar[]
}

/** Throws Problem invalid-query. A parameter may appear once: clients can't know which of two would count. */
export function readQuery(query: string): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>()
  for (const pair of query === '' ? [] : query.split('&')) {
    const [name, value] = splitPair(pair).map((part) => decode(part.replaceAll('+', ' ')))
    if (name === undefined || value === undefined) {
      throw new Problem('invalid-query', 'The query has faulty percent-encoding; encode it as UTF-8.')
    }
    if (name === '')
      throw new Problem('invalid-query', 'The query has a parameter without a name; remove the stray & or =.')
    if (parameters.has(name))
      throw new Problem('invalid-query', `The query parameter ${name} is repeated; send it once.`)
    parameters.set(name, value)
  }
  return parameters
}

function splitPair(pair: string): readonly [string, string] {
  const at = pair.indexOf('=')
  return at < 0 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + 1)]
}

/** `field[operator]` as `field`. */
export function fieldInFilter(parameter: string): string {
  return parameter.replace(/\[[^[\]]*\]$/, '')
}

const ORDERING = ['gt', 'gte', 'lt', 'lte'] as const

/** `parameter` is `field` or `field[operator]`. Throws Problem invalid-query. */
export function readComparison(field: Field, parameter: string, text: string): Comparison {
  const by = field.time ? 'time' : 'value'
  const suffix = parameter.slice(field.name.length)
  if (suffix === '') return { field: field.name, by, operator: 'in', values: [readMember(field, text)] }
  if (suffix === '[in]') {
    return { field: field.name, by, operator: 'in', values: text.split(',').map((one) => readMember(field, one)) }
  }
  const operator = ORDERING.find((name) => suffix === `[${name}]`)
  const accepted = field.type === 'boolean' ? ['in'] : ['in', ...ORDERING]
  if (operator && field.type !== 'boolean') {
    return { field: field.name, by, operator, values: [readValue(field, text)] }
  }
  const forms = accepted.map((name) => `${field.name}[${name}]`).join(', ')
  throw new Problem(
    'invalid-query',
    `The query parameter ${parameter} is not a comparison; use one of: ${field.name}, ${forms}.`,
  )
}

/** Equality with a value that the schema doesn't list is a mistake, not an empty list. */
function readMember(field: Field, text: string): Scalar {
  const value = readValue(field, text)
  if (!field.oneOf || field.oneOf.includes(value)) return value
  throw unreadable(field, `one of: ${field.oneOf.join(', ')}`)
}

function readValue(field: Field, text: string): Scalar {
  switch (field.type) {
    case 'boolean':
      if (text === 'true' || text === 'false') return text === 'true'
      throw unreadable(field, 'true or false')
    case 'integer':
      return readNumber(field, text, /^-?(?:0|[1-9]\d*)$/, 'a whole number')
    case 'number':
      return readNumber(field, text, /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/, 'a number')
    default:
      return field.time ? readTime(field, text) : text
  }
}

/**
 * As in bodies (src/resources/json/strict-json.ts): beyond 2^53 a double may differ from the number that the client
 * wrote.
 */
function readNumber(field: Field, text: string, form: RegExp, what: string): number {
  const value = form.test(text) ? Number(text) : Number.NaN
  if (Math.abs(value) <= Number.MAX_SAFE_INTEGER) return value
  throw unreadable(field, `${what}, at most 2^53 - 1`)
}

function readTime(field: Field, text: string): string {
  const instant = instantOf(text)
  if (instant !== undefined) return instant
  throw unreadable(field, 'a time like 2026-01-31T12:00:00Z (RFC 3339; a + is written %2B)')
}

function unreadable({ name }: Field, expected: string): Problem {
  return new Problem('invalid-query', `The value of the filter ${name} must be ${expected}.`)
}
