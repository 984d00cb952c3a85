/**
 * The sign-in at an OpenID provider: the authorization code flow with PKCE (RFC 6749 section 4.1, RFC 7636), in a window
 * of its own, so the page stays as it is. That window's address has a code that is worth nothing without what this one
 * keeps in memory; it hands the code over by a channel that only windows of this origin hear.
 */
import * as oauth from 'oauth4webapi'
import { SIGNED_IN } from '../pages.ts'
import { type Grant, PATIENCE_MS } from './session.ts'
import type { OpenIdSignIn } from './sign-in-ways.ts'
import { CHANNEL } from './signed-in.ts'

/**
 * `window`: opened by the press of a button, or else browsers keep it closed. Throws a sentence as an Error, and what
 * the signal throws.
 */
export async function signInAt(way: OpenIdSignIn, window: Window, signal: AbortSignal): Promise<Grant> {
  const provider = await providerOf(way)
  signal.throwIfAborted()
  const verifier = oauth.generateRandomCodeVerifier()
  const asked = { state: oauth.generateRandomState(), nonce: oauth.generateRandomNonce() }
  const address = addressOf(provider, 'authorization_endpoint')
  const parameters = {
    client_id: way.client,
    redirect_uri: location.origin + SIGNED_IN,
    response_type: 'code',
    scope: way.scope,
    ...asked,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  }
  for (const [name, value] of [...way.parameters, ...Object.entries(parameters)])
    address.searchParams.append(name, value)
  const handed = handedOver(asked.state, signal)
  window.location.href = address.href
  const answer = oauth.validateAuthResponse(provider.server, provider.client, await handed, asked.state)
  const response = await oauth.authorizationCodeGrantRequest(
    provider.server,
    provider.client,
    oauth.None(),
    answer,
    parameters.redirect_uri,
    verifier,
    { ...provider.options, additionalParameters: way.parameters.map(([name, value]) => [name, value]) },
  )
  const tokens = await oauth.processAuthorizationCodeResponse(provider.server, provider.client, response, {
    expectedNonce: asked.nonce,
    requireIdToken: true,
  })
  const grant = grantOf(provider, tokens, personIn(oauth.getValidatedIdTokenClaims(tokens)))
  if (!signal.aborted) return grant
  // Signed in another way meanwhile.
  await grant.giveBack().catch(() => undefined)
  throw signal.reason
}

interface Provider {
  readonly server: oauth.AuthorizationServer
  readonly client: oauth.Client
  /** A provider on this machine may have no TLS. */
  readonly options: { readonly [oauth.allowInsecureRequests]: boolean; readonly signal: () => AbortSignal }
}

async function providerOf({ issuer, client }: OpenIdSignIn): Promise<Provider> {
  const url = new URL(issuer)
  const options = {
    [oauth.allowInsecureRequests]: url.protocol === 'http:',
    signal: () => AbortSignal.timeout(PATIENCE_MS),
  }
  const found = await oauth.discoveryRequest(url, options)
  const server = await oauth.processDiscoveryResponse(url, found)
  const provider = { server, client: { client_id: client }, options }
  const { origin } = addressOf(provider, 'token_endpoint')
  // The Content-Security-Policy of the page.
  if (origin !== url.origin)
    throw new Error(`its token endpoint is at ${origin}, and the console asks ${url.origin} alone`)
  return provider
}

/** A browser must not be led to an address that runs code, such as `javascript:`. */
function addressOf({ server, options }: Provider, name: 'authorization_endpoint' | 'token_endpoint'): URL {
  const url = URL.parse(String(server[name]))
  const protocols = options[oauth.allowInsecureRequests] ? ['https:', 'http:'] : ['https:']
  if (!url || !protocols.includes(url.protocol)) throw new Error(`its \`${name}\` is not an address of ${protocols[0]}`)
  return url
}

/** What the provider said to the window of this sign-in. */
function handedOver(state: string, signal: AbortSignal): Promise<URLSearchParams> {
  const channel = new BroadcastChannel(CHANNEL)
  const come = new Promise<URLSearchParams>((resolve, reject) => {
    channel.onmessage = ({ data }) => {
      const answer = new URLSearchParams(String(data))
      if (answer.get('state') === state) resolve(answer)
    }
    signal.addEventListener('abort', () => reject(signal.reason))
    if (signal.aborted) reject(signal.reason)
  })
  return come.finally(() => channel.close())
}

interface PersonOfProvider extends Pick<Grant, 'email' | 'person'> {}

/** Names may change and meet; `iss` and `sub` together never do (OpenID Connect Core 1.0 section 5.7). */
function personIn(claims: oauth.IDToken | undefined): PersonOfProvider {
  if (!claims) throw new Error('it gave no ID token')
  const { iss, sub, email, preferred_username: name } = claims
  return { email: String(email ?? name ?? sub), person: JSON.stringify([iss, sub]) }
}

/** What the provider said, where it said something. */
export function saidBy(error: unknown): string {
  const said = error instanceof oauth.AuthorizationResponseError || error instanceof oauth.ResponseBodyError
  if (said) return `it answered ${error.error}${error.error_description ? `: ${error.error_description}` : ''}`
  if (error instanceof TypeError) return 'it does not answer a page of this address; add it to its allowed origins'
  return error instanceof Error ? error.message : String(error)
}

/** All else may be better a moment later. */
function isRefusal(error: unknown): boolean {
  if (error instanceof oauth.WWWAuthenticateChallengeError) return true
  return error instanceof oauth.ResponseBodyError && error.status < 500 && error.status !== 429
}

function grantOf(provider: Provider, tokens: oauth.TokenEndpointResponse, person: PersonOfProvider): Grant {
  const { server, client, options } = provider
  const { access_token: token, refresh_token: next } = tokens
  const grant = { ...person, token }
  const nothing = async () => undefined
  if (next === undefined) return { ...grant, renewed: nothing, giveBack: nothing }
  return {
    ...grant,
    renewed: async () => {
      const response = await oauth.refreshTokenGrantRequest(server, client, oauth.None(), next, options)
      try {
        const given = await oauth.processRefreshTokenResponse(server, client, response)
        return grantOf(provider, { refresh_token: next, ...given }, person)
      } catch (error) {
        if (isRefusal(error)) return undefined
        throw error
      }
    },
    giveBack: async () => {
      if (server.revocation_endpoint) await oauth.revocationRequest(server, client, oauth.None(), next, options)
    },
  }
}
