/** The embedded signing keys (Ed25519): one signs, the older ones verify until the last token that they signed has ended. */
import type { CryptoKey, JWK } from 'jose'
import { calculateJwkThumbprint } from 'jose/jwk/thumbprint'
import { importJWK } from 'jose/key/import'

export interface EmbeddedPublicKey {
  /** RFC 7638 thumbprint. */
  readonly kid: string
  readonly publicKey: CryptoKey
  /** The public half. */
  readonly jwk: { readonly kty: string; readonly crv: string; readonly x: string }
}

export interface EmbeddedKey extends EmbeddedPublicKey {
  readonly privateKey: CryptoKey
}

/** Times are milliseconds since the epoch, by the clock of the database. */
export interface KeptKey {
  /** The position of the key in the order of creation. */
  readonly number: number
  readonly createdAt: number
  readonly key: EmbeddedPublicKey | EmbeddedKey
}

/** A key that only verifies, and the earliest time to remove it: the last token that it signed has ended by then. */
export interface RetiredKey extends KeptKey {
  readonly retiredAt: number
  readonly endsAt: number
}

/** Oldest first. */
export interface RingKeys {
  readonly retired: readonly RetiredKey[]
  readonly current: KeptKey & { readonly key: EmbeddedKey }
}

export interface NotedKey extends KeptKey {
  /** The last noted end of a token of the key; 0 without any. */
  readonly notedEnd: number
}

/**
 * Tokens of sign-in last ten minutes, and a server may still sign for a moment after a rotation. The ends of tokens
 * that last longer are noted.
 */
export const UNNOTED_MS = 11 * 60_000

/** The last key signs. `keys`: by number. Undefined if there are no keys, or if the last one can't sign. */
export function inOrder(keys: readonly NotedKey[]): RingKeys | undefined {
  const current = keys.at(-1)
  if (!current || !isSigner(current)) return undefined
  const retired = keys.slice(0, -1).map((kept, i): RetiredKey => {
    const retiredAt = keys[i + 1]?.createdAt ?? current.createdAt
    return { ...kept, retiredAt, endsAt: Math.max(retiredAt + UNNOTED_MS, kept.notedEnd) }
  })
  return { retired, current }
}

function isSigner(kept: KeptKey): kept is RingKeys['current'] {
  return canSign(kept.key)
}

export function canSign(key: EmbeddedPublicKey | EmbeddedKey): key is EmbeddedKey {
  return 'privateKey' in key
}

/** `text` is a JWK. Undefined if it is no Ed25519 key; no error repeats the text. */
export async function parseEmbeddedKey(text: string): Promise<EmbeddedPublicKey | EmbeddedKey | undefined> {
  try {
    const { kty, crv, x, d } = JSON.parse(text) as JWK
    if (kty !== 'OKP' || crv !== 'Ed25519' || typeof x !== 'string') return undefined
    const jwk = { kty, crv, x }
    const publicKey = (await importJWK(jwk, 'EdDSA')) as CryptoKey
    const key = { kid: await calculateJwkThumbprint(jwk), publicKey, jwk }
    if (typeof d !== 'string') return Object.freeze(key)
    return Object.freeze({ ...key, privateKey: (await importJWK({ ...jwk, d }, 'EdDSA')) as CryptoKey })
  } catch {
    return undefined
  }
}

/** A private JWK. */
export async function generateKey(): Promise<JWK> {
  // Imported only here, because keys are rarely created.
  const [{ generateKeyPair }, { exportJWK }] = await Promise.all([
    import('jose/key/generate/keypair'),
    import('jose/key/export'),
  ])
  const { privateKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true })
  return exportJWK(privateKey)
}
