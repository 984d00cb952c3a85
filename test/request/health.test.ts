/** /livez says that the process answers, /readyz that it can do its work; both under the policy, like any resource. */
import { copyFile, mkdtemp, readFile, rename, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { WriteProbe } from '../../src/store/sql/write-probe.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { until as untilHolds } from '../until.ts'
import { until } from './until.ts'

describe('health', () => {
  let server: TestServer
  afterEach(() => server.stop())

  it('of a server that can do its work is ok, part by part, for auditors and admins', async () => {
    server = await startTestServer()
    const live = await server.ask('GET', '/livez')
    expect([live.status, live.body]).to.deep.equal([200, { status: 'ok' }])
    for (const role of ['auditor', 'admin']) {
      const { status, body } = await server.ask('GET', '/readyz', { token: await server.token('x', role) })
      expect([status, body.status]).to.deep.equal([200, 'ok'])
      for (const part of ['server', 'store', 'policy', 'limiter'])
        expect(body.checks[part]).to.deep.equal({ status: 'ok' })
    }
  })

  it('is told everybody else by its status alone, also when something is wrong', async () => {
    server = await startTestServer()
    const file = join(server.folder, 'policies/policy.csv')
    await writeFile(file, (await readFile(file, 'utf8')).replace('p, ', 'p, nobody, '))
    await until(
      () => server.ask('GET', '/readyz'),
      ({ body }) => body.status === 'degraded',
    )
    const { revision } = server.app.policy.active
    for (const token of [undefined, await server.token('alice', 'member'), await server.token('sam', 'support')]) {
      const { status, body, text } = await server.ask('GET', '/readyz', { token })
      expect([status, body]).to.deep.equal([200, { status: 'degraded' }])
      expect(text).to.not.contain('policy').and.not.contain(revision)
    }
    const token = await server.token('ada', 'admin')
    const { text } = await server.ask('GET', '/readyz', { token })
    expect(text).to.contain('policy.csv:').and.contain(revision)
    await server.app.store.close()
    const [told, hidden] = await Promise.all([server.ask('GET', '/readyz', { token }), server.ask('GET', '/readyz')])
    expect([told.status, hidden.status, hidden.body.detail]).to.deep.equal([
      503,
      503,
      'A part of the server is not available; try again.',
    ])
  })

  it('without its store is alive and not ready: 503 with Retry-After, and no word of the cause', async () => {
    server = await startTestServer()
    await server.app.store.close()
    const { status, headers, body } = await server.ask('GET', '/readyz')
    expect([status, body.code, headers.get('retry-after')]).to.deep.equal([503, 'not-ready', '5'])
    expect(body.detail).to.equal('A part of the server is not available; try again.')
    expect((await server.ask('GET', '/livez')).status).to.equal(200)
    const token = await server.token('alice', 'member')
    const notes = await server.ask('GET', '/api/v1/notes', { token })
    expect([notes.status, notes.body.code, notes.headers.get('retry-after')]).to.deep.equal([
      503,
      'store-unavailable',
      '5',
    ])
  })

  it('is not ready while no write is possible, and is again once one is', async () => {
    server = await startTestServer()
    expect((await server.ask('GET', '/readyz')).status).to.equal(200)
    const other = new DatabaseSync(join(server.folder, 'data/sallyport.db'))
    other.exec('begin immediate')
    const token = await server.token('alice', 'member')
    const write = () => server.ask('POST', '/api/v1/notes', { token, body: { title: 't' } })
    expect((await write()).status).to.equal(503)
    expect((await server.ask('GET', '/api/v1/notes', { token })).status).to.equal(200)
    await untilReady(503)
    expect(server.log.filter(({ msg }) => msg === 'the store is not available')).to.have.length(1)
    other.exec('rollback')
    other.close()
    expect((await write()).status).to.equal(201)
    await untilReady(200)
  })

  it('is not ready while the database is not where it was, or is another one', async () => {
    server = await startTestServer()
    const file = join(server.folder, 'data/sallyport.db')
    await rename(file, `${file}.away`)
    expect((await server.ask('GET', '/readyz')).status).to.equal(503)
    await copyFile(`${file}.away`, file)
    expect((await server.ask('GET', '/readyz')).status).to.equal(503)
    const [told] = server.log.filter(({ msg }) => msg === 'the store is not available')
    expect(JSON.stringify(told)).to.contain(`the database ${file} was moved, deleted or replaced`)
    await rename(`${file}.away`, file)
    expect((await server.ask('GET', '/readyz')).status).to.equal(200)
  })

  it('costs at most one write a second, however often it is asked', async () => {
    let writes = 0
    const probe = new WriteProbe({
      write: async () => {
        writes += 1
      },
      patienceMs: 1000,
    })
    const began = performance.now()
    for (let i = 0; i < 1000; i++) await probe.ask()
    expect(writes).to.be.within(1, 1 + Math.ceil((performance.now() - began) / 1000))
    server = await startTestServer()
  })

  it('a start without the database of the log beside it says so, and no other start does', async () => {
    const warned = () => server.log.filter(({ level }) => level === 40).map(({ msg }) => String(msg))
    server = await startTestServer()
    expect(warned()).to.deep.equal([])
    await server.stop()
    const elsewhere = await mkdtemp(join(tmpdir(), 'sallyport-log-'))
    const file = join(elsewhere, 'decisions.log')
    await writeFile(file, '{}\n')
    server = await startTestServer({ env: { DECISION_LOG_FILE: file } })
    await removeFolder(elsewhere)
    expect(warned()).to.have.length(1)
    expect(warned()[0]).to.match(
      /^the database .*sallyport\.db is missing, but .*decisions\.log is of an earlier start: /,
    )
  })

  async function untilReady(status: number): Promise<void> {
    await untilHolds(async () => (await server.ask('GET', '/readyz')).status === status)
  }

  it('is what the policy grants: the fields of a view, or nothing at all', async () => {
    const policy = 'p, member, system/health, read, any, *, allow\n'
    server = await startTestServer({ files: { 'policies/policy.csv': policy } })
    expect((await server.ask('GET', '/readyz')).status).to.equal(401)
    const token = await server.token('alice', 'member')
    expect((await server.ask('GET', '/readyz', { token })).status).to.equal(200)
    expect((await server.ask('GET', '/readyz', { token: await server.token('x') })).status).to.equal(403)
  })
})
