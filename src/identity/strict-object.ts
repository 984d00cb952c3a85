/**
 * Reads a JSON object that all readers understand alike: valid UTF-8, no repeated name in an object, no broken
 * characters.
 */
import { isObject } from '../base/is-object.ts'

/** Deeper than any claim; a deeper value could overflow the stack of recursive code. */
const MAX_DEPTH = 32

/** Finds all strings and brackets of a text that JSON.parse accepts; a string before a colon is a name. */
const TOKENS = /("(?:[^"\\]|\\.)*")(\s*:)?|[{}[\]]/g

/** Undefined for other input. A member `__proto__` is a member like any other. */
export function readStrictObject(bytes: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  const value = parse(bytes)
  return value !== undefined && isObject(value.parsed) && readsAlike(value.text) ? value.parsed : undefined
}

function parse(bytes: Uint8Array): { readonly text: string; readonly parsed: unknown } | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    return { text, parsed: JSON.parse(text) }
  } catch {
    return undefined
  }
}

/** RFC 8259 leaves the result open for repeated names (section 4) and for lone surrogates (section 8.2). */
function readsAlike(text: string): boolean {
  const open: Set<string>[] = []
  for (const [token, literal, colon] of text.matchAll(TOKENS)) {
    if (token === '{' || token === '[') open.push(new Set())
    else if (token === '}' || token === ']') open.pop()
    else if (literal !== undefined && !isFit(JSON.parse(literal), colon && open.at(-1))) return false
    if (open.length > MAX_DEPTH) return false
  }
  return true
}

/** `names` are the previous names in the same object; undefined if the string is a value. */
function isFit(string: string, names: Set<string> | '' | undefined): boolean {
  if (!string.isWellFormed()) return false
  if (!names) return true
  const isNew = !names.has(string)
  names.add(string)
  return isNew
}
