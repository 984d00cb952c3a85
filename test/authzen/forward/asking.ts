/** A server that gateways may ask, and their requests as their makers describe them. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { createApiKey, hashOfSecret } from '../../../src/identity/directory/api-key.ts'
import { withRules } from '../../policy-text.ts'
import { converse, type RawAnswer, request } from '../../request/raw.ts'
import { startTestServer, type TestServer, type TestServerOptions } from '../../server.ts'

const ROOT = new URL('../../..', import.meta.url).pathname

export interface AskedServer extends TestServer {
  /** An API key of a gateway. */
  readonly key: string
  addKey(subject: string, ...roles: readonly string[]): Promise<string>
}

/** The shipped policy, and the role `gateway` that may forward. */
export async function startAskedServer(options: TestServerOptions = {}, rules = ''): Promise<AskedServer> {
  const read = (name: string) => readFile(join(ROOT, 'policies', name), 'utf8')
  const files = {
    'policies/roles.yaml': `${await read('roles.yaml')}gateway:\n  description: Asks for its clients.\n`,
    'policies/policy.csv': withRules(
      await read('policy.csv'),
      `p, gateway, system/access, forward, any, *, allow\n${rules}`,
    ),
    ...options.files,
  }
  const server = await startTestServer({ demo: true, ...options, files })
  const addKey = async (subject: string, ...roles: readonly string[]) => {
    const { id, text, secret } = createApiKey()
    const times = { createdAt: Date.now(), expiresAt: Date.now() + 3_600_000 }
    const key = { id, secretHash: hashOfSecret(secret), subject, roles, name: '', ...times }
    await server.app.directory.addKey(key)
    return text
  }
  return { ...server, addKey, key: await addKey('edge', 'gateway') }
}

export type ProfileName = 'nginx' | 'traefik' | 'caddy'

export const PAIRS: Readonly<Record<ProfileName, readonly [method: string, uri: string]>> = {
  nginx: ['X-Original-Method', 'X-Original-URI'],
  traefik: ['X-Forwarded-Method', 'X-Forwarded-Uri'],
  caddy: ['X-Forwarded-Method', 'X-Forwarded-Uri'],
}

export const PROFILES = Object.keys(PAIRS) as readonly ProfileName[]

interface Asking {
  readonly profile?: ProfileName
  /** Of the client's request. */
  readonly method?: string
  readonly uri?: string
  /** Of the gateway; absent: it sends none. */
  readonly key?: string | undefined
  /** Of the gateway's client. */
  readonly token?: string
  /** Further headers, as bytes. */
  readonly more?: readonly string[]
  /** The method and the body of the gateway's own request. */
  readonly by?: string
  readonly body?: string
}

/** As a gateway asks. An empty method or URI is not sent. */
export async function ask(url: string, asking: Asking): Promise<RawAnswer> {
  const {
    profile = 'traefik',
    method = 'GET',
    uri = '/api/orders',
    key,
    token,
    more = [],
    by = 'GET',
    body = '',
  } = asking
  const [methodName, uriName] = PAIRS[profile]
  const headers = [
    ...(method === '' ? [] : [`${methodName}: ${method}`]),
    ...(uri === '' ? [] : [`${uriName}: ${uri}`]),
    ...(key === undefined ? [] : [`X-Sallyport-Key: ${key}`]),
    ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
    ...(body === '' ? [] : [`Content-Length: ${body.length}`]),
    ...more,
  ]
  const { answers } = await converse(url, [
    Buffer.from(request(`${by} /access/v1/forward/${profile}`, headers, body), 'latin1'),
  ])
  const [answer] = answers
  if (!answer) throw new Error(`no answer to ${by} ${uri}`)
  return answer
}

/** What nginx is told instead of other refusals than 401. */
export const told = (profile: ProfileName, status: number) => (profile === 'nginx' && status !== 401 ? 403 : status)

export function expectRefused(answer: RawAnswer, status: number, code: string): void {
  expect([answer.status, answer.headers['x-sallyport-problem']]).to.deep.equal([status, code])
  expect(JSON.parse(answer.text)).to.include({ status, code })
  expect(answer.headers).to.include({
    'cache-control': 'no-store',
    'x-sallyport-subject': '',
    'x-sallyport-roles': '',
    'x-sallyport-revision': answer.headers['policy-revision'],
  })
  expect(JSON.parse(answer.text).instance).to.equal(`urn:uuid:${answer.headers['x-sallyport-request']}`)
}
