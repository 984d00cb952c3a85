/** docs/http.md, "Browsers": which pages may use the server, and that this opens nothing else. */
import { expect } from 'chai'
import { readConfig } from '../../src/config/config.ts'
import { ConfigError } from '../../src/config/values.ts'
import { type Answer, startTestServer, type TestServer } from '../server.ts'
import { type Callers, firstOf, tokensOf } from './callers.ts'
import { converse, request } from './raw.ts'

const PAGE = 'https://app.example.com'
const PREFLIGHT = {
  'access-control-request-method': 'PATCH',
  'access-control-request-headers': 'authorization, content-type, if-match',
}

describe('CORS for the origins of CORS_ORIGINS', () => {
  let server: TestServer
  let callers: Callers
  let item: string

  before(async () => {
    const limits =
      'body: 100kb\npage: { default: 50, max: 200 }\nlimits:\n  once: { match: { role: auditor }, per: subject, allow: 1, window: 60s }\n'
    server = await startTestServer({
      demo: true,
      env: { CORS_ORIGINS: `${PAGE}, http://localhost:5173`, CORS_MAX_AGE: '60' },
      files: { 'policies/limits.yaml': limits },
    })
    callers = await tokensOf(server)
    item = `/api/v1/notes/${(await firstOf(server, '/api/v1/notes', callers.alice)).id}`
  })
  after(() => server.stop())

  it('a page of one of them may read the answer, and the headers that a client needs', async () => {
    for (const origin of [PAGE, 'http://localhost:5173']) {
      const { status, headers } = await from(origin, 'GET', item, callers.alice)
      expect([status, headers.get('access-control-allow-origin')]).to.deep.equal([200, origin])
      const exposed = headers.get('access-control-expose-headers')?.split(', ')
      expect(exposed).to.include.members([
        ...['ETag', 'Link', 'Location', 'Retry-After', 'RateLimit', 'RateLimit-Policy', 'Policy-Revision'],
        ...['Idempotency-Replayed', 'Deprecation', 'Sunset', 'WWW-Authenticate', 'Allow', 'Accept-Patch'],
      ])
    }
  })

  it('a preflight is told what the route accepts, for CORS_MAX_AGE seconds', async () => {
    const { status, headers } = await from(PAGE, 'OPTIONS', item, undefined, PREFLIGHT)
    expect(status).to.equal(204)
    expect(headers.get('access-control-allow-origin')).to.equal(PAGE)
    expect(headers.get('access-control-allow-methods')).to.equal('GET, HEAD, PUT, PATCH, DELETE, OPTIONS')
    expect(headers.get('access-control-max-age')).to.equal('60')
    const allowed = headers.get('access-control-allow-headers')?.toLowerCase().split(', ')
    const traced = ['traceparent', 'tracestate']
    for (const name of ['authorization', 'content-type', 'if-match', 'if-none-match', 'idempotency-key', ...traced]) {
      expect(allowed).to.include(name)
    }
  })

  it('a preflight is sent to the URL with its query, and the query is not judged before the request itself', async () => {
    for (const path of ['/api/v1/notes?limit=1&sort=-createdAt', '/api/v1/notes?limit=0', `${item}?x=1`]) {
      const { status, headers } = await from(PAGE, 'OPTIONS', path, undefined, PREFLIGHT)
      expect([status, headers.has('access-control-allow-methods')], path).to.deep.equal([204, true])
    }
    expect((await from(PAGE, 'GET', '/api/v1/notes?limit=0', callers.alice)).status).to.equal(400)
  })

  it('OPTIONS that is no preflight is not answered like one', async () => {
    const { status, headers } = await from(PAGE, 'OPTIONS', item)
    expect([status, headers.has('access-control-allow-methods')]).to.deep.equal([204, false])
  })

  it('a page of any other origin gets no CORS header, whatever its origin looks like', async () => {
    for (const origin of [
      'null',
      'https://app.example.com.evil.example',
      'https://evil-app.example.com',
      'https://evil.example/https://app.example.com',
      'https://app.example.co',
      'http://app.example.com',
      'https://app.example.com:443',
      'https://app.example.com:8443',
      'https://app.example.com/',
      'HTTPS://APP.EXAMPLE.COM',
      'https://App.example.com',
      'https://user@app.example.com',
      'https://app.example.com, https://evil.example',
      '*',
      '',
    ]) {
      for (const method of ['GET', 'OPTIONS']) {
        expect(corsOf(await from(origin, method, item, callers.alice, PREFLIGHT)), origin).to.deep.equal([])
      }
    }
  })

  it('two Origin headers are no origin', async () => {
    const lines = [`Origin: ${PAGE}`, `Origin: ${PAGE}`]
    const { answers } = await converse(server.url, [request('GET /livez', lines)])
    expect(answers[0]?.headers).to.not.have.property('access-control-allow-origin')
  })

  it('every answer says Vary: Origin, also where there was none', async () => {
    for (const headers of [{}, { origin: PAGE }, { origin: 'https://evil.example' }]) {
      for (const path of ['/livez', item, '/nowhere']) {
        const { headers: sent } = await server.ask('GET', path, { headers })
        expect(sent.get('vary'), path).to.equal('Authorization, Accept, Origin')
      }
    }
  })

  it('problems carry it: 400, 401, 403, 404, 405, 429', async () => {
    const statuses = new Set<number>()
    for (const [method, path, token] of [
      ['GET', '/api/users?x=1', callers.ada],
      ['GET', item, undefined],
      ['GET', item, 'bad'],
      ['GET', item, callers.bob],
      ['GET', '/nowhere', callers.alice],
      ['DELETE', '/livez', callers.alice],
      ['GET', item, callers.audrey],
      ['GET', item, callers.audrey],
    ] as const) {
      const answer = await from(PAGE, method, path, token)
      expect(answer.headers.get('access-control-allow-origin'), String(answer.status)).to.equal(PAGE)
      expect(answer.headers.get('access-control-expose-headers')).to.contain('Retry-After')
      statuses.add(answer.status)
    }
    expect([...statuses].toSorted()).to.deep.equal([200, 400, 401, 403, 404, 405, 429])
  })

  it('what the parser refuses carries it where the headers were read', async () => {
    const { answers } = await converse(server.url, [request('GET /%zz', [`Origin: ${PAGE}`])])
    expect([answers[0]?.status, answers[0]?.headers['access-control-allow-origin']]).to.deep.equal([400, PAGE])
  })

  it('never allows credentials: nothing of this server is ambient in a browser', async () => {
    for (const method of ['GET', 'OPTIONS']) {
      const { headers } = await from(PAGE, method, item, callers.alice, PREFLIGHT)
      expect(headers.has('access-control-allow-credentials')).to.equal(false)
    }
  })

  it('a request of a foreign page is answered as if it had said nothing: CORS refuses nobody', async () => {
    const headers = { origin: 'https://evil.example' }
    expect((await server.ask('GET', item, { token: callers.alice, headers })).status).to.equal(200)
    expect((await server.ask('GET', item, { headers })).status).to.equal(401)
  })

  it('a preflight passes every stage and leaves a decision record', async () => {
    await from(PAGE, 'OPTIONS', item, undefined, PREFLIGHT)
    expect(await server.lastDecision({ method: 'OPTIONS' })).to.include({
      method: 'OPTIONS',
      action: 'options',
      outcome: 'allowed',
      status: 204,
    })
    expect((await from(PAGE, 'OPTIONS', '/nowhere', undefined, PREFLIGHT)).status).to.equal(404)
  })

  function from(
    origin: string,
    method: string,
    path: string,
    token?: string,
    more: Record<string, string> = {},
  ): Promise<Answer> {
    return server.ask(method, path, { token, headers: { origin, ...more } })
  }
})

