/**
 * One filter of a list: `status=open`, `createdAt[gte]=…`, `status[in]=a,b`; values as the field's schema types them.
 */

import { instantOf } from '../../base/instant.ts'
import { Problem } from '../../base/problems/problem.ts'
import type { Scalar } from '../../resources/object.ts'
import type { Field } from '../../resources/resource.ts'
import type { Comparison } from '../../store/contract.ts'

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
