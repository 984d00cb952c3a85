/** The operator's port: who reaches it, what it answers, and that it outlives metrics that can't be told. */
import { once } from 'node:events'
import type { Server } from 'node:http'
import { connect } from 'node:net'
import { expect } from 'chai'
import { listen } from '../../src/server/http/listen.ts'
import { createAdminServer } from '../../src/server/observe/admin-server.ts'
import type { Health } from '../../src/server/routes/handler.ts'
import { converse, request, sleep } from '../request/raw.ts'
import { startTestServer } from '../server.ts'

const TOKEN = 'metrics-0123456789'

describe('the admin port', () => {
  let admin: Server | undefined
  let store: Health = { status: 'ok' }
  afterEach(() => {
    store = { status: 'ok' }
    admin?.close()
  })

  it('answers 503 when the metrics can not be told, and tells them when they can', async () => {
    const answers = [() => Promise.reject(new Error('a worker hangs')), async () => 'up 1\n']
    const url = await start(() => answers.shift()?.() ?? Promise.reject())
    const first = await fetch(`${url}/metrics`)
    const second = await fetch(`${url}/metrics`)
    expect([first.status, second.status, await second.text()]).to.deep.equal([503, 200, 'up 1\n'])
    expect([await problemOf(first), first.headers.get('retry-after')]).to.deep.equal(['not-ready', '5'])
  })

  it('answers HEAD as GET without the body', async () => {
    const url = await start()
    const ask = async (method: string) => (await converse(url, [request(`${method} /metrics`)])).answers[0]
    const [get, head] = await Promise.all([ask('GET'), ask('HEAD')])
    expect([get?.status, get?.text]).to.deep.equal([200, 'up 1\n'])
    // The body that its length announces doesn't come, so the raw reader has no whole answer.
    expect(head).to.equal(undefined)
    const response = await fetch(`${url}/metrics`, { method: 'HEAD' })
    expect([response.status, await response.text()]).to.deep.equal([200, ''])
    for (const name of ['content-length', 'content-type', 'cache-control']) {
      expect(response.headers.get(name), name).to.equal(get?.headers[name]).and.not.equal(undefined)
    }
  })

  it('answers other methods with 405 and Allow, and other paths with 404, as problem documents', async () => {
    const url = await start()
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
      const response = await fetch(`${url}/metrics`, { method })
      expect([response.status, response.headers.get('allow')]).to.deep.equal([405, 'GET, HEAD'])
      expect(await problemOf(response)).to.equal('method-not-allowed')
    }
    for (const path of ['/', '/metrics/', '/Metrics', '/api/v1/notes']) {
      const response = await fetch(url + path)
      expect([response.status, await problemOf(response)], path).to.deep.equal([404, 'route-not-found'])
    }
    const { answers, closed } = await converse(url, [request('GET /metrics', ['Host: other'])])
    expect([answers.map(({ status }) => status), closed]).to.deep.equal([[400], true])
  })

  it('asks for its token where one is set: 401 without it or with another, whatever the method shows', async () => {
    const url = await start(async () => 'up 1\n', TOKEN)
    const ask = (authorization?: string) => fetch(`${url}/metrics`, authorization ? { headers: { authorization } } : {})
    const none = await ask()
    expect([none.status, await problemOf(none), none.headers.get('www-authenticate')]).to.deep.equal([
      401,
      'credentials-missing',
      'Bearer realm="sallyport admin"',
    ])
    for (const other of [`Bearer ${TOKEN}9`, `Bearer ${TOKEN.slice(1)}`, `Basic ${TOKEN}`, 'Bearer', TOKEN]) {
      const refused = await ask(other)
      expect([refused.status, await problemOf(refused)], other).to.deep.equal([401, 'token-invalid'])
      expect(refused.headers.get('www-authenticate')).to.contain('error="invalid_token"')
    }
    const twice = [`Authorization: Bearer ${TOKEN}`, 'Authorization: Bearer x']
    expect((await converse(url, [request('GET /metrics', twice)])).answers[0]?.status).to.equal(401)
    const right = await ask(`Bearer ${TOKEN}`)
    expect([right.status, await right.text()]).to.deep.equal([200, 'up 1\n'])
  })

  it('answers probes without credentials, and tells the details to who has the token', async () => {
    const url = await start(async () => 'up 1\n', TOKEN)
    store = { status: 'degraded', detail: 'slow' }
    const ask = async (path: string, authorization?: string) => {
      const response = await fetch(url + path, authorization ? { headers: { authorization } } : {})
      expect(response.headers.get('content-type')).to.equal('application/json')
      return [response.status, await response.json()]
    }
    expect(await ask('/livez')).to.deep.equal([200, { status: 'ok' }])
    expect(await ask('/readyz')).to.deep.equal([200, { status: 'degraded' }])
    expect(await ask('/readyz', 'Bearer wrong')).to.deep.equal([200, { status: 'degraded' }])
    const details = { status: 'degraded', checks: { store } }
    expect(await ask('/readyz', `Bearer ${TOKEN}`)).to.deep.equal([200, details])
    store = { status: 'unavailable' }
    const refused = await fetch(`${url}/readyz`)
    expect([refused.status, await problemOf(refused)]).to.deep.equal([503, 'not-ready'])
    expect(await ask('/livez')).to.deep.equal([200, { status: 'ok' }])
    expect((await fetch(`${url}/livez`, { method: 'POST' })).headers.get('allow')).to.equal('GET, HEAD')
  })

  it('answers probes of a server whose policy refuses everybody, and tells when it drains', async () => {
    const server = await startTestServer({ files: { 'policies/policy.csv': '' } })
    try {
      expect((await fetch(`${server.url}/livez`)).status).to.equal(401)
      const { status, checks } = (await (await fetch(`${server.app.adminUrl}/readyz`)).json()) as Record<string, never>
      expect(status).to.equal('ok')
      expect(checks).to.include.keys('server', 'store', 'policy')
      const slow = connect(Number(new URL(server.url).port), '127.0.0.1')
      slow.write('POST /api/v1/notes HTTP/1.1\r\nHost: x\r\n')
      await once(slow, 'ready')
      await sleep(50)
      const drained = server.app.drain()
      expect((await fetch(`${server.app.adminUrl}/readyz`)).status).to.equal(503)
      slow.destroy()
      await drained
    } finally {
      await server.stop()
    }
  })

  it('is at 127.0.0.1, wherever the server is, unless ADMIN_HOST says otherwise; ADMIN_TOKEN guards it', async () => {
    const open = await startTestServer({ env: { HOST: '0.0.0.0' } })
    expect(open.url).to.contain('//0.0.0.0:')
    expect(open.app.adminUrl).to.contain('//127.0.0.1:')
    expect((await fetch(`${open.app.adminUrl}/metrics`)).status).to.equal(200)
    await open.stop()
    const other = await startTestServer({ env: { ADMIN_HOST: '127.0.0.2', ADMIN_TOKEN: TOKEN } })
    expect(other.app.adminUrl).to.contain('//127.0.0.2:')
    const headers = { authorization: `Bearer ${TOKEN}` }
    const statuses = await Promise.all(
      [{}, { headers }].map(async (init) => (await fetch(`${other.app.adminUrl}/metrics`, init)).status),
    )
    expect(statuses).to.deep.equal([401, 200])
    await other.stop()
  })

  it('goes on when a connection can not be taken in', async () => {
    const url = await start()
    admin?.emit('error', Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' }))
    expect((await fetch(`${url}/metrics`)).status).to.equal(200)
  })

  async function start(text = async () => 'up 1\n', token?: string): Promise<string> {
    admin = createAdminServer({ text, contentType: 'text/plain', checks: async () => ({ store }) }, token)
    return listen(admin, '127.0.0.1', { name: 'ADMIN_PORT', port: 0 })
  }
})

async function problemOf(response: Response): Promise<string> {
  expect(response.headers.get('content-type')).to.equal('application/problem+json')
  const { status, instance, code } = JSON.parse(await response.text())
  expect(status).to.equal(response.status)
  expect(instance).to.match(/^urn:uuid:/)
  return code
}
