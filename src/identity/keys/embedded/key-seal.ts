/**
 * Encrypts signing keys for the database: JWE in compact form (RFC 7516), `dir` with A256GCM, under a key that is
 * derived from the secret. Each text is bound to its number, so no text counts in the row of another key.
 * docs/decisions/0055-signing-keys.md has the reasons.
 */
import { hkdfSync } from 'node:crypto'
import { decodeProtectedHeader } from 'jose/decode/protected_header'
import { compactDecrypt } from 'jose/jwe/compact/decrypt'
import { CompactEncrypt } from 'jose/jwe/compact/encrypt'
import type { KeysSecret, KeysSecrets } from './keys-secret.ts'

type Unsealed =
  | { readonly kind: 'opened'; readonly text: string }
  /** Sealed under a secret that isn't known here. */
  | { readonly kind: 'other-secret' }
  /** Somebody changed it, or it is of another number. */
  | { readonly kind: 'damaged' }

export interface KeySeal {
  /** The name of the secret, for messages. */
  readonly secret: string
  seal(number: number, text: string): Promise<string>
  open(number: number, sealed: string): Promise<Unsealed>
  /** Whether `seal` would make such a text. */
  isCurrent(sealed: string): boolean
}

interface SealKey {
  /** Names the secret without revealing it. */
  readonly id: string
  readonly key: Uint8Array
}

const ALGORITHMS = { keyManagementAlgorithms: ['dir'], contentEncryptionAlgorithms: ['A256GCM'] }

export function createKeySeal({ current, old }: KeysSecrets): KeySeal {
  const { id, key } = sealKeyOf(current)
  const keys = new Map<unknown, Uint8Array>([...old, current].map(sealKeyOf).map((one) => [one.id, one.key]))
  return {
    secret: current.name,
    seal: (number, text) =>
      new CompactEncrypt(new TextEncoder().encode(text))
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', kid: id, number })
        .encrypt(key),
    async open(number, sealed) {
      const kid = secretOf(sealed)
      if (kid === undefined) return { kind: 'damaged' }
      const known = keys.get(kid)
      if (!known) return { kind: 'other-secret' }
      try {
        const { plaintext, protectedHeader } = await compactDecrypt(sealed, known, ALGORITHMS)
        if (protectedHeader.number !== number) return { kind: 'damaged' }
        return { kind: 'opened', text: new TextDecoder().decode(plaintext) }
      } catch {
        return { kind: 'damaged' }
      }
    },
    isCurrent: (sealed) => secretOf(sealed) === id,
  }
}

/** The id of the secret, from the header, which isn't verified yet; undefined for a text that isn't sealed. */
export function secretOf(sealed: string): string | undefined {
  try {
    return decodeProtectedHeader(sealed).kid
  } catch {
    return undefined
  }
}

/** HKDF (RFC 5869), because the secret is random and long enough: nothing slow is needed. */
function sealKeyOf(secret: KeysSecret): SealKey {
  const derive = (info: string, length: number) =>
    new Uint8Array(hkdfSync('sha256', secret.bytes(), new Uint8Array(), `sallyport signing keys: ${info}`, length))
  return { id: Buffer.from(derive('id', 12)).toString('base64url'), key: derive('key', 32) }
}
