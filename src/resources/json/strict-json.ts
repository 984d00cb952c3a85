/**
 * Bytes -> JSON, as strict as I-JSON (RFC 7493): UTF-8 without a byte order mark, no duplicate names, no number that a
 * double would round, no lone surrogates; and no U+0000, which not every store can keep. Nesting is bounded.
 */
import { type JSONVisitor, type Node, type ParseErrorCode, parseTree, visit } from 'jsonc-parser'
import { placeAt } from '../../base/diagnostic.ts'
import { Problem } from '../../base/problems/problem.ts'
import type { Json } from '../resource.ts'
import { isJson, syntaxFault } from '../schema/schema-file.ts'

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

/** Nearly every text, and far cheaper than to look for the place of a fault. Undefined if there may be one. */
function parseExact(bytes: Uint8Array, text: string, deepest: number): { readonly value: Json } | undefined {
  const names = countNames(bytes, deepest)
  if (names === undefined) return undefined
  try {
    const value = JSON.parse(text) as Json
    return membersOf(value, text.includes('\\')) === names ? { value } : undefined
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

// Whether JSON.parse gave back exactly what a text says: it silently drops repeated names, rounds numbers, takes lone
// surrogates, and mistakes some names. It is found out by counting, which is far cheaper than to look for a place.

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]

/**
 * The names of all members, as often as they stand there: outside of texts, a colon stands behind each name, and
 * nowhere else. Undefined if the nesting is deeper. Says nothing about text that isn't JSON.
 */
function countNames(bytes: Uint8Array, maxDepth: number): number | undefined {
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
 * The members of all objects in the value: as many as the text has names, if none was repeated. Not a number if
 * something in it is refused. Without any backslash, text can have neither U+0000 nor a lone surrogate.
 */
function membersOf(value: Json, hasEscapes: boolean): number {
  if (typeof value === 'string') return !hasEscapes || isKept(value) ? 0 : Number.NaN
  if (typeof value === 'number') return Math.abs(value) <= Number.MAX_SAFE_INTEGER ? 0 : Number.NaN
  if (typeof value !== 'object' || value === null) return 0
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

// JSON text, name by name: the first fault and its place, or the value. Strict JSON is read so where JSON.parse can't be
// trusted with it.

/** The most lists and objects inside one another. */
const DEEPEST = 32

/** Throws Problem invalid-json, saying line and column. */
export function refuseFaultyJson(text: string): void {
  visitStrictly(text, DEEPEST, (offset, what) => {
    const { line, column } = placeAt('', text, offset)
    throw new Problem('invalid-json', `The body is not strict JSON; correct ${what} at line ${line}, column ${column}.`)
  })
}

type Refuse = (offset: number, what: string) => never

/** Calls `refuse` at the first fault, so a hostile text isn't read further. */
function visitStrictly(text: string, deepest: number, refuse: Refuse): void {
  const options = { disallowComments: true, allowTrailingComma: false, allowEmptyContent: false }
  visit(text, strictVisitor(deepest, refuse), options)
}

function strictVisitor(deepest: number, refuse: Refuse): JSONVisitor {
  const names: Set<string>[] = []
  let depth = 0
  const enter = (offset: number) => {
    depth++
    if (depth > deepest) refuse(offset, `the nesting deeper than ${deepest} levels`)
  }
  const checkText = (value: string, offset: number) => {
    if (!value.isWellFormed()) refuse(offset, 'the lone surrogate')
    if (value.includes('\0')) refuse(offset, 'the character U+0000')
  }
  return {
    onObjectBegin: (offset) => {
      enter(offset)
      names.push(new Set())
    },
    onObjectProperty: (name, offset) => {
      checkText(name, offset)
      if (names.at(-1)?.has(name)) refuse(offset, 'the repeated name')
      names.at(-1)?.add(name)
    },
    onObjectEnd: () => {
      names.pop()
      depth--
    },
    onArrayBegin: enter,
    onArrayEnd: () => {
      depth--
    },
    onLiteralValue: (value, offset) => {
      if (typeof value === 'string') checkText(value, offset)
      if (typeof value === 'number' && !(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) {
        refuse(offset, 'the number beyond 2^53')
      }
    },
    onError: (error: ParseErrorCode, offset) => refuse(offset, `the syntax (${syntaxFault(error)})`),
  }
}

/** The value of text without a fault. */
export function readExactly(text: string): Json {
  const tree = parseTree(text)
  if (!tree) throw new Error('text without a fault has a value')
  return jsonOf(tree)
}

/** As JSON.parse makes it: `__proto__` is a member like others. */
function jsonOf({ type, value, children = [] }: Node): Json {
  if (type === 'array') return children.map(jsonOf)
  if (type === 'object') return Object.fromEntries(children.map(memberOf))
  return value as Json
}

function memberOf({ children: [name, value] = [] }: Node): readonly [string, Json] {
  if (!name || !value) throw new Error('a member of text without a fault has a name and a value')
  return [name.value as string, jsonOf(value)]
}
