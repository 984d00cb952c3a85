/** /livez says that the process answers, /readyz that it can do its work; both under the policy, like any resource. */
import { expect } from 'chai'
import { startTestServer, type TestServer } from '../server.ts'

describe('health', () => {
  let server: TestServer
  afterEach(() => server.stop())

  it('of a server that can do its work is ok, part by part, for anybody', async () => {
    server = await startTestServer()
    const live = await server.ask('GET', '/livez')
    expect([live.status, live.body]).to.deep.equal([200, { status: 'ok' }])
    const { status, body } = await server.ask('GET', '/readyz')
    expect([status, body.status]).to.deep.equal([200, 'ok'])
    for (const part of ['server', 'store', 'policy', 'limiter'])
      expect(body.checks[part]).to.deep.equal({ status: 'ok' })
  })

  it('without its store is alive and not ready: 503 with Retry-After, and no word of the cause', async () => {
    server = await startTestServer()
    await server.app.store.close()
    const { status, headers, body } = await server.ask('GET', '/readyz')
    expect([status, body.code, headers.get('retry-after')]).to.deep.equal([503, 'not-ready', '5'])
    expect(body.detail).to.equal('The store is not available.')
    expect((await server.ask('GET', '/livez')).status).to.equal(200)
    const token = await server.token('alice', 'member')
    const notes = await server.ask('GET', '/api/v1/notes', { token })
    expect([notes.status, notes.body.code, notes.headers.get('retry-after')]).to.deep.equal([
      503,
      'store-unavailable',
      '5',
    ])
  })

  it('is what the policy grants: the fields of a view, or nothing at all', async () => {
    const policy = 'p, member, system/health, read, any, *, allow\n'
    server = await startTestServer({ files: { 'policies/policy.csv': policy } })
    expect((await server.ask('GET', '/readyz')).status).to.equal(401)
    const token = await server.token('alice', 'member')
    expect((await server.ask('GET', '/readyz', { token })).status).to.equal(200)
    expect((await server.ask('GET', '/readyz', { token: await server.token('x') })).status).to.equal(403)
  })
})
