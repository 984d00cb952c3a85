/**
 * Where an OpenID provider says that its keys are (OpenID Connect Discovery 1.0): asked along with the keys, so never
 * out of date.
 */
import type { FetchImplementation } from 'jose'
import { fetchJson, fetchKeys, KeyServerFault } from './fetch-keys.ts'
import { isSafeForKeys } from './key-url.ts'

/** Section 4: a slash at the end of the issuer goes. */
export function discoveryUrl(issuer: string): string {
  return `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
}

/** As fetchKeys; whatever URL it is given, it asks the issuer's discovery document and the `jwks_uri` in it. */
export function fetchKeysOf(issuer: string): FetchImplementation {
  return async (_url, options) => {
    const { value } = await fetchJson(discoveryUrl(issuer), options)
    return fetchKeys(keysUrl(value, issuer), options)
  }
}

function keysUrl(document: Readonly<Record<string, unknown>>, issuer: string): string {
  const { issuer: named, jwks_uri: url } = document
  // Section 4.3: else one provider could speak for another.
  if (named !== issuer) throw invalid(`names the issuer ${shown(named)} and not exactly ${shown(issuer)}`)
  if (typeof url !== 'string' || !isSafeForKeys(url) || !isAsSafe(url, issuer)) {
    throw invalid(`names the jwks_uri ${shown(url)}, which is no https URL`)
  }
  return url
}

/** A provider elsewhere has no business with this machine's http, and a URL with a password makes `fetch` repeat it. */
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
