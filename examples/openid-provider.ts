/**
 * An OpenID provider to try things with, on this machine alone (docs/identity.md): `node examples/openid-provider.ts [PORT]`.
 * It keeps nothing, makes new keys with each start, and its secrets stand here for everybody to read.
 */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair } from 'jose'
import Provider, { type Configuration, type JWK } from 'oidc-provider'

/** What its access tokens are for: `aud`, and OIDC_AUDIENCE. */
export const AUDIENCE = 'https://api.example.com'

/** Of every client. */
export const SECRET = 'openid-demo'

/** What the claim `groups` says of machines. */
const MACHINES: Readonly<Record<string, readonly string[]>> = {
  'nightly-report': ['everyone in the company', '/groups/audit'],
  'web-shop': ['everyone in the company', 'customers'],
  // Named like a role of the demo, which gives no right.
  impostor: ['admin'],
}

/** Of people, by the client at which they sign in. */
const PEOPLE: Readonly<Record<string, readonly string[]>> = { console: ['/groups/audit'] }

interface RunningProvider {
  readonly issuer: string
  readonly port: number
  /** Signs with a new key from now on, and publishes no other. */
  rotate(): Promise<void>
  stop(): Promise<void>
}

/** `port`: 0 for a free one. */
export async function startProvider(port: number): Promise<RunningProvider> {
  let answer: RequestListener = (_request, response) => response.writeHead(503).end()
  const server = createServer((request, response) => answer(request, response))
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const { port: taken } = server.address() as AddressInfo
  const issuer = `http://127.0.0.1:${taken}`
  const rotate = async () => {
    answer = new Provider(issuer, configuration(await signingKey())).callback()
  }
  await rotate()
  const stop = async () => {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  }
  return { issuer, port: taken, rotate, stop }
}

async function signingKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })
  return { ...(await exportJWK(privateKey)), kid: crypto.randomUUID(), use: 'sig', alg: 'ES256' } as JWK
}

function configuration(key: JWK): Configuration {
  return {
    jwks: { keys: [key] },
    cookies: { keys: ['not a secret'] },
    clients: [...Object.keys(MACHINES).map(machine), PAGE, CONSOLE],
    // A console asks from its own origin.
    clientBasedCORS: (_ctx, _origin, { clientId }) => clientId === CONSOLE.client_id,
    features: {
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => AUDIENCE,
        useGrantedResource: () => true,
        getResourceServerInfo: (_ctx, resource) => ({
          scope: 'read',
          // As asked for, so that a token for somebody else can be tried as well.
          audience: resource,
          accessTokenTTL: 600,
          // Without a resource it would make opaque tokens, which nobody but itself can read.
          accessTokenFormat: resource.includes('opaque') ? 'opaque' : 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
    extraTokenClaims: ({ oidc }, token) => {
      // When a person signed in (RFC 9068 section 2.2.1); a machine doesn't.
      const { authTime: auth_time, acr } = oidc.entities.AuthorizationCode ?? {}
      return { groups: MACHINES[token.clientId ?? ''] ?? PEOPLE[token.clientId ?? ''] ?? ['customers'], auth_time, acr }
    },
    findAccount: (_ctx, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
    ttl: { ClientCredentials: 600, AccessToken: 600, IdToken: 600, Session: 600, Grant: 600, Interaction: 600 },
  }
}

function machine(id: string) {
  return {
    client_id: id,
    client_secret: SECRET,
    grant_types: ['client_credentials'],
    response_types: [],
    redirect_uris: [],
    id_token_signed_response_alg: 'ES256' as const,
  }
}

/** What people would sign in to; any name and password will do. */
const PAGE = {
  client_id: 'page',
  client_secret: SECRET,
  grant_types: ['authorization_code'],
  redirect_uris: ['http://127.0.0.1:1/signed-in'],
  application_type: 'native' as const,
  id_token_signed_response_alg: 'ES256' as const,
}

/** The console, at any port of this machine: in a browser, nothing is secret. */
const CONSOLE = {
  client_id: 'console',
  token_endpoint_auth_method: 'none' as const,
  grant_types: ['authorization_code', 'refresh_token'],
  redirect_uris: ['http://127.0.0.1/signed-in'],
  application_type: 'native' as const,
  id_token_signed_response_alg: 'ES256' as const,
}

if (import.meta.main) {
  const { issuer } = await startProvider(Number(process.argv[2] ?? 4000))
  process.stderr.write(`${JSON.stringify({ msg: 'listening', issuer })}\n`)
}
