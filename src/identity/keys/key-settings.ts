/**
 * Which keys sign and verify the tokens of this server's own issuer: read from the environment. Also which URLs keys may
 * come from.
 */

import { readFileSync } from 'node:fs'
import { systemReason } from '../../base/files/system-reason.ts'
import { AGAIN } from '../../base/problems/fix.ts'
import { type KeysSecrets, readKeysSecret } from './embedded/keys-secret.ts'
import { KeyError } from './key-error.ts'

export type KeySettings =
  /** `secrets`: KEYS_SECRET and KEYS_SECRET_OLD; without them, a database file has a secret of its own beside it. */
  | { readonly kind: 'embedded'; readonly secrets: KeysSecrets | undefined }
  | { readonly kind: 'public-key'; readonly pem: string }
  | { readonly kind: 'jwks'; readonly url: string }

type Env = (name: string) => string | undefined

/** Throws KeyError. */
export function readKeySettings(env: Env): KeySettings {
  const secrets = readSecrets(env)
  const jwksUrl = env('JWT_JWKS_URL')
  const publicKey = env('JWT_PUBLIC_KEY')
  if (jwksUrl !== undefined && publicKey !== undefined) {
    throw new KeyError(
      'JWT_JWKS_URL and JWT_PUBLIC_KEY are both set; unset one of them',
      `env -u JWT_PUBLIC_KEY ${AGAIN}`,
    )
  }
  const other = jwksUrl === undefined ? 'JWT_PUBLIC_KEY' : 'JWT_JWKS_URL'
  if (secrets && (jwksUrl ?? publicKey) !== undefined) {
    throw new KeyError(
      `KEYS_SECRET and ${other} are both set, but a server with ${other} signs nothing; unset one`,
      `env -u KEYS_SECRET ${AGAIN}`,
    )
  }
  if (publicKey !== undefined) return { kind: 'public-key', pem: pem(publicKey) }
  if (jwksUrl === undefined) return { kind: 'embedded', secrets }
  if (hasCredentials(jwksUrl)) {
    throw new KeyError('JWT_JWKS_URL has a user name or password; remove it, because a key set is public')
  }
  if (isSafeForKeys(jwksUrl)) return { kind: 'jwks', url: jwksUrl }
  throw new KeyError('JWT_JWKS_URL is not an https URL; set it to one (http is accepted only for this machine)')
}

function readSecrets(env: Env): KeysSecrets | undefined {
  const current = env('KEYS_SECRET')
  const old = env('KEYS_SECRET_OLD')
  if (current === undefined && old !== undefined) {
    throw new KeyError(
      'KEYS_SECRET_OLD is set without KEYS_SECRET; set KEYS_SECRET, which encrypts the signing keys',
      `env -u KEYS_SECRET_OLD ${AGAIN}`,
    )
  }
  if (current === undefined) return undefined
  return {
    current: readKeysSecret('KEYS_SECRET', current),
    old: old === undefined ? [] : [readKeysSecret('KEYS_SECRET_OLD', old)],
  }
}

/** JWT_PUBLIC_KEY is the text of a key, or the name of a file that holds it. */
function pem(value: string): string {
  if (value.startsWith('-----BEGIN') || value.startsWith('{')) return value
  try {
    return readFileSync(value, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new KeyError(
      `JWT_PUBLIC_KEY is neither a key nor a readable file (${systemReason(code)}); set it to one of them`,
    )
  }
}

// Which URLs keys may come from: if anybody on the network path can replace keys, they are worthless.

const THIS_MACHINE = ['localhost', '127.0.0.1', '[::1]']

/** The error of `fetch` for such a URL would repeat the password in logs. */
export function hasCredentials(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && (url.username !== '' || url.password !== '')
}

/** Whether it is an https URL, or an http URL of this machine. */
export function isSafeForKeys(text: string): boolean {
  const url = URL.parse(text)
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && THIS_MACHINE.includes(url.hostname))
}
