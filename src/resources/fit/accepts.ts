/** Whether a value fits schemas. Undefined where a keyword isn't evaluated here: only the real validator knows then. */
import { isDeepStrictEqual } from 'node:util'
import { isObject } from '../../base/is-object.ts'
import type { Json } from '../resource.ts'
import { valuesOf } from '../samples/sample-values.ts'
import type { JsonObject } from '../schema/schema-file.ts'
import { hasFormat } from '../validate/compile-schema.ts'
import { numberFits } from './numbers.ts'
import {
  type Budget,
  leastOf,
  listedValues,
  memberOf,
  mostOf,
  numberAt,
  opaqueKeywords,
  type RootedSchema,
  type SchemaPart,
  schemaParts,
  typeOfValue,
  typesOf,
} from './parts.ts'
import type { Taken } from './taken.ts'

type Acceptance = boolean | undefined

/** The opaque keywords that are evaluated here. */
const EVALUATED: ReadonlySet<string> = new Set([
  ...['anyOf', 'oneOf', 'not', 'if', 'then', 'else'],
  ...['prefixItems', 'patternProperties', 'propertyNames', 'dependentRequired', 'dependentSchemas'],
])

export function accepts(schemas: readonly RootedSchema[], value: Json, budget: Budget): Acceptance {
  const parts = schemaParts(schemas)
  budget.spend(parts?.length ?? 0)
  return parts === undefined ? false : all(parts, (part) => partAccepts(part, value, budget))
}

function partAccepts(part: SchemaPart, value: Json, budget: Budget): Acceptance {
  if (!typesOf(part).has(typeOfValue(value))) return false
  const listed = listedValues(part)
  if (listed && !listed.some((one) => isDeepStrictEqual(one, value))) return false
  const combined = combinationsAccept(part, value, budget)
  const unknown = opaqueKeywords(part).some((keyword) => !EVALUATED.has(keyword)) ? undefined : true
  return all([() => combined, () => contentFits(part, value, budget), () => unknown], (answer) => answer())
}

function contentFits(part: SchemaPart, value: Json, budget: Budget): Acceptance {
  if (typeof value === 'number') return numberFits(part, value)
  if (typeof value === 'string') return textFits(part, value)
  if (Array.isArray(value)) return listFits(part, value, budget)
  return isObject(value) ? objectFits(part, value as JsonObject, budget) : true
}

function listFits({ root, schema }: SchemaPart, list: readonly Json[], budget: Budget): Acceptance {
  if (list.length < (numberAt(schema, 'minItems') ?? 0)) return false
  if (list.length > (numberAt(schema, 'maxItems') ?? Number.POSITIVE_INFINITY)) return false
  if (schema.uniqueItems === true && new Set(list.map((one) => JSON.stringify(one))).size < list.length) return false
  const first = (schema.prefixItems ?? []) as readonly Json[]
  return all(list, (item, i) => accepts([{ root, schema: first[i] ?? schema.items ?? true }], item, budget))
}

function objectFits(part: SchemaPart, object: JsonObject, budget: Budget): Acceptance {
  const { root, schema } = part
  const names = Object.keys(object)
  if (names.length < (numberAt(schema, 'minProperties') ?? 0)) return false
  if (names.length > (numberAt(schema, 'maxProperties') ?? Number.POSITIVE_INFINITY)) return false
  if (!hasAll(object, schema.required)) return false
  const dependent = Object.entries((schema.dependentRequired ?? {}) as JsonObject)
  if (dependent.some(([name, needed]) => Object.hasOwn(object, name) && !hasAll(object, needed))) return false
  const { propertyNames } = schema
  const named =
    propertyNames === undefined || all(names, (name) => accepts([{ root, schema: propertyNames }], name, budget))
  const members = all(names, (name) => accepts(memberOf(part, name), object[name] ?? null, budget))
  return both(named, members)
}

function hasAll(object: JsonObject, names: Json | undefined): boolean {
  return ((names ?? []) as readonly string[]).every((name) => Object.hasOwn(object, name))
}

