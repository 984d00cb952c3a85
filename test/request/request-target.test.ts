/** The route that is authorized is the route that runs: other ways to write a path are 404 or 400, never another route. */
import { expect } from 'chai'
import { startTestServer, type TestServer } from '../server.ts'
import { type Callers, tokensOf } from './callers.ts'
import { converse, type RawAnswer, request } from './raw.ts'

describe('a request target', () => {
  let server: TestServer
  let callers: Callers

  before(async () => {
    server = await startTestServer({ demo: true })
    callers = await tokensOf(server)
  })
  after(() => server.stop())

  for (const target of [
    '/API/users/alice',
    '/api/Users/alice',
    '/Profile/alice',
    '/api/users/',
    '/api/users/alice/',
    '/profile/alice/',
    '//api/users/alice',
    '/api//users/alice',
    '/api/users//alice',
    '/./api/users/alice',
    '/api/./users/alice',
    '/api/x/../users/alice',
    '/api/users/../users/alice',
    '/%61pi/users/alice',
    '/api/%75sers/alice',
    '/api/users%2Falice',
    '/api%2fusers/alice',
    '/%2fapi/users/alice',
    '/api/users;a=b/alice',
    '/api/users;a=b',
    '/api;/users/alice',
    '/api/users/alice;a=b',
    '/api/users/alice%3Ba=b',
    '/api/users/alice%2F',
    '/api/users/x%2F..%2Falice',
    '/api/users/%2e%2e',
    '/api/users/..',
    '/api/users/.',
    '/api/users/%2e',
    '/api/users/alice%00',
    '/api/users/%00alice',
    '/api/users/alice%20',
    '/api/users/%20alice',
    '/api/users/alice%0d%0a',
    '/api/users/alice%09',
    '/api/users/ALICE',
    '/api/users/alic%65%65',
    '/api/users/%2561lice',
    '/api/users/al%EF%BD%89ce',
    '/api/users/alice%CC%81',
    '/api/users/%E2%80%8Balice',
    `/api/users/${'a'.repeat(300)}`,
    '/api/users/{id}',
    '/api/users/:id',
    '/api/users/*',
    '/api\\users\\alice',
    '/api/users/alice\\',
    '/api/users&x=1',
    '/',
    '/*',
    '/__proto__',
    '/constructor',
    '/api/users/__proto__',
    '/api/users/constructor',
    '/api/users/toString',
    'http://localhost//api/users/alice',
    'http://localhost/api/users/alice/',
  ]) {
    it(`${target.slice(0, 60)} is 404 for who may read everything`, async () => {
      for (const method of ['GET', 'DELETE', 'PUT']) {
        const { status } = await ask(method, target)
        // A collection's path has no PUT and DELETE; what matters is that no object was found.
        expect(status, method).to.equal(404)
      }
    })
  }

  for (const target of [
    '/api/users/%',
    '/api/users/%6',
    '/api/users/%zz',
    '/api/users/%u0061lice',
    '/api/users/%ff',
    '/api/users/%C0%AF',
    '/api/users/%ED%A0%80',
    '/%',
    '/api/users/alice#fragment',
    '/api/users#',
    'api/users/alice',
    'alice',
    '?x=1',
    'ftp://localhost/api/users/alice',
    'file:///api/users/alice',
    'http://',
    'http:///api/users/alice',
    'http://ada@localhost/api/users/alice',
    'http://localhost:x/api/users/alice',
    'http://:80/api/users/alice',
    'http://a\\b/api/users/alice',
    'http://[::1/api/users/alice',
    'javascript:alert(1)',
    '/api/users/alice x',
    '/api/users/\u00e9',
    '*/api/users/alice',
    '**',
  ]) {
    it(`${target} is 400`, async () => {
      expect((await ask('GET', target)).status).to.equal(400)
    })
  }

  it('what is percent-encoded without need is the same id, for the decision and for the object', async () => {
    for (const target of ['/api/users/%61lice', '/api/users/alic%65', '/users/%61%6c%69%63%65']) {
      expect((await ask('GET', target)).status).to.equal(200)
      expect((await ask('GET', target, callers.alice)).status).to.equal(200)
      expect((await ask('GET', target, callers.bob)).status).to.equal(403)
    }
    const { objectId } = (await server.lastDecision({ method: 'GET' })) ?? {}
    expect(objectId).to.equal('alice')
  })

  it('the absolute form is its path, whatever host it names (RFC 9112 section 3.2.2)', async () => {
    for (const target of ['http://localhost/api/users/alice', 'HTTPS://elsewhere.example:99/api/users/alice']) {
      expect((await ask('GET', target)).status).to.equal(200)
      expect((await ask('GET', target, callers.bob)).status).to.equal(403)
      expect((await ask('GET', `${target}?x=1`)).status).to.equal(400)
    }
    expect((await ask('GET', 'http://localhost/livez')).status).to.equal(200)
  })

  it('an id may be any text: other scripts, percent signs, slashes and dots that are encoded', async () => {
    const ids = [
      'josé',
      '日本 語',
      '😀',
      '100%',
      'a/b',
      '../alice',
      'a?b#c',
      'o\'hara"',
      'a;b=c',
      'auth0|5f7c',
      '%61lice',
      '+',
    ]
    const document = (i: number) => ({ email: `${i}@example.org`, displayName: 'X' })
    await server.app.seeding.insert(
      'users',
      ids.map((id, i) => ({ id, document: document(i) })),
    )
    for (const id of ids) {
      const { status, body } = await server.ask('GET', `/api/users/${encodeURIComponent(id)}`, { token: callers.ada })
      expect([status, body.id]).to.deep.equal([200, id])
      const { status: refused } = await server.ask('GET', `/api/users/${encodeURIComponent(id)}`, {
        token: callers.bob,
      })
      expect(refused).to.equal(403)
    }
    const alice = await server.ask('GET', '/api/users/alice', { token: callers.ada })
    expect(alice.body.displayName).to.equal('Alice')
  })

  async function ask(method: string, target: string, token = callers.ada): Promise<RawAnswer> {
    const bytes = Buffer.from(request(`${method} ${target}`, [`Authorization: Bearer ${token}`]), 'latin1')
    const { answers } = await converse(server.url, [bytes])
    expect(answers).to.have.length(1)
    return answers[0] as RawAnswer
  }
})
