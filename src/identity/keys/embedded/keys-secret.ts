/** KEYS_SECRET: encrypts the signing keys in the database. No text that shows it has its bytes. */
import { AGAIN, againWith } from '../../../base/problems/fix.ts'
import { KeyError } from '../key-error.ts'

/** 32 bytes are 43 characters of base64url without padding. */
const MIN_BYTES = 32
const MAX_BYTES = 256
/** 32 random bytes have fewer different ones than this with a probability under 10^-12. */
const MIN_DIFFERENT = 16

/** Starts again with a new secret, and keeps it: a secret that nobody kept would lose the keys at the next start. */
export const WITH_NEW_SECRET =
  'KEYS_SECRET="$(openssl rand -base64 32)" && export KEYS_SECRET && ' +
  `(umask 077; printf '\\nKEYS_SECRET=%s\\n' "$KEYS_SECRET" >> .env) && ${AGAIN}`

export class KeysSecret {
  readonly #bytes: Uint8Array

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  bytes(): Uint8Array {
    return this.#bytes
  }
}

export interface KeysSecrets {
  /** Encrypts, and decrypts. */
  readonly current: KeysSecret
  /** Only decrypts. */
  readonly old: KeysSecret | undefined
}

/** `value`: base64 or base64url; `name`: the setting that has it. Throws KeyError for a weak secret; its message has no part of the value. */
export function readKeysSecret(name: string, value: string): KeysSecret {
  const bytes = /^[A-Za-z0-9+/_-]+={0,2}$/.test(value) ? Buffer.from(value, 'base64') : Buffer.alloc(0)
  const long = bytes.length >= MIN_BYTES && bytes.length <= MAX_BYTES
  if (long && new Set(bytes).size >= MIN_DIFFERENT) return new KeysSecret(bytes)
  throw new KeyError(
    `${name} is not ${MIN_BYTES} to ${MAX_BYTES} random bytes in base64; set it to the value that encrypted the keys, or ` +
      'for the first start to a new one that you keep in the environment of every start, for example in .env',
    name === 'KEYS_SECRET' ? WITH_NEW_SECRET : againWith(name, "'<the value before>'"),
  )
}
