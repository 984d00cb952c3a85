/** Public Ed25519 keys of people, as they write them: a line of OpenSSH (RFC 8709), PEM (SPKI), or a JWK (RFC 8037). */
import { createHash, createPublicKey, type KeyObject } from 'node:crypto'
import { isObject } from '../../base/is-object.ts'
import type { PersonKey } from '../../decide/policy.ts'

/** What a key isn't, as the end of a sentence: `the key is …`. */
export interface BadKey {
  readonly fault: string
  readonly hint: string
}

const MAKE = 'make a key with `ssh-keygen -t ed25519`, and copy the line of the file that ends in `.pub`'

export function readPersonKey(text: string): PersonKey | BadKey {
  const trimmed = text.trim()
  if (trimmed.includes('PRIVATE KEY') || isPrivateJwk(trimmed)) {
    return { fault: 'a private key', hint: 'replace this key with a new one, and write its public half here' }
  }
  const read = /^[a-z0-9@.-]{1,64}\s/.test(trimmed) ? readLine(trimmed) : readOther(trimmed)
  if ('fault' in read || !isForgeable(read)) return read
  return { fault: 'one that anybody can sign with', hint: MAKE }
}

function isPrivateJwk(text: string): boolean {
  return jwkIn(text)?.d !== undefined
}

function jwkIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = text.startsWith('{') ? JSON.parse(text) : undefined
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/**
 * One key and nothing beside it: a person who reviews the file sees what counts. Its lines may be one: quotes of YAML
 * make spaces of line ends.
 */
const PEM = /^-----BEGIN PUBLIC KEY-----\s+([A-Za-z0-9+/=\s]+)-----END PUBLIC KEY-----$/

function readOther(text: string): PersonKey | BadKey {
  const key = publicKeyIn(text)
  if (!key) return { fault: 'not a public key', hint: MAKE }
  const { crv, x } = key.asymmetricKeyType === 'ed25519' ? key.export({ format: 'jwk' }) : {}
  return crv === 'Ed25519' && typeof x === 'string' ? personKey(x) : { fault: 'not an Ed25519 key', hint: MAKE }
}

function publicKeyIn(text: string): KeyObject | undefined {
  try {
    const jwk = jwkIn(text)
    if (jwk) return createPublicKey({ key: jwk, format: 'jwk' })
    const [, encoded] = PEM.exec(text) ?? []
    if (encoded === undefined) return undefined
    return createPublicKey({ key: Buffer.from(encoded, 'base64'), format: 'der', type: 'spki' })
  } catch {
    return undefined
  }
}

const ED25519 = 'ssh-ed25519'
const KEY_BYTES = 32

/** RFC 8709 section 4: two strings, each behind its length in four bytes (RFC 4251 section 5). */
function readLine(line: string): PersonKey | BadKey {
  const [kind = '', encoded = ''] = line.split(/\s+/)
  if (kind !== ED25519) return { fault: `of the kind ${kind}, not ${ED25519}`, hint: MAKE }
  if (/[\r\n]/.test(line)) return { fault: 'more than one line', hint: 'write each key as an element of its own' }
  const head = Buffer.concat([sshLength(ED25519.length), Buffer.from(ED25519), sshLength(KEY_BYTES)])
  const bytes = Buffer.from(encoded, 'base64')
  // Buffer passes over characters that no base64 has.
  const isExact = bytes.toString('base64') === encoded && bytes.length === head.length + KEY_BYTES
  if (!isExact || !bytes.subarray(0, head.length).equals(head)) return { fault: 'cut or changed', hint: MAKE }
  return personKey(bytes.subarray(head.length).toString('base64url'))
}

/** In four bytes (RFC 4251 section 5). */
export function sshLength(length: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(length)
  return bytes
}

/** RFC 7638 section 3.2: the members in this order, without spaces. */
export function personKey(x: string): PersonKey {
  const kid = createHash('sha256')
    .update(JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x }))
    .digest('base64url')
  return { kid, x }
}

// ---- Points of small order: whoever knows the curve signs for them, without a private half.

/** Their y, in hexadecimal digits with the last byte first, also as encoders write it that don't reduce it. */
const SMALL_ORDER: ReadonlySet<string> = new Set([
  '0'.repeat(64),
  `${'0'.repeat(63)}1`,
  '7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7',
  '05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826',
  `7${'f'.repeat(61)}ec`,
  `7${'f'.repeat(61)}ed`,
  `7${'f'.repeat(61)}ee`,
])

function isForgeable({ x }: PersonKey): boolean {
  const bytes = Buffer.from(x, 'base64url').reverse()
  // The first bit is the sign of the other coordinate.
  return SMALL_ORDER.has(((bytes[0] ?? 0) & 0x7f).toString(16).padStart(2, '0') + bytes.toString('hex', 1))
}
