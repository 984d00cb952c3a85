/** 405: the path is known, the method isn't accepted, whatever the method; `Allow` is exact. */
import { type IncomingHttpHeaders, METHODS, request as send } from 'node:http'
import { expect } from 'chai'
import { startTestServer, type TestServer } from '../server.ts'
import { type Callers, pathsOf, tokensOf } from './callers.ts'
import { converse, open, request, sleep } from './raw.ts'

/** semantics.md's table of paths, HEAD with GET and OPTIONS on all. */
const ALLOW: Readonly<Record<string, string>> = {
  '/users': 'GET, HEAD, POST, OPTIONS',
  '/api/users': 'GET, HEAD, POST, OPTIONS',
  '/api/orders': 'GET, HEAD, POST, OPTIONS',
  '/api/v1/notes': 'GET, HEAD, POST, OPTIONS',
  '/notes': 'GET, HEAD, POST, OPTIONS',
  '/users/{id}': 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS',
  '/api/users/{id}': 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS',
  '/api/orders/{id}': 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS',
  '/api/v1/notes/{id}': 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS',
  '/api/accounts': 'GET, HEAD, POST, OPTIONS',
  '/api/accounts/{id}': 'GET, HEAD, PATCH, OPTIONS',
  '/api/accounts/{id}/balance': 'GET, HEAD, OPTIONS',
  ...Object.fromEntries(['place', 'ship', 'cancel'].map((one) => [`/api/orders/{id}/${one}`, 'POST, OPTIONS'])),
  '/profile': 'GET, HEAD, PATCH, OPTIONS',
  '/profile/{id}': 'GET, HEAD, OPTIONS',
  '/livez': 'GET, HEAD, OPTIONS',
  '/openapi.json': 'GET, HEAD, OPTIONS',
  '/readyz': 'GET, HEAD, OPTIONS',
  '/api/tokens': 'POST, OPTIONS',
  '/api/tokens/current': 'DELETE, OPTIONS',
  '/.well-known/jwks.json': 'GET, HEAD, OPTIONS',
  '/.well-known/authzen-configuration': 'GET, HEAD, OPTIONS',
  '/access-requests': 'GET, HEAD, POST, OPTIONS',
  '/batch': 'POST, OPTIONS',
  ...Object.fromEntries(
    ['check', 'files', 'grants', 'instances', 'matrices', 'proposals', 'versions'].map((one) => [
      `/policy/v1/${one}`,
      'GET, HEAD, OPTIONS',
    ]),
  ),
  ...Object.fromEntries(
    [
      ...[
        'approve',
        'block',
        'compare',
        'decisions',
        'draft',
        'explain',
        'explain-record',
        'follow',
        'matrix',
        'names',
        'of',
        'propose',
        'publish',
      ],
      ...['reject', 'replay', 'report', 'review', 'unblock', 'usage', 'version', 'who', 'withdraw'],
      'approve-grant',
      'break-glass',
      'matrix-coverage',
      'matrix-find',
      'matrix-init',
      'matrix-mutate',
      'matrix-test',
      'review-access',
      'review-glass',
      'revoke-grant',
    ].map((one) => [`/policy/v1/${one}`, 'POST, OPTIONS']),
  ),
  '/access/v1/evaluation': 'POST, OPTIONS',
  '/access/v1/evaluations': 'POST, OPTIONS',
  '/access/v1/filter': 'POST, OPTIONS',
  '/access/v1/search/subject': 'POST, OPTIONS',
  '/access/v1/search/resource': 'POST, OPTIONS',
  '/access/v1/search/action': 'POST, OPTIONS',
}

/** fetch refuses TRACE and what it doesn't know; node:http sends every method that its parser accepts. */
function ask(url: string, method: string): Promise<{ status: number; headers: IncomingHttpHeaders }> {
  return new Promise((resolve, reject) => {
    // Of CONNECT it would name the target as the host, which no server may take.
    const headers = { host: new URL(url).host }
    const asked = send(url, { method, headers, agent: false }, (response) => {
      response.resume()
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers }))
    })
    asked.on('error', reject)
    asked.on('connect', (response, socket) => {
      socket.destroy()
      resolve({ status: response.statusCode ?? 0, headers: response.headers })
    })
    asked.end()
  })
}

