/** The header Idempotency-Key (draft-ietf-httpapi-idempotency-key-header): what its syntax can hold, quoted or bare. */
import type { IncomingMessage } from 'node:http'
import { Problem } from '../../base/problems/problem.ts'

const MAX_LENGTH = 255

/** A string of RFC 8941 section 3.3.3. */
const QUOTED = /^"(?<inner>(?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/
const BARE = /^[\x21\x23-\x2b\x2d-\x7e]*$/

/**
 * Without quotes and escapes, so that `"a"` and `a` are one key; undefined without the header. Throws Problem
 * invalid-idempotency-key.
 */
export function readIdempotencyKey({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): string | undefined {
  const values = rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === 'idempotency-key')
  const [value, ...others] = values
  if (value === undefined) return undefined
  const key = others.length === 0 ? readKey(value.trim()) : undefined
  if (key !== undefined && key !== '' && key.length <= MAX_LENGTH) return key
  const form = `1 to ${MAX_LENGTH} printable ASCII characters, in double quotes if there is a space, a comma or a quote`
  throw new Problem('invalid-idempotency-key', `The header Idempotency-Key stands once and has ${form}.`)
}

function readKey(value: string): string | undefined {
  const quoted = QUOTED.exec(value)?.groups?.inner
  if (quoted !== undefined) return quoted.replace(/\\(.)/g, '$1')
  return BARE.test(value) ? value : undefined
}
