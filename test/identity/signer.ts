/** Real keys, and compact tokens made by hand, so that a test can write what no library would. */
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import type { EmbeddedKey } from '../../src/identity/keys/embedded/embedded-key.ts'

export const ISSUER = 'https://issuer.example'
export const AUDIENCE = 'sallyport'

type Part = string | Uint8Array | Readonly<Record<string, unknown>>

export interface Signer {
  readonly kid: string
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
  /** As JWT_PUBLIC_KEY has it. */
  readonly pem: string
  /** As a key set has it, with `kid`. */
  readonly jwk: Readonly<Record<string, unknown>>
  /** A signed token; header and payload as JSON, text or bytes. */
  token(payload?: Part, header?: Part): string
}

export function ed25519(kid = 'k1'): Signer {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const token: Signer['token'] = (payload = claims(), header = {}) => {
    const input = `${encode(header instanceof Object && !isBytes(header) ? { alg: 'EdDSA', kid, ...header } : header)}.${encode(payload)}`
    return `${input}.${encode(sign(null, Buffer.from(input), privateKey))}`
  }
  return { kid, privateKey, publicKey, pem: pemOf(publicKey), jwk: jwkOf(publicKey, kid), token }
}

/** A signer as the server's own key. */
export async function asEmbedded({ kid, privateKey, publicKey }: Signer): Promise<EmbeddedKey> {
  return {
    kid,
    privateKey: privateKey.toCryptoKey({ name: 'Ed25519' }, false, ['sign']),
    publicKey: publicKey.toCryptoKey({ name: 'Ed25519' }, false, ['verify']),
    jwk: publicKey.export({ format: 'jwk' }) as EmbeddedKey['jwk'],
  }
}

/** What the smallest good token claims, with changes; a claim that is undefined is left out. */
export function claims(changes: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> {
  return { iss: ISSUER, aud: AUDIENCE, sub: 'alice', exp: now() + 3600, ...changes }
}

/** Seconds since 1970. */
export function now(): number {
  return Math.floor(Date.now() / 1000)
}

export function encode(part: Part): string {
  return Buffer.from(typeof part === 'string' || isBytes(part) ? part : JSON.stringify(part)).toString('base64url')
}

export function pemOf(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'pem' }).toString()
}

export function jwkOf(key: KeyObject, kid: string): Readonly<Record<string, unknown>> {
  return { ...key.export({ format: 'jwk' }), kid }
}

function isBytes(part: Part): part is Uint8Array {
  return part instanceof Uint8Array
}
