/**
 * Whether JSON.parse gave back exactly what a text says: it silently drops repeated names, rounds numbers, takes lone
 * surrogates, and mistakes some names. It is found out by counting, which is far cheaper than to look for a place.
 */
import type { Scalar } from '../object.ts'
import type { Json } from '../resource.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]

/**
 * The names of all members, as often as they stand there: outside of texts, a colon stands behind each name, and
 * nowhere else. Undefined if the nesting is deeper. Says nothing about text that isn't JSON.
 */
export function countNames(bytes: Uint8Array, maxDepth: number): number | undefined {
  let names = 0
  let depth = 0
  for (let i = 0; i < bytes.length; i++) {
    switch (bytes[i]) {
      case QUOTE:
        i = endOfText(bytes, i + 1)
        break
      case COLON:
        names++
        break
      case OPEN_OBJECT:
      case OPEN_LIST:
        if (++depth > maxDepth) return undefined
        break
      case CLOSE_OBJECT:
      case CLOSE_LIST:
        depth--
    }
  }
  return names
}

/** No byte of a longer character of UTF-8 is a quote or a backslash. */
function endOfText(bytes: Uint8Array, from: number): number {
  let i = from
  while (i < bytes.length && bytes[i] !== QUOTE) i += bytes[i] === BACKSLASH ? 2 : 1
  return i
}

/**
 * Whether the value has as many members as the text has names, so that no name was repeated, and nothing that is
 * refused. Without any backslash, text can have neither U+0000 nor a lone surrogate.
 */
export function isExact(value: Json, names: number, { hasEscapes }: { readonly hasEscapes: boolean }): boolean {
  return membersOf(value, hasEscapes) === names
}

/** The members of all objects in the value; not a number if something in it is refused. */
function membersOf(value: Json, hasEscapes: boolean): number {
  switch (typeof value) {
    case 'string':
      return !hasEscapes || isKept(value) ? 0 : Number.NaN
    case 'number':
      return Math.abs(value) <= Number.MAX_SAFE_INTEGER ? 0 : Number.NaN
    case 'object':
      return value === null ? 0 : membersOfAll(value, hasEscapes)
    default:
      return 0
  }
}

function membersOfAll(value: Exclude<Json, Scalar | null>, hasEscapes: boolean): number {
  const names = Array.isArray(value) ? [] : Object.keys(value)
  let members = !hasEscapes || names.every(isSureName) ? names.length : Number.NaN
  for (const one of Object.values(value)) members += membersOf(one, hasEscapes)
  return members
}

function isKept(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

/**
 * V8 may take an escaped name for another one, which it has met before and which ends with a backslash
 * (https://github.com/nodejs/node/issues/63785).
 */
function isSureName(name: string): boolean {
  return isKept(name) && !name.includes('\\')
}
