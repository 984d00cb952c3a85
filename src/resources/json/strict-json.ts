/**
 * Bytes -> JSON, as strict as I-JSON (RFC 7493): UTF-8 without a byte order mark, no duplicate names, no number that a
 * double would round, no lone surrogates; and no U+0000, which not every store can keep. Nesting is bounded.
 */
import { Problem } from '../../base/problems/problem.ts'
import type { Json } from '../resource.ts'
import { countNames, isExact } from './exact-json.ts'
import { DEEPEST, readExactly, refuseFaultyJson, visitStrictly } from './slow-json.ts'

/** Throws Problem invalid-json, saying line and column. */
export function parseStrictJson(bytes: Uint8Array): Json {
  const text = decodeUtf8(bytes)
  const exact = parseExact(bytes, text, DEEPEST)
  if (exact) return exact.value
  refuseFaultyJson(text)
  return readExactly(text)
}

/**
 * A row of an import: an object as deep as a body can be, in an object. Text that isn't JSON is undefined. `refuse` gets
 * what is wrong with other text, and throws.
 */
export function parseStrictLine(text: string, refuse: (what: string) => never): Json | undefined {
  const exact = parseExact(Buffer.from(text), text, DEEPEST + 1)
  if (exact) return exact.value
  if (!isJson(text)) return undefined
  visitStrictly(text, DEEPEST + 1, (offset, what) => refuse(`${what} at column ${offset + 1}`))
  return readExactly(text)
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Nearly every text, and far cheaper than to look for the place of a fault. Undefined if there may be one. */
function parseExact(bytes: Uint8Array, text: string, deepest: number): { readonly value: Json } | undefined {
  const names = countNames(bytes, deepest)
  if (names === undefined) return undefined
  try {
    const value = JSON.parse(text) as Json
    return isExact(value, names, { hasEscapes: text.includes('\\') }) ? { value } : undefined
  } catch {
    return undefined
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decodeUtf8(bytes: Uint8Array): string {
  let text: string
  try {
    text = UTF8.decode(bytes)
  } catch (cause) {
    throw new Problem('invalid-json', 'The body is not UTF-8; send it as UTF-8.', { cause })
  }
  if (text.startsWith('\uFEFF')) throw new Problem('invalid-json', 'The body begins with a byte order mark; remove it.')
  return text
}
