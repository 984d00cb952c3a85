/**
 * Text as PostgreSQL can keep it. It has no NUL and no lone surrogates, so these are escaped, with U+0001; U+0001 is
 * escaped too. The order by code points stays the same.
 */
import { createHash } from 'node:crypto'
import { quoteLiteral, wellFormed } from '../sql/statement.ts'

const ESCAPE = '\u0001'
const [FOR_NUL, FOR_ESCAPE, FOR_SURROGATE] = ['\u0001', '\u0002', '\u0003']

const LONE_SURROGATE = /\p{Surrogate}/gu

export function encodeText(text: string): string {
  if (!text.includes('\0') && !text.includes(ESCAPE) && text.isWellFormed()) return text
  return text
    .replaceAll(ESCAPE, ESCAPE + FOR_ESCAPE)
    .replaceAll('\0', ESCAPE + FOR_NUL)
    .replace(LONE_SURROGATE, (unit) => ESCAPE + FOR_SURROGATE + unit.charCodeAt(0).toString(16))
}

/** The text that `encodeText` encoded. */
export function decodeText(stored: string): string {
  if (!stored.includes(ESCAPE)) return stored
  const [first = '', ...others] = stored.split(ESCAPE)
  const parts = [first]
  for (let at = 0; at < others.length; at += 1) {
    const part = others[at] ?? ''
    // After the escape of a NUL comes another escape character, which splits too.
    if (part === '') parts.push('\0', others[++at] ?? '')
    else if (part.startsWith(FOR_ESCAPE)) parts.push(ESCAPE, part.slice(1))
    else parts.push(String.fromCharCode(Number.parseInt(part.slice(1, 5), 16)), part.slice(5))
  }
  return parts.join('')
}

/** An entry of an index takes at most 2704 bytes: two such texts and an id fit. */
export const LONGEST_BYTES = 700

/**
 * Stands before the hash. No character is greater, and no short text has it behind the beginning of a long text: it would
 * not fit. So cut texts with the same beginning stand together, where all of them belong.
 */
export const CUT = '\u{10ffff}'

export const HASH_LENGTH = 43

/** A text as an index can hold it. */
export interface IndexedText {
  /** Different for different texts. Cut texts with the same beginning sort by their hashes. */
  readonly indexable: string
  /** Of a cut text: what all cut texts with the same beginning begin with, and only they. */
  readonly beginning?: string
}

export function indexedText(text: string): IndexedText {
  const encoded = encodeText(text)
  if (encoded.length * 3 <= LONGEST_BYTES || Buffer.byteLength(encoded) <= LONGEST_BYTES) return { indexable: encoded }
  const beginning = beginningOf(encoded) + CUT
  return { indexable: beginning + createHash('sha256').update(encoded).digest('base64url'), beginning }
}

/** Whole characters, of at most this many bytes. */
function beginningOf(text: string): string {
  const decoder = new TextDecoder()
  return decoder.decode(Buffer.from(text).subarray(0, LONGEST_BYTES), { stream: true })
}

/** An id or a subject as it is stored. Throws for text that isn't well-formed. */
export function encodeId(text: string): string {
  return encodeText(wellFormed(text))
}

// Names of tables and indexes, and texts that stand in statements. Values are bound, never written into the text.

/** PostgreSQL cuts longer names off, without an error. */
const LONGEST_NAME_BYTES = 63
const NAME_HASH_LENGTH = 22

/** A name of at most 63 bytes; different texts have different names. */
export function nameOf(text: string): string {
  const name = encodeText(text)
  if (Buffer.byteLength(name) <= LONGEST_NAME_BYTES) return name
  const hash = createHash('sha256').update(name).digest('base64url').slice(0, NAME_HASH_LENGTH)
  const decoder = new TextDecoder()
  const beginning = Buffer.from(name).subarray(0, LONGEST_NAME_BYTES - NAME_HASH_LENGTH - 1)
  return `${decoder.decode(beginning, { stream: true })} ${hash}`
}

/** The beginning of the name of a table of objects. */
export const TABLE_PREFIX = 'objects_'

export function tableNameOf(resource: string): string {
  return nameOf(TABLE_PREFIX + resource)
}

/** A text that is part of an index, so it can't be bound: the name of a field. */
export function quoteText(text: string): string {
  return quoteLiteral(encodeText(text))
}
