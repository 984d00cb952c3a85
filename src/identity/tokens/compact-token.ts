/**
 * The form of a compact JWS, checked before jose sees it: jose decodes loosely (padding, white space, stray bits), so
 * one token could be written in many ways (test/identity/token-form.test.ts shows them), and if a name occurs twice,
 * the last one wins.
 */
import { readStrictObject } from '../strict-object.ts'

/** Characters; far longer than any token that a server of this kind gets. */
export const MAX_TOKEN_LENGTH = 8192

type TokenObject = Readonly<Record<string, unknown>>

export type CompactToken =
  | { readonly kind: 'sound'; readonly header: TokenObject; readonly payload: TokenObject }
  | { readonly kind: 'faulty'; readonly reason: string }

/** RFC 7515 section 7.1. Doesn't check the signature: header and payload are still untrusted. */
export function readCompactToken(token: string): CompactToken {
  if (token.length > MAX_TOKEN_LENGTH) return { kind: 'faulty', reason: 'too long' }
  const segments = token.split('.')
  if (segments.length === 1) return { kind: 'faulty', reason: 'opaque, not a JWT' }
  if (segments.length !== 3) return { kind: 'faulty', reason: 'not three segments' }
  if (!segments.every(isCanonicalBase64Url)) return { kind: 'faulty', reason: 'not canonical base64url' }
  const [header, payload] = segments.map((segment) => Buffer.from(segment, 'base64url'))
  const parsed = header && readStrictObject(header)
  if (!parsed) return { kind: 'faulty', reason: 'the header is not a strict JSON object' }
  const claims = payload && readStrictObject(payload)
  if (!claims) return { kind: 'faulty', reason: 'the payload is not a strict JSON object' }
  return { kind: 'sound', header: parsed, payload: claims }
}

/**
 * RFC 4648 section 5 without padding: characters that decoding ignores are missing when the bytes are encoded again.
 */
function isCanonicalBase64Url(segment: string): boolean {
  return segment !== '' && Buffer.from(segment, 'base64url').toString('base64url') === segment
}
