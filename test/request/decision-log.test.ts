/** What becomes of requests when the decision log can't be written. /dev/full is a disk without space. */
import { expect } from 'chai'
import { startTestServer, type TestServer } from '../server.ts'
import { readinessOf } from './readiness.ts'

describe('a decision log that can not be written', () => {
  let server: TestServer
  afterEach(() => server.stop())

  const start = async (mode: 'required' | 'best-effort') => {
    server = await startTestServer({ demo: true, env: { DECISION_LOG: mode, DECISION_LOG_FILE: '/dev/full' } })
    return server.token('alice', 'member')
  }
  const lost = async () => {
    const metrics = await (await fetch(`${server.app.adminUrl}/metrics`)).text()
    return Number(/^sallyport_decisions_lost_total (\d+)$/m.exec(metrics)?.[1])
  }

  it('refuses reads and refusals with 503 where it is required, and shows nothing', async () => {
    const token = await start('required')
    for (const [path, credentials] of [
      ['/api/v1/notes', token],
      ['/profile', token],
      ['/profile', undefined],
      ['/nowhere', undefined],
    ] as const) {
      const answer = await server.ask('GET', path, { token: credentials })
      expect([answer.status, answer.body.code]).to.deep.equal([503, 'decision-log-unavailable'])
      expect(answer.headers.get('retry-after')).to.equal('5')
      expect(answer.body).not.to.have.any.keys('items', 'id', 'next')
      expect(answer.headers.get('etag')).to.equal(null)
    }
  })

  it('is no loss for writes, whose records wait in the store', async () => {
    const token = await start('required')
    const answer = await server.ask('POST', '/api/v1/notes', { token, body: { title: 't' } })
    expect(answer.status).to.equal(201)
    const waiting = (await server.app.outbox.waiting(10)).map(({ record }) => JSON.parse(record))
    expect(waiting).to.have.length(1)
    expect(waiting[0]).to.include({ objectId: answer.body.id, status: 201, subject: 'alice' })
  })

  it('where it is best effort, answers, counts what is lost, and says so once', async () => {
    const token = await start('best-effort')
    for (let i = 0; i < 3; i++) expect((await server.ask('GET', '/api/v1/notes', { token })).status).to.equal(200)
    // The record of the start is lost, too.
    expect(await lost()).to.equal(4)
    const told = server.log.filter(({ msg }) => msg === "the decision log can't be written")
    expect(told).to.have.length(1)
    const ready = await readinessOf(server)
    expect(ready.body.checks.decisions.status).to.equal('degraded')
  })

  it('loses nothing where it can be written', async () => {
    server = await startTestServer({ demo: true, env: { DECISION_LOG: 'required' } })
    const token = await server.token('alice', 'member')
    expect((await server.ask('GET', '/api/v1/notes', { token })).status).to.equal(200)
    expect(await lost()).to.equal(0)
    expect(await server.decisions()).to.have.length(1)
  })

  it('stops the start where it can not even be opened', async () => {
    const refused = await startTestServer({ env: { DECISION_LOG_FILE: '/nowhere/at/all.log' } }).catch((error) => error)
    expect(String(refused)).to.contain(
      "the decision log /nowhere/at/all.log can't be written (no such file or directory)",
    )
    server = await startTestServer()
  })
})
