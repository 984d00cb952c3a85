/** The configured public key (JWT_PUBLIC_KEY): parsed once, at start, and refused there if it can't be trusted. */
import { createPublicKey, type KeyObject } from 'node:crypto'
import { readStrictObject } from '../strict-object.ts'
import { KeyError } from './key-error.ts'

interface PublicKey {
  readonly key: KeyObject
  /** The algorithms that the key can verify, at least one. */
  readonly algorithms: readonly string[]
}

type Jwk = Readonly<Record<string, unknown>>

/** RFC 7518 section 3.4, by OpenSSL's names for the curves. */
const CURVE_ALGORITHMS: Readonly<Record<string, readonly string[]>> = {
  prime256v1: ['ES256'],
  secp384r1: ['ES384'],
  secp521r1: ['ES512'],
}

/** RFC 7518 sections 6.2.2 and 6.3.2: an RSA key can be computed from its primes alone. */
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth']

/** `text` is PEM (SPKI) or a JWK. Throws KeyError for private, weak and unusable keys. */
export function openPublicKey(text: string): PublicKey {
  const jwk = text.trimStart().startsWith('{') ? readStrictObject(Buffer.from(text)) : undefined
  if (text.includes('PRIVATE KEY') || PRIVATE_MEMBERS.some((name) => jwk?.[name] !== undefined)) {
    throw new KeyError('JWT_PUBLIC_KEY holds a private key; set it to the public key')
  }
  const key = parse(text, jwk)
  if (isWeakRsa(key.asymmetricKeyDetails ?? {})) {
    throw new KeyError(
      `JWT_PUBLIC_KEY is a weak RSA key; set it to one of at least ${MIN_RSA_BITS} bits with the exponent 65537`,
    )
  }
  const algorithms = algorithmsOf(key).filter((algorithm) => jwk?.alg === undefined || jwk.alg === algorithm)
  if (algorithms.length > 0 && isForSignatures(jwk ?? {})) return { key, algorithms }
  throw new KeyError("JWT_PUBLIC_KEY can't verify tokens; use an Ed25519, RSA, P-256, P-384 or P-521 signature key")
}

function parse(text: string, jwk: Jwk | undefined): KeyObject {
  try {
    return jwk ? createPublicKey({ key: jwk, format: 'jwk' }) : createPublicKey(text)
  } catch {
    throw new KeyError('JWT_PUBLIC_KEY is not a public key; set it to a key in PEM or as a JWK')
  }
}

/**
 * RFC 7517 sections 4.2 and 4.3; jose checks the keys of a key set in the same way (test/identity/key-server.test.ts).
 */
function isForSignatures({ use, key_ops: operations }: Jwk): boolean {
  const verifies = operations === undefined || (Array.isArray(operations) && operations.includes('verify'))
  return verifies && (use === undefined || use === 'sig')
}

function algorithmsOf(key: KeyObject): readonly string[] {
  switch (key.asymmetricKeyType) {
    case 'ed25519':
      return ['EdDSA', 'Ed25519']
    case 'rsa':
      return ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']
    case 'ec':
      return CURVE_ALGORITHMS[key.asymmetricKeyDetails?.namedCurve ?? ''] ?? []
    default:
      return []
  }
}

/** RFC 7518 section 3.3. */
const MIN_RSA_BITS = 2048

/**
 * The form in which node:crypto (bigint) and WebCrypto (big-endian bytes) describe a key; without a modulus it isn't
 * RSA.
 */
export interface KeyDetails {
  readonly modulusLength?: number | undefined
  readonly publicExponent?: bigint | Uint8Array | undefined
}

/** Under 2048 bits, or with an exponent that is 1 (every signature is its own message), even or missing. */
export function isWeakRsa({ modulusLength, publicExponent = 0n }: KeyDetails): boolean {
  if (modulusLength === undefined) return false
  const exponent = typeof publicExponent === 'bigint' ? publicExponent : numberOf(publicExponent)
  return modulusLength < MIN_RSA_BITS || exponent < 3n || exponent % 2n === 0n
}

function numberOf(bytes: Uint8Array): bigint {
  return BigInt(`0x0${Buffer.from(bytes).toString('hex')}`)
}