describe('a preflight', () => {
  it('counts against the rate limits, and needs the policy to grant options', async () => {
    const limits =
      'body: 100kb\npage: { default: 50, max: 200 }\nlimits:\n  few: { per: address, allow: 3, window: 60s }\n'
    const policy = 'p, everyone, notes, options, any, *, allow\n'
    const files = { 'policies/limits.yaml': limits, 'policies/policy.csv': policy }
    const server = await startTestServer({ env: { CORS_ORIGINS: PAGE }, files })
    try {
      const answers: Answer[] = []
      for (const path of ['/api/v1/notes', '/api/orders', '/api/v1/notes', '/api/v1/notes', '/api/v1/notes']) {
        answers.push(await server.ask('OPTIONS', path, { headers: { origin: PAGE, ...PREFLIGHT } }))
      }
      expect(answers.map(({ status }) => status)).to.deep.equal([204, 401, 204, 429, 429])
      expect(answers.map(({ headers }) => headers.has('access-control-allow-methods'))).to.deep.equal([
        true,
        false,
        true,
        false,
        false,
      ])
      expect(answers.every(({ headers }) => headers.get('access-control-allow-origin') === PAGE)).to.equal(true)
    } finally {
      await server.stop()
    }
  })
})

describe('CORS_ORIGINS', () => {
  it('is off by default: no answer has a CORS header', async () => {
    const server = await startTestServer()
    try {
      for (const method of ['GET', 'OPTIONS']) {
        const answer = await server.ask(method, '/livez', { headers: { origin: PAGE, ...PREFLIGHT } })
        expect(corsOf(answer)).to.deep.equal([])
        expect(answer.headers.get('vary')).to.equal('Authorization, Accept')
      }
    } finally {
      await server.stop()
    }
  })

  it('* is every page, without credentials and without a Vary that would not matter', async () => {
    const server = await startTestServer({ env: { CORS_ORIGINS: '*' } })
    try {
      for (const origin of ['https://anyone.example', 'null']) {
        const answer = await server.ask('GET', '/livez', { headers: { origin } })
        expect(answer.headers.get('access-control-allow-origin')).to.equal('*')
        expect(answer.headers.has('access-control-allow-credentials')).to.equal(false)
        expect(answer.headers.get('vary')).to.equal('Authorization, Accept')
      }
      expect(corsOf(await server.ask('GET', '/livez'))).to.deep.equal([])
    } finally {
      await server.stop()
    }
  })

  it('that no browser would ever send stops the start and names the variable', () => {
    expect(readConfig({ CORS_ORIGINS: `${PAGE},http://[::1]:8080` }).cors.origins).to.have.length(2)
    expect(readConfig({}).cors).to.deep.equal({ origins: [], maxAgeSeconds: 600 })
    for (const value of [
      'null',
      'app.example.com',
      'https://app.example.com/',
      'https://app.example.com:443',
      'https://App.example.com',
      'https://*.example.com',
      'https://app.example.com/path',
      'https://user@app.example.com',
      'ftp://app.example.com',
      'file:///x',
      `*, ${PAGE}`,
      'https://',
    ]) {
      expect(() => readConfig({ CORS_ORIGINS: value }), value).to.throw(ConfigError, 'CORS_ORIGINS')
    }
    for (const value of ['-1', '1.5', 'x', '86401']) {
      expect(() => readConfig({ CORS_MAX_AGE: value }), value).to.throw(ConfigError, 'CORS_MAX_AGE')
    }
  })
})

function corsOf({ headers }: Answer): readonly string[] {
  return [...headers.keys()].filter((name) => name.startsWith('access-control-'))
}