function combinationsAccept({ root, schema }: SchemaPart, value: Json, budget: Budget): Acceptance {
  const fits = (one: Json): Acceptance => accepts([{ root, schema: one }], value, budget)
  const { anyOf, oneOf, not, dependentSchemas } = schema
  const dependent = isObject(value)
    ? Object.entries((dependentSchemas ?? {}) as JsonObject).filter(([name]) => Object.hasOwn(value, name))
    : []
  const answers: readonly (() => Acceptance)[] = [
    () => (Array.isArray(anyOf) ? any(anyOf.map(fits)) : true),
    () => (Array.isArray(oneOf) ? exactlyOne(oneOf.map(fits)) : true),
    () => (not === undefined ? true : negated(fits(not))),
    () => conditionFits(schema, fits),
    () => all(dependent, ([, one]) => fits(one)),
  ]
  return all(answers, (answer) => answer())
}

function conditionFits(
  { if: condition, then, else: otherwise }: JsonObject,
  fits: (one: Json) => Acceptance,
): Acceptance {
  if (condition === undefined) return true
  const holds = fits(condition)
  const [whenTrue, whenFalse] = [then ?? true, otherwise ?? true]
  if (holds !== undefined) return fits(holds ? whenTrue : whenFalse)
  const both = [fits(whenTrue), fits(whenFalse)]
  return both[0] === both[1] ? both[0] : undefined
}

function all<T>(values: readonly T[], answerOf: (value: T, index: number) => Acceptance): Acceptance {
  let answer: Acceptance = true
  for (const [index, value] of values.entries()) {
    const one = answerOf(value, index)
    if (one === false) return false
    answer = both(answer, one)
  }
  return answer
}

function both(a: Acceptance, b: Acceptance): Acceptance {
  if (a === false || b === false) return false
  return a === undefined || b === undefined ? undefined : true
}

function any(answers: readonly Acceptance[]): Acceptance {
  if (answers.includes(true)) return true
  return answers.includes(undefined) ? undefined : false
}

function exactlyOne(answers: readonly Acceptance[]): Acceptance {
  const sure = answers.filter((one) => one === true).length
  if (sure > 1) return false
  return answers.includes(undefined) ? undefined : sure === 1
}

function negated(answer: Acceptance): Acceptance {
  return answer === undefined ? undefined : !answer
}

// The texts that lengths allow; with patterns and formats, some that fit them.

/** In characters: a longer example helps nobody. */
const LONGEST = 1_000_000

/** At most `count` different texts, the shortest first. */
export function takeTexts(parts: readonly SchemaPart[], count: number): Taken<string> {
  const [least, most] = [leastOf(parts, 'minLength', 0), mostOf(parts, 'maxLength')]
  if (least > most) return { values: [], complete: true }
  if (least > LONGEST) return { values: [], complete: false }
  if (parts.some(({ schema }) => schema.pattern !== undefined || schema.format !== undefined)) {
    const proposed = parts.flatMap(({ root, schema }) => valuesOf(root, { ...schema, type: 'string' })).filter(isText)
    const fitting = [...new Set(proposed)].filter((text) => parts.every((part) => textFits(part, text)))
    return { values: fitting.slice(0, count), complete: false }
  }
  return takePlain(least, most, count)
}

function takePlain(least: number, most: number, count: number): Taken<string> {
  const values: string[] = []
  for (let length = least; length <= most; length++) {
    if (values.length >= count || length > LONGEST || values.length >= ALPHABET) return { values, complete: false }
    if (length === 0) values.push('')
    else while (values.length < Math.min(count, ALPHABET)) values.push(textOf(values.length, length))
  }
  return { values, complete: values.length < count && most === 0 }
}

/** The letters of `a` to `z` first, then other characters, without surrogates. */
const ALPHABET = 40_000

function textOf(nth: number, length: number): string {
  const code = nth < 26 ? 0x61 + nth : 0xa1 + nth
  return 'a'.repeat(length - 1) + String.fromCodePoint(code)
}

/** Whether a text keeps the lengths, the pattern and the format of one part. */
export function textFits({ schema }: SchemaPart, text: string): boolean {
  const length = [...text].length
  return (
    length >= (numberAt(schema, 'minLength') ?? 0) &&
    length <= (numberAt(schema, 'maxLength') ?? Number.POSITIVE_INFINITY) &&
    (typeof schema.pattern !== 'string' || new RegExp(schema.pattern, 'u').test(text)) &&
    (typeof schema.format !== 'string' || hasFormat(text, schema.format))
  )
}

function isText(value: Json): value is string {
  return typeof value === 'string'
}
