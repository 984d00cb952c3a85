/** A candidate policy beside the one in force, on a real server: what it would change is told, and nothing is changed. */
import { cp, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { readBlockedFile, readPolicyFiles, revisionOf } from '../../src/policy/policy-files.ts'
import { addRules } from '../policy-text.ts'
import { readinessOf } from '../request/readiness.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { until } from '../until.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const WRONG_DENY = 'p, support, orders, read, any, *, deny\n'

describe('what a candidate policy (POLICY_CANDIDATE) would change', () => {
  let server: TestServer
  let sam: string
  let order: string
  const candidateOf = ({ folder }: TestServer) => join(folder, 'candidate')

  async function start(files: Readonly<Record<string, string>> = {}): Promise<void> {
    server = await startTestServer({ demo: true, candidate: files })
    sam = await server.token('sam', 'support')
    const { body } = await server.ask('GET', '/api/orders', { token: sam })
    order = `/api/orders/${body.items[0].id}`
  }
  afterEach(() => server.stop())

  const logged = (message: string) => server.log.filter(({ msg }) => msg === message)
  const untilLogged = async (message: string, count = 1) => {
    await until(() => logged(message).length >= count)
  }
  /** The candidate as its files are now is what requests are compared with. */
  const untilCompared = async ({ folder }: TestServer) => {
    const candidate = join(folder, 'candidate')
    const revision = revisionOf(await readPolicyFiles(candidate), await readBlockedFile(candidate))
    await until(() => logged('requests are compared with the policy candidate').at(-1)?.candidate === revision)
  }
  const metric = async (name: string) => {
    const text = await (await fetch(`${server.app.adminUrl}/metrics`)).text()
    return Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${name} `))
        ?.split(' ')
        .at(-1),
    )
  }
  const untilMetric = async (name: string, least: number) => {
    await until(async () => (await metric(name)) >= least)
  }

  it('is nothing while it says the same', async () => {
    await start()
    await untilLogged('requests are compared with the policy candidate')
    for (let i = 0; i < 5; i++) await server.ask('GET', order, { token: sam })
    await untilMetric('sallyport_shadow_compared_total', 5)
    expect(logged('policy shadow difference')).to.deep.equal([])
  })

  it('is told of a wrong deny before it ruled anything: the request, both outcomes, both lines', async () => {
    await start()
    await addRules(join(candidateOf(server), 'policy.csv'), WRONG_DENY)
    await untilCompared(server)
    const answer = await server.ask('GET', order, { token: sam })
    expect(answer.status).to.equal(200)
    await untilLogged('policy shadow difference')
    const record = await server.lastDecision({ method: 'GET' })
    const [difference] = logged('policy shadow difference')
    expect(difference).to.deep.include({
      change: 'refused-now',
      was: '200',
      becomes: '403 forbidden',
      requestId: record?.requestId,
      subject: 'sam',
      roles: ['support'],
      route: '/api/orders/{id}',
      rules: record?.rules,
      revision: answer.headers.get('policy-revision'),
    })
    expect(difference?.candidateRules).to.be.an('array').with.length.greaterThan(1)
    await untilMetric('sallyport_shadow_differences_total{change="refused-now"}', 1)
    expect(record).to.include({ status: 200, outcome: 'allowed' })
  })

  it('is told without what masks.yaml keeps out of records', async () => {
    server = await startTestServer({
      demo: true,
      candidate: {},
      files: { 'policies/masks.yaml': 'fields: [subject, objectId]\nfacts: {}\n' },
    })
    sam = await server.token('sam', 'support')
    const { body } = await server.ask('GET', '/api/orders', { token: sam })
    await addRules(join(candidateOf(server), 'policy.csv'), WRONG_DENY)
    await untilCompared(server)
    await server.ask('GET', `/api/orders/${body.items[0].id}`, { token: sam })
    await untilLogged('policy shadow difference')
    const [difference] = logged('policy shadow difference')
    expect(difference).to.include({ subject: '***', objectId: '***' })
    expect(JSON.stringify(difference)).not.to.match(/"sam"/).and.not.to.contain(body.items[0].id)
  })

  it('is told of writes too, and writes nothing', async () => {
    await start()
    await addRules(join(candidateOf(server), 'policy.csv'), 'p, member, notes, create, any, *, deny\n')
    await untilCompared(server)
    const token = await server.token('alice', 'member')
    const { status } = await server.ask('POST', '/api/v1/notes', { token, body: { title: 't' } })
    expect(status).to.equal(201)
    await untilLogged('policy shadow difference')
    expect(logged('policy shadow difference')[0]).to.include({ change: 'refused-now', was: '201', method: 'POST' })
  })

  it('is nothing for a caller who is blocked, for no candidate lifts a block; one that adds a block is told', async () => {
    await start()
    await untilLogged('requests are compared with the policy candidate')
    const blocked = join(server.folder, 'policies/blocked.txt')
    const before = await readFile(blocked, 'utf8')
    await writeFile(blocked, 'user:sam\n')
    await server.app.policy.reload()
    expect((await server.ask('GET', order, { token: sam })).body.code).to.equal('blocked')
    await writeFile(blocked, before)
    await server.app.policy.reload()
    await writeFile(join(candidateOf(server), 'blocked.txt'), 'user:sam\n')
    await untilCompared(server)
    expect((await server.ask('GET', order, { token: sam })).status).to.equal(200)
    await untilLogged('policy shadow difference')
    const told = logged('policy shadow difference').map(({ change, was, becomes }) => [change, was, becomes])
    expect(told).to.deep.equal([['refused-now', '200', '403 blocked']])
  })

  it('of a stream of differences is told a few times a second, and counted whole', async () => {
    await start({ 'policy.csv': `p, everyone, system/*, *, any, *, allow\n` })
    await untilLogged('requests are compared with the policy candidate')
    const before = await metric('sallyport_shadow_differences_total{change="refused-now"}')
    await Promise.all(Array.from({ length: 60 }, () => server.ask('GET', order, { token: sam })))
    await untilMetric('sallyport_shadow_differences_total{change="refused-now"}', before + 60)
    expect(logged('policy shadow difference').length).to.be.lessThan(50)
  })

  it('that is broken is said, and no request notices; once it is fixed it is compared with', async () => {
    await start({ 'policy.csv': 'p, member, notes\n' })
    await untilLogged('policy candidate refused; requests are decided as before')
    expect((await server.ask('GET', order, { token: sam })).status).to.equal(200)
    const ready = await readinessOf(server)
    expect([ready.status, ready.body.checks.candidate.status]).to.deep.equal([200, 'degraded'])
    await untilMetric('sallyport_shadow_uncompared_total{reason="unready"}', 1)
    await cp(join(ROOT, 'policies/policy.csv'), join(candidateOf(server), 'policy.csv'))
    await untilLogged('requests are compared with the policy candidate')
    expect((await readinessOf(server)).body.checks.candidate.status).to.equal('ok')
  })

  it('whose files vanish is said; what it was before is compared with', async () => {
    await start()
    await untilLogged('requests are compared with the policy candidate')
    await rename(candidateOf(server), `${candidateOf(server)}-away`)
    await untilLogged('policy candidate refused; requests are decided as before')
    const before = await metric('sallyport_shadow_compared_total')
    expect((await server.ask('GET', order, { token: sam })).status).to.equal(200)
    await untilMetric('sallyport_shadow_compared_total', before + 1)
  })
})
