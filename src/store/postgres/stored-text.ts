/**
 * Text as PostgreSQL can keep it. It has no NUL and no lone surrogates, so these are escaped, with U+0001; U+0001 is
 * escaped too. The order by code points stays the same.
 */
import { createHash } from 'node:crypto'

const ESCAPE = '\u0001'
const [FOR_NUL, FOR_ESCAPE, FOR_SURROGATE, FOR_REST] = ['\u0001', '\u0002', '\u0003', '\u0004']

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
const LONGEST_BYTES = 700

/**
 * A text that an index can hold: long text is cut, and its hash appended. Two are equal exactly when the texts are; cut
 * texts with the same beginning sort by their hashes.
 */
export function indexableText(text: string): string {
  const encoded = encodeText(text)
  if (encoded.length * 3 <= LONGEST_BYTES || Buffer.byteLength(encoded) <= LONGEST_BYTES) return encoded
  const hash = createHash('sha256').update(encoded).digest('base64url')
  return beginningOf(encoded) + ESCAPE + FOR_REST + hash
}

/** Whole characters, of at most this many bytes. */
function beginningOf(text: string): string {
  const decoder = new TextDecoder()
  return decoder.decode(Buffer.from(text).subarray(0, LONGEST_BYTES), { stream: true })
}

/** Other text belongs to nobody: it must not be stored as an id or a subject. */
export function wellFormed(text: string): string {
  if (!text.isWellFormed()) throw new Error('an id or a subject must be well-formed Unicode')
  return encodeText(text)
}
