/**
 * The keys of a key server (JWT_JWKS_URL, or an OpenID provider's): cached, fetched again if a key is unknown, and
 * never trusted if weak.
 */
import type { CryptoKey, FetchImplementation, JWTVerifyGetKey } from 'jose'
import { JWKSMultipleMatchingKeys, JWKSNoMatchingKey } from 'jose/errors'
import { createRemoteJWKSet, customFetch } from 'jose/jwks/remote'
import { discoveryUrl, fetchKeys, fetchKeysOf, KeyServerFault } from './fetch-keys.ts'
import { KeyError } from './key-error.ts'
import { hasCredentials } from './key-url.ts'
import { isWeakRsa, type KeyDetails } from './public-key.ts'

/** The limit for the whole answer. */
const TIMEOUT_MS = 3_000
/** The pause between two requests to the server, whether it answered or not, because anybody can invent a `kid`. */
const PAUSE_MS = 10_000
/** The time for which a key stays valid here after the server removed it. */
const MAX_AGE_MS = 600_000

interface KeyServer {
  readonly find: JWTVerifyGetKey
  /** See KeyedVerifier: undefined when the keys are so old that they must be fetched again. */
  readonly generation: () => number | undefined
}

/**
 * Finds a token's key, or throws KeyServerFault (the server's fault) or a JOSEError (the token's). Asks no other URL.
 * Throws KeyError at once for a URL with a password: the error of `fetch` for such a URL would repeat the password in
 * the log.
 */
export function createKeyServer(url: string): KeyServer {
  const address = new URL(url)
  if (hasCredentials(url)) {
    throw new KeyError('JWT_JWKS_URL has a user name or password; remove it, because a key set is public')
  }
  return keep(address, fetchKeys)
}

/** Like createKeyServer, for an OpenID provider: asks only its discovery document and the `jwks_uri` in it. */
export function createProviderKeys(issuer: string): KeyServer {
  return keep(new URL(discoveryUrl(issuer)), fetchKeysOf(issuer))
}

function keep(address: URL, ask: FetchImplementation): KeyServer {
  const asked = countChanges(pauseAfterFault(ask))
  const find = createRemoteJWKSet(address, {
    timeoutDuration: TIMEOUT_MS,
    cooldownDuration: PAUSE_MS,
    cacheMaxAge: MAX_AGE_MS,
    [customFetch]: asked.fetch,
  })
  return {
    generation: asked.generation,
    find: async (header, token) => {
      const key = await find(header, token).catch(rethrow)
      if (!isWeakRsa(key.algorithm as KeyDetails)) return key
      throw new KeyServerFault('key-server-invalid', new Error('the key is weak'))
    },
  }
}

interface Counted {
  readonly fetch: FetchImplementation
  readonly generation: () => number | undefined
}

/** Counts the answers that differ from the previous one. */
function countChanges(ask: FetchImplementation): Counted {
  let last = ''
  let changes = 0
  let freshUntil = 0
  return {
    generation: () => (Date.now() < freshUntil ? changes : undefined),
    fetch: async (...request) => {
      const text = await (await ask(...request)).text()
      if (text !== last) changes += 1
      last = text
      // Never later than jose's own limit, because jose reads its clock after this.
      freshUntil = Date.now() + MAX_AGE_MS
      return new Response(text)
    },
  }
}

function pauseAfterFault(ask: FetchImplementation): FetchImplementation {
  let fault: unknown
  let failedAt = Number.NEGATIVE_INFINITY
  return async (...request) => {
    const since = Date.now() - failedAt
    // If the clock was set back, the pause must not get longer.
    if (since >= 0 && since < PAUSE_MS) throw fault
    try {
      return await ask(...request)
    } catch (error) {
      fault = error
      failedAt = Date.now()
      throw error
    }
  }
}

/** A token may name a key that doesn't exist; if an existing key can't be imported, that is the server's fault. */
function rethrow(error: unknown): CryptoKey {
  const isTokens = error instanceof JWKSNoMatchingKey || error instanceof JWKSMultipleMatchingKeys
  if (isTokens || error instanceof KeyServerFault) throw error
  throw new KeyServerFault('key-server-invalid', error)
}
