/** The console's port: its files and the routes that its pages ask, and nothing else. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { PAGES } from '../../packages/console/src/pages.ts'
import { consoleFiles } from '../../scripts/build-console.ts'
import { readConfig } from '../../src/config/config.ts'
import { readConsoleFiles } from '../../src/server/console/console-files.ts'
import { converse, request } from '../request/raw.ts'
import { startTestServer, type TestServer } from '../server.ts'

const PROVIDER = { OIDC_ISSUER: 'https://id.example.com/tenant', OIDC_AUDIENCE: 'api' }

const BUILT = new URL('../../dist/console/', import.meta.url)

describe('the console, as it is served', () => {
  let server: TestServer
  let url: string
  before(async () => {
    server = await startTestServer({ demo: true, env: { CONSOLE_PORT: '0' } })
    url = server.app.consoleUrl ?? ''
  })
  after(() => server.stop())

  it('is built from the sources of this checkout', async () => {
    for (const [name, bytes] of await consoleFiles()) {
      const isBuilt =
        existsSync(new URL(name, BUILT)) && Buffer.from(bytes).equals(await readFile(new URL(name, BUILT)))
      expect(isBuilt, `${name} is out of date: npm run build:console`).to.equal(true)
    }
  })

  it('answers the address of each page with the same page, which names its script and its style by their content', async () => {
    const texts = await Promise.all(PAGES.map(async ({ path }) => (await fetch(url + path)).text()))
    expect(new Set(texts).size).to.equal(1)
    const [text = ''] = texts
    const named = [...text.matchAll(/"(\/assets\/[^"]+)"/g)].map(([, path = '']) => path)
    expect(named).to.have.length(2)
    for (const path of named) {
      const answer = await fetch(url + path)
      expect([answer.status, answer.headers.get('cache-control')]).to.deep.equal([
        200,
        'public, max-age=31536000, immutable',
      ])
      expect(answer.headers.get('content-type')).to.match(/^text\/(javascript|css); charset=utf-8$/)
    }
    expect(text).to.not.match(/<script(?![^>]*src=)|<style|style=|\son\w+=/)
  })

  it('lets no answer of it be framed, sniffed, or given a script', async () => {
    for (const path of ['/', '/nothing', ...(await assets())]) {
      const { headers } = await fetch(url + path)
      const policy = headers.get('content-security-policy') ?? ''
      expect(policy, path).to.contain("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'")
      expect(policy).to.contain("frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
      expect(policy).to.not.contain('unsafe')
      expect([...headers].filter(([name]) => EXPECTED.has(name))).to.deep.equal([...EXPECTED])
      expect(headers.has('set-cookie')).to.equal(false)
    }
  })

  it('compresses for those who take it', async () => {
    const [path = ''] = await assets()
    const lengthOf = async (encoding: string) => {
      const { headers, status } = await fetch(url + path, { method: 'HEAD', headers: { 'accept-encoding': encoding } })
      return { status, encoding: headers.get('content-encoding'), length: Number(headers.get('content-length')) }
    }
    const [zipped, plain] = await Promise.all([lengthOf('gzip, br'), lengthOf('identity')])
    expect([zipped.status, zipped.encoding, plain.encoding]).to.deep.equal([200, 'gzip', null])
    const encodings = ['gzip;q=0', 'gzip; q=0.000, br', 'gzip;q=0.5', 'br, GZIP', 'x-gzip', 'gzipped']
    const answered = await Promise.all(encodings.map(async (one) => (await lengthOf(one)).encoding))
    expect(answered).to.deep.equal([null, null, 'gzip', 'gzip', 'gzip', null])
    expect(zipped.length).to.be.lessThan(plain.length)
  })

  it('answers 404 for other paths, 405 for other methods, and 400 for a request that is malformed', async () => {
    for (const path of [
      '/nothing',
      '/access/',
      '/assets/',
      '/assets/../index.html',
      '/index.html',
      '/api/v1/notes',
      '/livez',
    ]) {
      const { answers } = await converse(url, [request(`GET ${path}`)], { answers: 1 })
      expect(answers[0]?.status, path).to.equal(404)
    }
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const answer = await fetch(url, { method })
      expect([answer.status, answer.headers.get('allow')]).to.deep.equal([405, 'GET, HEAD'])
    }
    const { answers } = await converse(url, [request('GET /', ['Host: other'])])
    expect(answers.map(({ status }) => status)).to.deep.equal([400])
  })

  it('hands the questions of its pages to the gate, which decides and records them as on the public port', async () => {
    const credentials = { email: 'ada@example.com', password: 'sallyport-demo' }
    const signedIn = await fetch(`${url}/api/tokens`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(credentials),
    })
    const { access_token: token } = (await signedIn.json()) as { readonly access_token: string }
    const headers = { authorization: `Bearer ${token}` }
    expect((await fetch(`${url}/api/tokens/current`, { method: 'DELETE', headers })).status).to.equal(204)
    expect((await fetch(`${url}/api/tokens/current`, { method: 'DELETE', headers })).status).to.equal(401)
    const records = (await server.decisions()).slice(-3)
    expect(records.map(({ method, status }) => [method, status])).to.deep.equal([
      ['POST', 200],
      ['DELETE', 204],
      ['DELETE', 401],
    ])
  })

  it('is off unless CONSOLE_PORT names a port, and on with --demo, at the port after that of the server', async () => {
    const placeOf = (env: Record<string, string>, demo: boolean) => readConfig(env, { demo }).console
    expect(placeOf({}, false)).to.equal(undefined)
    expect(placeOf({ CONSOLE_PORT: 'off' }, true)).to.equal(undefined)
    expect(placeOf({}, true)).to.deep.equal({ host: '127.0.0.1', port: 3001, isNamed: false, openId: undefined })
    expect(placeOf({ PORT: '0' }, true)?.port).to.equal(0)
    expect(placeOf({ PORT: '65535' }, true)?.port).to.equal(0)
    // The next one may be the admin port.
    expect(placeOf({ PORT: '8080', ADMIN_PORT: '8081' }, true)?.port).to.equal(8082)
    expect(placeOf({ PORT: '65534', ADMIN_PORT: '65535' }, true)?.port).to.equal(0)
    const named = { CONSOLE_PORT: '8443', CONSOLE_HOST: '::1' }
    expect(placeOf(named, false)).to.deep.equal({ host: '::1', port: 8443, isNamed: true, openId: undefined })
    expect(() => placeOf({ CONSOLE_PORT: 'x' }, false)).to.throw(/^CONSOLE_PORT is "x"/)
  })

  it('tells how people sign in, and lets its pages ask no host but the provider', async () => {
    const ways = async (of: string) => (await fetch(`${of}/sign-in.json`)).json()
    expect(await ways(url)).to.deep.equal({ password: true })
    const other = await startTestServer({
      env: { CONSOLE_PORT: '0', CONSOLE_OPENID_CLIENT: 'console', ...PROVIDER },
    })
    expect(await ways(other.app.consoleUrl ?? '')).to.deep.equal({
      password: true,
      openId: { issuer: PROVIDER.OIDC_ISSUER, client: 'console', scope: 'openid', parameters: [['resource', 'api']] },
    })
    const { headers } = await fetch(other.app.consoleUrl ?? '')
    expect(headers.get('content-security-policy')).to.contain("; connect-src 'self' https://id.example.com; ")
    await other.stop()
  })

  it('refuses a sign-in at a provider that can not work, by the name of its setting', () => {
    const openId = (env: Record<string, string>) => readConfig({ CONSOLE_PORT: '0', ...env }).console?.openId
    const client = { CONSOLE_OPENID_CLIENT: 'console' }
    expect(() => openId({ CONSOLE_OPENID_SCOPE: 'openid' })).to.throw(
      /^CONSOLE_OPENID_SCOPE is set without CONSOLE_OPENID_CLIENT/,
    )
    expect(() => readConfig({ ...client, ...PROVIDER })).to.throw(/^CONSOLE_OPENID_CLIENT is set without CONSOLE_PORT/)
    expect(() => openId(client)).to.throw(/^CONSOLE_OPENID_CLIENT is set without OIDC_ISSUER/)
    const parameters = (text: string) => openId({ ...client, ...PROVIDER, CONSOLE_OPENID_PARAMETERS: text })?.parameters
    expect(() => openId({ ...client, ...PROVIDER, CONSOLE_OPENID_SCOPE: 'email' })).to.throw(/with openid among them$/)
    expect(() => parameters('audience=a&state=x')).to.throw(/^CONSOLE_OPENID_PARAMETERS has state, which the console/)
    const loopback = { ...client, ...PROVIDER, OIDC_ISSUER: 'http://[::1]:4000' }
    expect(() => openId(loopback)).to.throw(
      /OIDC_ISSUER has an IPv6 address, which no Content-Security-Policy can name/,
    )
    expect(parameters('none')).to.deep.equal([])
    expect(parameters('audience=a%2Fb&prompt=login')).to.deep.equal([
      ['audience', 'a/b'],
      ['prompt', 'login'],
    ])
  })

  it('keeps a server from starting where it is named and is not built', () => {
    const elsewhere = new URL('../../dist/no-console/', import.meta.url)
    expect(() => readConsoleFiles(elsewhere)).to.throw(
      /^CONSOLE_PORT is set, and the console of this checkout is not built; build it/,
    )
  })

  async function assets(): Promise<readonly string[]> {
    const text = await (await fetch(url)).text()
    return [...text.matchAll(/"(\/assets\/[^"]+)"/g)].map(([, path = '']) => path)
  }
})

/** By name, in the order of names. */
const EXPECTED: ReadonlyMap<string, string> = new Map([
  ['cross-origin-opener-policy', 'same-origin'],
  ['cross-origin-resource-policy', 'same-origin'],
  ['permissions-policy', 'camera=(), geolocation=(), microphone=(), payment=(), usb=()'],
  ['referrer-policy', 'no-referrer'],
  ['x-content-type-options', 'nosniff'],
])