describe('Allow', () => {
  let server: TestServer
  let callers: Callers
  let paths: ReadonlyMap<string, string>

  before(async () => {
    server = await startTestServer({ demo: true })
    callers = await tokensOf(server)
    paths = await pathsOf(server, callers.ada)
  })
  after(() => server.stop())

  it('is known of every route', () => {
    expect([...paths.keys()].toSorted()).to.deep.equal(Object.keys(ALLOW).toSorted())
  })

  it('is exact on a 405, for every route and every method that the parser accepts', async () => {
    let refused = 0
    for (const [route, path] of paths) {
      const accepted = (ALLOW[route] ?? '').split(', ')
      for (const method of METHODS.filter((one) => !accepted.includes(one))) {
        const { status, headers } = await ask(server.url + path, method)
        expect([status, headers.allow], `${method} ${path}`).to.deep.equal([405, ALLOW[route]])
        refused++
      }
    }
    expect(refused).to.be.greaterThan(400)
  })

  it('names only methods that are accepted: none of them gets a 405', async () => {
    for (const [route, path] of paths) {
      for (const method of (ALLOW[route] ?? '').split(', ')) {
        const { status } = await ask(server.url + path, method)
        expect(status, `${method} ${path}`).to.be.oneOf(
          route === '/api/tokens' && method === 'POST' ? [400] : [200, 204, 401],
        )
      }
    }
  })

  it('is the same for every caller and every object', async () => {
    for (const token of [undefined, callers.alice, callers.audrey, callers.ada]) {
      for (const path of ['/api/v1/notes/no-such-note', paths.get('/api/v1/notes/{id}') ?? '']) {
        const { status, headers } = await server.ask('POST', path, { token })
        expect([status, headers.get('allow')]).to.deep.equal([405, ALLOW['/api/v1/notes/{id}']])
      }
    }
  })

  it('is absent where no route is', async () => {
    for (const method of ['GET', 'TRACE', 'PROPFIND', 'OPTIONS', 'CONNECT']) {
      const { status, headers } = await ask(`${server.url}/nowhere`, method)
      expect([status, headers.allow], method).to.deep.equal([404, undefined])
    }
  })

  it('a method that the parser does not know is 400, whatever its letters', async () => {
    for (const method of ['FOO', 'get', 'Get', 'GETT', 'GE', 'GET/', 'PATCHES', '__proto__', 'constructor']) {
      const { answers, closed } = await converse(server.url, [request(`${method} /api/v1/notes`)])
      expect([answers.map(({ status }) => status), closed], method).to.deep.equal([[400], true])
      expect(answers[0]?.headers['content-type']).to.equal('application/problem+json')
    }
  })

  it('a CONNECT to another host is no request for a path: 400, and nothing is connected', async () => {
    const { answers, closed } = await converse(server.url, [
      request('CONNECT example.com:443'),
      'GET / HTTP/1.1\r\n\r\n',
    ])
    expect([answers.map(({ status }) => status), closed]).to.deep.equal([[400], true])
  })

  it('a CONNECT behind another request waits for its turn', async () => {
    const first = request('GET /readyz', ['Connection: keep-alive'])
    for (const before of [first, first + first]) {
      const { answers } = await converse(server.url, [before + request('CONNECT /livez')])
      expect(answers.map(({ status }) => status)).to.deep.equal(before === first ? [200, 405] : [200, 200, 405])
    }
  })

  it('a CONNECT whose client resets the connection ends nothing', async () => {
    for (const before of ['', request('GET /readyz', ['Connection: keep-alive'])]) {
      for (let i = 0; i < 5; i++) {
        const socket = open(server.url)
        socket.write(before + request('CONNECT example.com:443'))
        await sleep(i * 3)
        socket.resetAndDestroy()
      }
    }
    await sleep(50)
    expect((await server.ask('GET', '/livez')).status).to.equal(200)
  })

  it('headers and parameters that name another method have no effect', async () => {
    const path = paths.get('/api/v1/notes/{id}') ?? ''
    for (const name of ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override', '_method']) {
      const { status } = await server.ask('GET', path, { token: callers.ada, headers: { [name]: 'DELETE' } })
      expect(status, name).to.equal(200)
      const posted = await server.ask('POST', path, { token: callers.ada, headers: { [name]: 'DELETE' }, body: {} })
      expect(posted.status, name).to.equal(405)
    }
    expect((await server.ask('GET', `${path}?_method=DELETE`, { token: callers.ada })).status).to.equal(400)
    const named = await server.ask('POST', '/api/v1/notes', {
      token: callers.alice,
      body: { title: 't', _method: 'PUT' },
    })
    expect(named.status).to.equal(400)
    expect((await server.ask('GET', path, { token: callers.ada })).status).to.equal(200)
  })
})
