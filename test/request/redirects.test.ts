/** Redirects that a schema declares: permanent or for now, keeping method, id and query, under the same authorization. */
import { expect } from 'chai'
import { startTestServer, type TestServer } from '../server.ts'
import { converse, request } from './raw.ts'
import { startWithThings } from './things.ts'

const ROUTES = [
  { path: '/old/things', methods: ['GET', 'POST'], moved: '/things' },
  { path: '/old/things/{id}', methods: ['GET', 'PUT', 'PATCH', 'DELETE'], moved: '/things/{id}' },
  { path: '/now/things', methods: ['GET', 'POST'], found: '/things' },
  { path: '/now/things/{id}', methods: ['GET', 'PUT', 'PATCH', 'DELETE'], found: '/things/{id}' },
  { path: '/now/all/{id}', methods: ['GET'], found: '/things' },
]

describe('a redirect', () => {
  let server: TestServer
  let admin: string

  before(async () => {
    server = await startWithThings(ROUTES)
    admin = await server.token('ada', 'admin')
  })
  after(() => server.stop())

  it('is 301 or 302 for GET and HEAD, 308 or 307 for every other method, with Location and no body', async () => {
    for (const [method, path, status, location] of [
      ['GET', '/old/things', 301, '/things'],
      ['HEAD', '/old/things', 301, '/things'],
      ['POST', '/old/things', 308, '/things'],
      ['GET', '/old/things/7', 301, '/things/7'],
      ['PUT', '/old/things/7', 308, '/things/7'],
      ['PATCH', '/old/things/7', 308, '/things/7'],
      ['DELETE', '/old/things/7', 308, '/things/7'],
      ['GET', '/now/things', 302, '/things'],
      ['POST', '/now/things', 307, '/things'],
      ['GET', '/now/things/7', 302, '/things/7'],
      ['HEAD', '/now/things/7', 302, '/things/7'],
      ['PUT', '/now/things/7', 307, '/things/7'],
      ['PATCH', '/now/things/7', 307, '/things/7'],
      ['DELETE', '/now/things/7', 307, '/things/7'],
      ['GET', '/now/all/7', 302, '/things'],
    ] as const) {
      const body = ['POST', 'PUT', 'PATCH'].includes(method) ? { title: 't' } : undefined
      const { headers, text, ...answer } = await server.ask(method, path, { token: admin, body })
      expect([answer.status, headers.get('location'), text], `${method} ${path}`).to.deep.equal([status, location, ''])
      expect(headers.has('content-type')).to.equal(false)
    }
  })

  it('keeps the query as it was sent, and the id with its percent-encoding', async () => {
    for (const [path, location] of [
      ['/old/things?limit=7&cursor=a%20b', '/things?limit=7&cursor=a%20b'],
      ['/old/things?x=1&x=2', '/things?x=1&x=2'],
      ['/old/things/a%2Fb?x=%3F', '/things/a%2Fb?x=%3F'],
      ['/old/things/%E2%82%AC', '/things/%E2%82%AC'],
      ['/old/things/%2e%2e%2fadmin', '/things/%2e%2e%2fadmin'],
      ['/old/things/%24%26', '/things/%24%26'],
      ["/old/things/$&$'", "/things/$&$'"],
      ['/old/things/%0d%0aSet-Cookie:x', '/things/%0d%0aSet-Cookie:x'],
    ] as const) {
      const bytes = request(`GET ${path}`, [`Authorization: Bearer ${admin}`])
      const { answers } = await converse(server.url, [bytes])
      expect([answers[0]?.status, answers[0]?.headers.location], path).to.deep.equal([301, location])
      expect(answers[0]?.headers).not.to.have.property('set-cookie')
    }
  })

  it('followed, does what the new path does', async () => {
    const headers = { authorization: `Bearer ${admin}`, 'content-type': 'application/json' }
    const sent = { method: 'POST', headers, body: '{"title":"moved"}' }
    const created = await fetch(`${server.url}/old/things`, sent)
    expect(created.status).to.equal(201)
    const { id } = (await created.json()) as { id: string }
    const read = await fetch(`${server.url}/now/things/${id}?`, { headers })
    expect(await read.json()).to.include({ id, title: 'moved' })
  })

  it('is guarded like the route that it stands for', async () => {
    const member = await server.token('alice', 'member')
    for (const path of ['/old/things', '/old/things/7', '/now/things', '/now/things/7']) {
      const anonymous = await server.ask('GET', path)
      expect([anonymous.status, anonymous.headers.has('location')], path).to.deep.equal([401, false])
      const refused = await server.ask('GET', path, { token: member })
      expect([refused.status, refused.headers.has('location')], path).to.deep.equal([403, false])
      expect((await server.ask('GET', path, { token: 'bad' })).status).to.equal(401)
    }
  })

  it('has no body, so Accept and preconditions are for the path that it leads to', async () => {
    const headers = { accept: 'text/html', 'if-match': '"x"', 'if-none-match': '*' }
    for (const [method, path, status] of [
      ['GET', '/old/things/7', 301],
      ['PUT', '/now/things/7', 307],
    ] as const) {
      const body = method === 'PUT' ? { title: 't' } : undefined
      expect((await server.ask(method, path, { token: admin, headers, body })).status).to.equal(status)
    }
  })

  it('has OPTIONS and 405 like any route', async () => {
    const options = await server.ask('OPTIONS', '/old/things?x=1')
    expect([options.status, options.headers.get('allow')]).to.deep.equal([204, 'GET, HEAD, POST, OPTIONS'])
    expect((await server.ask('DELETE', '/old/things', { token: admin })).status).to.equal(405)
  })

  it('leaves a decision record with its status', async () => {
    await server.ask('GET', '/old/things/7', { token: admin })
    expect(await server.lastDecision({ method: 'GET' })).to.include({
      status: 301,
      outcome: 'allowed',
      route: '/old/things/{id}',
      objectId: '7',
    })
  })

  it('does not wait for a body that it will not read', async () => {
    const headers = [`Authorization: Bearer ${admin}`, 'Content-Length: 1000', 'Expect: 100-continue']
    const { answers, closed } = await converse(server.url, [request('POST /old/things', headers)])
    expect([answers.map(({ status }) => status), closed]).to.deep.equal([[308], true])
  })
})

describe('the shipped path that moved', () => {
  let server: TestServer

  before(async () => {
    server = await startTestServer({ demo: true })
  })
  after(() => server.stop())

  it('leads who may list and write notes to where they are now, and nobody else', async () => {
    const [alice, audrey] = [await server.token('alice', 'member'), await server.token('audrey', 'auditor')]
    for (const [method, token, status] of [
      ['GET', alice, 301],
      ['HEAD', alice, 301],
      ['POST', alice, 308],
      ['GET', audrey, 301],
      ['POST', audrey, 403],
      ['GET', undefined, 401],
      ['POST', undefined, 401],
    ] as const) {
      const { headers, ...answer } = await server.ask(method, '/notes?limit=1', token ? { token } : {})
      const location = status < 400 ? '/api/v1/notes?limit=1' : null
      expect([answer.status, headers.get('location')], `${method} ${token}`).to.deep.equal([status, location])
    }
    const headers = { authorization: `Bearer ${alice}`, 'content-type': 'application/json' }
    const made = await fetch(`${server.url}/notes`, { method: 'POST', headers, body: '{"title":"t"}' })
    expect([made.status, made.headers.get('location')?.replace(/[^/]+$/, '')]).to.deep.equal([201, '/api/v1/notes/'])
  })
})
