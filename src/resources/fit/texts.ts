/** The texts that lengths allow; with patterns and formats, some that fit them. */
import type { Json } from '../resource.ts'
import { valuesOf } from '../samples/sample-values.ts'
import { hasFormat } from '../validate/compile-schema.ts'
import { leastOf, mostOf, numberAt, type SchemaPart } from './parts.ts'
import type { Taken } from './taken.ts'

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
