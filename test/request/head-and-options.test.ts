/** HEAD is GET without the body; OPTIONS says what a route accepts, to everybody. */
import { expect } from 'chai'
import { type Answer, startTestServer, type TestServer } from '../server.ts'
import { type Callers, pathsOf, tokensOf } from './callers.ts'
import { converse, request } from './raw.ts'

/** What differs from one answer to the next; fetch closes the connection after a HEAD. */
const OWN = ['date', 'connection', 'keep-alive']

function headersOf({ headers }: Answer): Readonly<Record<string, string>> {
  return Object.fromEntries([...headers].filter(([name]) => !OWN.includes(name)))
}

describe('HEAD and OPTIONS', () => {
  let server: TestServer
  let callers: Callers
  let paths: ReadonlyMap<string, string>

  before(async () => {
    server = await startTestServer({ demo: true })
    callers = await tokensOf(server)
    paths = await pathsOf(server, callers.ada)
  })
  after(() => server.stop())

  it("HEAD has GET's status and headers, Content-Length too, on every route for every caller", async () => {
    const seen = new Set<number>()
    for (const token of [undefined, 'bad', callers.alice, callers.sam, callers.audrey, callers.ada]) {
      for (const path of [
        ...paths.values(),
        '/nowhere',
        '/api/users/nobody',
        '/api/v1/notes?limit=1',
        '/api/users?x=1',
      ]) {
        const get = await server.ask('GET', path, { token })
        const head = await server.ask('HEAD', path, { token })
        expect(head.status, path).to.equal(get.status)
        expect(head.text).to.equal('')
        expect(withoutCursor(headersOf(head)), path).to.deep.equal(withoutCursor(headersOf(get)))
        expect(Number(get.headers.get('content-length'))).to.equal(Buffer.byteLength(get.text))
        seen.add(get.status)
      }
    }
    expect([...seen].toSorted()).to.deep.equal([200, 301, 400, 401, 403, 404, 405, 422])
  })

  it('OPTIONS is 204 with Allow, with Accept-Patch where PATCH is accepted, and has no body', async () => {
    for (const token of [undefined, callers.alice, callers.audrey]) {
      for (const path of paths.values()) {
        const { status, headers, text } = await server.ask('OPTIONS', path, { token })
        const allow = headers.get('allow') ?? ''
        expect([status, text], path).to.deep.equal([204, ''])
        expect(allow).to.match(/^(GET, HEAD, )?(POST, )?(PUT, )?(PATCH, )?(DELETE, )?OPTIONS$/)
        expect(headers.get('accept-patch')).to.equal(
          allow.includes('PATCH')
            ? 'application/merge-patch+json, application/json-patch+json, application/json'
            : null,
        )
        for (const name of ['content-type', 'content-length', 'transfer-encoding']) {
          expect(headers.has(name), name).to.equal(false)
        }
      }
    }
  })

  it('OPTIONS does not tell whether an object exists', async () => {
    const [found, missing] = [await server.ask('OPTIONS', '/users/alice'), await server.ask('OPTIONS', '/users/nobody')]
    expect([found.status, headersOf(found)]).to.deep.equal([missing.status, headersOf(missing)])
  })

  it("OPTIONS of the caller's own record is 204 without credentials: it concerns no record", async () => {
    expect((await server.ask('OPTIONS', '/profile')).status).to.equal(204)
    expect((await server.ask('GET', '/profile')).status).to.equal(401)
  })

  it('OPTIONS is an action like any other: what the policy does not grant is refused', async () => {
    const policy = 'p, member, notes, options, any, *, allow\n'
    const guarded = await startTestServer({ files: { 'policies/policy.csv': policy } })
    try {
      const token = await guarded.token('alice', 'member')
      const statuses = [
        (await guarded.ask('OPTIONS', '/api/v1/notes', { token })).status,
        (await guarded.ask('OPTIONS', '/api/orders', { token })).status,
        (await guarded.ask('OPTIONS', '/api/v1/notes')).status,
      ]
      expect(statuses).to.deep.equal([204, 403, 401])
    } finally {
      await guarded.stop()
    }
  })

  it('OPTIONS * is 204; * is no path for another method', async () => {
    const { answers } = await converse(server.url, [request('OPTIONS *')])
    expect(answers.map(({ status, headers }) => [status, headers.allow])).to.deep.equal([[204, 'OPTIONS']])
    const get = await converse(server.url, [request('GET *')])
    expect(get.answers[0]?.status).to.equal(405)
    expect((await server.ask('OPTIONS', '/*')).status).to.equal(404)
  })

  it('OPTIONS where no route is, is 404', async () => {
    expect((await server.ask('OPTIONS', '/nowhere')).status).to.equal(404)
  })

  it('an answer that depends on the caller says so to caches', async () => {
    for (const [path, token] of [['/livez'], ['/profile', callers.alice], ['/profile'], ['/nowhere']] as const) {
      const { headers } = await server.ask('GET', path, { token })
      expect(headers.get('vary')).to.equal('Authorization, Accept')
      expect(headers.get('cache-control')).to.equal('private, no-cache')
      expect(headers.get('policy-revision')).to.equal(server.app.policy.active.revision)
    }
  })
})

/** A cursor is sealed with a nonce of its own, and always as long. */
function withoutCursor(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const { link, ...rest } = headers
  return link === undefined ? rest : { ...rest, link: link.replace(/cursor=[^>]+/, 'cursor=') }
}
