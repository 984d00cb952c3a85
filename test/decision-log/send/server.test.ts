/** A server that sends its decision log elsewhere: no answer waits for that, and operators see how it goes. */
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { removeFolder } from '../../ends-with-tests.ts'
import { startTestServer, type TestServer } from '../../server.ts'
import { until } from '../../until.ts'
import { type HttpCollector, makeCertificate, startHttpCollector } from './collectors.ts'

describe('a server that sends its decision log', () => {
  let folder: string
  let collector: HttpCollector
  let server: TestServer

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    makeCertificate(folder)
  })
  after(() => removeFolder(folder))
  beforeEach(async () => {
    collector = await startHttpCollector(folder)
    server = await startTestServer({
      env: {
        DECISION_LOG_SEND: `https://127.0.0.1:${collector.port}/in?key=hidden-word`,
        DECISION_LOG_SEND_HEADERS: 'authorization=hidden-token',
        DECISION_LOG_SEND_CA: join(folder, 'crt.pem'),
      },
    })
  })
  afterEach(async () => {
    await server.stop()
    await collector.stop()
  })

  it('sends the record of each read and write, and counts them', async () => {
    const alice = await server.token('alice', 'member')
    await server.ask('GET', '/api/v1/notes', { token: alice })
    await server.ask('POST', '/api/v1/notes', { token: alice, body: { title: 'Milk', body: 'two', tags: [] } })
    await until(async () => (await sent()).length === 2)
    expect(await sent()).to.have.deep.members(await server.decisions())
    await until(async () => (await metric('sent_total')) === 3)
    await until(async () => (await metric('send_lag_seconds')) === 0)
    expect(logged('decision records')).to.deep.equal([])
  })

  it('answers as fast while nobody takes them, says so once, and shows how far it is behind', async () => {
    collector.answer = () => 'never'
    for (let i = 0; i < 20; i++) expect((await server.ask('GET', '/api/v1/notes')).status).to.equal(401)
    await until(async () => (await metric('send_lag_seconds')) > 0.1)
    await collector.stop()
    await until(() => logged("decision records can't be sent").length === 1)
    expect((await server.ask('GET', '/api/v1/notes')).status).to.equal(401)
    expect((await server.decisions()).length).to.equal(21)
    const [said] = logged("decision records can't be sent")
    expect(said).to.include({ to: `https://127.0.0.1:${collector.port}` })
    expect(JSON.stringify(server.log)).not.to.match(/hidden-/)
    collector = await startHttpCollector(folder, collector.port)
    await until(async () => (await sent()).length === 21)
    await until(() => logged('decision records are sent again').length === 1)
  })

  async function sent(): Promise<readonly unknown[]> {
    return collector.taken
      .flatMap(({ body }) => body.trimEnd().split('\n'))
      .map((line) => JSON.parse(line))
      .filter(({ method }) => method !== 'SERVER')
  }

  async function metric(name: string): Promise<number> {
    const text = await server.app.metrics.text()
    return Number(new RegExp(`^sallyport_decisions_${name} (?<value>[\\d.e+-]+)$`, 'm').exec(text)?.groups?.value)
  }

  function logged(beginning: string): readonly Record<string, unknown>[] {
    return server.log.filter(({ msg }) => String(msg).startsWith(beginning))
  }
})
