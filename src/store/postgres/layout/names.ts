/** Names of tables and indexes, and texts that stand in statements. Values are bound, never written into the text. */
import { createHash } from 'node:crypto'
import { quoteLiteral } from '../../sql/quote.ts'
import { encodeText } from '../stored-text.ts'

/** PostgreSQL cuts longer names off, without an error. */
const LONGEST_NAME_BYTES = 63
const HASH_LENGTH = 22

/** A name of at most 63 bytes; different texts have different names. */
export function nameOf(text: string): string {
  const name = encodeText(text)
  if (Buffer.byteLength(name) <= LONGEST_NAME_BYTES) return name
  const hash = createHash('sha256').update(name).digest('base64url').slice(0, HASH_LENGTH)
  const decoder = new TextDecoder()
  const beginning = Buffer.from(name).subarray(0, LONGEST_NAME_BYTES - HASH_LENGTH - 1)
  return `${decoder.decode(beginning, { stream: true })} ${hash}`
}

/** The beginning of the name of a table of objects. */
export const TABLE_PREFIX = 'objects_'

export function tableOf(resource: string): string {
  return nameOf(TABLE_PREFIX + resource)
}

/** A text that is part of an index, so it can't be bound: the name of a field. */
export function quoteText(text: string): string {
  return quoteLiteral(encodeText(text))
}
