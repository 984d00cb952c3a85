/**
 * Bytes -> JSON, as strict as I-JSON (RFC 7493): UTF-8 without a byte order mark, no duplicate names, no number that a
 * double would round, no lone surrogates; and no U+0000, which not every store can keep. Nesting is bounded.
 */
import { Problem } from '../../base/problems/problem.ts'
import type { Json } from '../../resources/resource.ts'
import { countNames, isExact } from './exact-json.ts'
import { DEEPEST, readExactly, refuseFaultyJson } from './slow-json.ts'

/** Throws Problem invalid-json, saying line and column. */
export function parseStrictJson(bytes: Uint8Array): Json {
  const text = decodeUtf8(bytes)
  const exact = parseExact(bytes, text)
  if (exact) return exact.value
  refuseFaultyJson(text)
  return readExactly(text)
}

/** Nearly every body, and far cheaper than to look for the place of a fault. Undefined if there may be one. */
function parseExact(bytes: Uint8Array, text: string): { readonly value: Json } | undefined {
  const names = countNames(bytes, DEEPEST)
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
