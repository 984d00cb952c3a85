/** An embedded signing key (Ed25519), or only its public half once it no longer signs. */
import type { CryptoKey, JWK } from 'jose'
import { calculateJwkThumbprint } from 'jose/jwk/thumbprint'
import { importJWK } from 'jose/key/import'
import { shellWord } from '../../../base/problems/fix.ts'
import { KeyError } from '../key-error.ts'

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

/** `text` is a JWK. Throws KeyError, which names the file. */
export async function parseEmbeddedKey(file: string, text: string): Promise<EmbeddedPublicKey | EmbeddedKey> {
  try {
    const { kty, crv, x, d } = JSON.parse(text) as JWK
    if (kty !== 'OKP' || crv !== 'Ed25519' || typeof x !== 'string') throw unusableKey(file)
    const jwk = { kty, crv, x }
    const publicKey = (await importJWK(jwk, 'EdDSA')) as CryptoKey
    const key = { kid: await calculateJwkThumbprint(jwk), publicKey, jwk }
    if (typeof d !== 'string') return Object.freeze(key)
    return Object.freeze({ ...key, privateKey: (await importJWK({ ...jwk, d }, 'EdDSA')) as CryptoKey })
  } catch {
    throw unusableKey(file)
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

export function canSign(key: EmbeddedPublicKey | EmbeddedKey): key is EmbeddedKey {
  return 'privateKey' in key
}

export function unusableKey(file: string): KeyError {
  return new KeyError(
    `the signing key ${file} is not an Ed25519 key; restore it, or delete it to get a new one`,
    `rm ${shellWord(file)}`,
  )
}
