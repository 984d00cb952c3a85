/**
 * The keys of a key server (JWT_JWKS_URL, or an OpenID provider's): cached, fetched again if a key is unknown, and
 * never trusted if weak.
 */
import type { CryptoKey, FetchImplementation, JWTVerifyGetKey } from 'jose'
import { JWKSMultipleMatchingKeys, JWKSNoMatchingKey } from 'jose/errors'
import { createRemoteJWKSet, customFetch } from 'jose/jwks/remote'
import { isObject } from '../../base/is-object.ts'
import { KeyError } from './key-error.ts'
import { hasCredentials, isSafeForKeys } from './key-settings.ts'
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

interface CountedFetch {
  readonly fetch: FetchImplementation
  readonly generation: () => number | undefined
}

/** Counts the answers that differ from the previous one. */
function countChanges(ask: FetchImplementation): CountedFetch {
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

// The fetch of the keys, or of a provider's document that has their URL (OpenID Connect Discovery 1.0): with limits on
// time and size, without following redirects, and with distinct faults.

const MAX_BYTES = 256 * 1024

const TOO_MANY_REQUESTS = 429

/** The key server is at fault, not the token: it can't be reached, or its answer isn't a key set. */
export class KeyServerFault extends Error {
  readonly code: 'key-server-unavailable' | 'key-server-invalid'

  constructor(code: KeyServerFault['code'], cause: unknown) {
    super('the key server gave no usable answer', { cause })
    this.name = 'KeyServerFault'
    this.code = code
  }
}

/** A `fetch` for jose that resolves to a key set or throws KeyServerFault. The signal bounds the body as well. */
export const fetchKeys: FetchImplementation = async (url, options) => {
  const { text, value } = await fetchJson(url, options)
  if (!isKeySet(value)) throw new KeyServerFault('key-server-invalid', new Error('not a JSON Web Key Set'))
  return new Response(text)
}

interface JsonAnswer {
  readonly text: string
  readonly value: Readonly<Record<string, unknown>>
}

/** Returns an answer of 200 that is a JSON object; throws KeyServerFault for any other answer. */
async function fetchJson(...[url, options]: Parameters<FetchImplementation>): Promise<JsonAnswer> {
  const response = await reach(() => fetch(url, { ...options, redirect: 'manual' }))
  const { status } = response
  if (status !== 200) {
    await reach(async () => response.body?.cancel())
    const passing = status >= 500 || status === TOO_MANY_REQUESTS
    throw new KeyServerFault(passing ? 'key-server-unavailable' : 'key-server-invalid', new Error(`status ${status}`))
  }
  const text = await reach(() => readBounded(response))
  const value = parse(text)
  if (isObject(value)) return { text, value }
  throw new KeyServerFault('key-server-invalid', new Error('not a JSON object'))
}

async function reach<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    throw error instanceof KeyServerFault ? error : new KeyServerFault('key-server-unavailable', error)
  }
}

async function readBounded({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.length
    if (size > MAX_BYTES) throw new KeyServerFault('key-server-invalid', new Error(`more than ${MAX_BYTES} bytes`))
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** RFC 7517 section 5. */
function isKeySet({ keys }: Readonly<Record<string, unknown>>): boolean {
  return Array.isArray(keys) && keys.every(isObject)
}

/** Section 4: removes a slash at the end of the issuer. */
export function discoveryUrl(issuer: string): string {
  return `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
}

/** Like fetchKeys, but ignores the given URL and asks the issuer's discovery document and the `jwks_uri` in it. */
export function fetchKeysOf(issuer: string): FetchImplementation {
  return async (_url, options) => {
    const { value } = await fetchJson(discoveryUrl(issuer), options)
    return fetchKeys(keysUrl(value, issuer), options)
  }
}

function keysUrl(document: Readonly<Record<string, unknown>>, issuer: string): string {
  const { issuer: named, jwks_uri: url } = document
  // Section 4.3: otherwise one provider could speak for another.
  if (named !== issuer) throw invalid(`names the issuer ${shown(named)} instead of ${shown(issuer)}`)
  if (typeof url !== 'string' || !isSafeForKeys(url) || !isAsSafe(url, issuer)) {
    throw invalid(`names the jwks_uri ${shown(url)}, which is not an https URL`)
  }
  return url
}

/**
 * A provider on another machine must not name an http URL of this one; and `fetch` would repeat a password in a URL.
 */
function isAsSafe(url: string, issuer: string): boolean {
  const { protocol, username, password } = new URL(url)
  return username === '' && password === '' && (protocol === 'https:' || issuer.startsWith('http:'))
}

function invalid(reason: string): KeyServerFault {
  return new KeyServerFault('key-server-invalid', new Error(`the discovery document ${reason}`))
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? 'none').slice(0, 200)
}
