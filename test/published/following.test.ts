/** Instances with POLICIES=database: follow what is published, within a second, and say which version they have. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { soak } from '../runs.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { until } from '../until.ts'
import { PublishedPolicies, sequenceOf } from './fixture.ts'

/** No rule, so the version is broken. */
const BROKEN = 'x, nothing\n'

/**
 * Does it up to eight times, until what it returns holds within a second: a busy machine makes one late, but not each
 * one. The number of the last time, from 1 on.
 */
async function onceWithinASecond(work: (i: number) => Promise<() => Promise<boolean>>): Promise<number> {
  const took: number[] = []
  while (took.length < 8) {
    const holds = await work(took.length + 1)
    const start = performance.now()
    await until(holds)
    took.push(performance.now() - start)
    if (Math.min(...took) < 1000) return took.length
  }
  expect.fail(`it took ${took.map(Math.round).join(', ')} ms`)
}

describe('two instances with one published policy', () => {
  let published: PublishedPolicies
  let one: TestServer
  let two: TestServer

  beforeEach(async () => {
    published = await PublishedPolicies.make()
    await published.publish()
    one = await published.start()
    two = await published.start()
  })
  afterEach(() => published.remove())

  const both = async (number: number) => (await sequenceOf(one)) === number && (await sequenceOf(two)) === number

  it('activate a version within a second, and name its number and its revision', async () => {
    expect(await both(1)).to.equal(true)
    const before = one.app.policy.active.revision
    const last = await onceWithinASecond(async (i) => {
      await published.publish(`# other ${i}\n`)
      return () => both(i + 1)
    })
    const answers = await Promise.all([one, two].map(({ ask }) => ask('GET', '/livez')))
    const [first, second] = answers.map(({ headers }) => headers.get('policy-revision'))
    expect(first).to.equal(second).and.not.to.equal(before)
    const { versions } = { versions: await published.versions() }
    expect(await versions.latest()).to.equal(last + 1)
    await versions.close()
  })

  it('activate many versions in their order, and end with the last', async () => {
    const seen: number[] = []
    const watch = setInterval(() => void sequenceOf(one).then((number) => seen.push(number)), 20)
    const last = soak(40, 10)
    for (let i = 2; i <= last; i++) await published.publish(`# ${i}\n`)
    await until(() => both(last))
    clearInterval(watch)
    expect(seen).to.deep.equal(seen.toSorted((a, b) => a - b))
  })

  it('keep the last good version when one is broken, and say why', async () => {
    await published.publish(BROKEN)
    await until(() => one.app.policy.faults.length > 0 && two.app.policy.faults.length > 0)
    expect(await both(1)).to.equal(true)
    const refused = one.log.filter(({ msg }) => msg === 'policy refused; the previous policy stays in force')
    expect(refused).to.have.length(1)
    expect(JSON.stringify(refused)).to.contain('database:2/policy.csv').and.to.contain('rule-kind')
    const ready = await one.ask('GET', '/readyz', { token: await one.token('ada', 'admin') })
    expect([ready.status, ready.body.status]).to.deep.equal([200, 'degraded'])
    expect(ready.body.checks.policy.detail).to.contain('policy.csv')
  })

  it('take blocks within a second while a version is broken, and the next good version', async () => {
    await published.publish(BROKEN)
    await until(() => one.app.policy.faults.length > 0)
    const status = async (server: TestServer, subject = 'mallory') =>
      (await server.ask('GET', '/api/v1/notes', { token: await server.token(subject, 'member') })).status
    await onceWithinASecond(async (i) => {
      const subject = i === 1 ? 'mallory' : `mallory${i}`
      await published.block(subject)
      return async () => (await status(one, subject)) === 403 && (await status(two, subject)) === 403
    })
    // The version with the block isn't in force as a whole.
    expect(await both(1)).to.equal(true)
    const good = await published.publish('# good\n')
    await until(() => both(good))
    expect([await status(one), await status(two)]).to.deep.equal([403, 403])
    expect(one.app.policy.faults).to.deep.equal([])
  })

  it('answer a request that needs a version as soon as they have it, and 503 before', async () => {
    const ask = (number: string) => one.ask('GET', '/livez', { headers: { 'policy-sequence-at-least': number } })
    expect((await ask('1')).status).to.equal(200)
    expect((await ask('0')).status).to.equal(200)
    const behind = await ask('2')
    expect([behind.status, behind.body.code]).to.deep.equal([503, 'policy-behind'])
    expect(behind.headers.get('retry-after')).to.equal('1')
    expect(behind.headers.get('policy-sequence')).to.equal('1')
    await published.publish('# other\n')
    await until(async () => (await ask('2')).status === 200)
    for (const number of ['', 'x', '-1', '1.5', '1, 2', '9'.repeat(16)]) {
      const { status, body } = await ask(number)
      expect([number, status, body.code]).to.deep.equal([number, 400, 'invalid-policy-sequence'])
    }
  })

  it('show the number to pages of other origins', async () => {
    const origin = 'https://app.example.com'
    const server = await published.start({ CORS_ORIGINS: origin })
    const { headers } = await server.ask('GET', '/livez', { headers: { origin } })
    expect(headers.get('access-control-expose-headers')).to.contain('Policy-Sequence')
    const preflight = { origin, 'access-control-request-method': 'GET' }
    const answer = await server.ask('OPTIONS', '/livez', { headers: preflight })
    expect(answer.headers.get('access-control-allow-headers')).to.contain('Policy-Sequence-At-Least')
  })

  it('keep a number whose files are those before, and forget themselves when they end', async () => {
    await published.publish('')
    await until(() => both(2))
    expect(one.log.filter(({ msg }) => msg === 'policy activated')).to.deep.equal([])
    const versions = await published.versions()
    const told = async () => (await versions.instances()).map(({ state }) => JSON.parse(state).sequence)
    // Both servers run in one process, so they have one name.
    await until(async () => String(await told()) === '2')
    await published.stop()
    expect(await told()).to.deep.equal([])
    await versions.close()
  })
})

describe('a server with a policy folder', () => {
  it('sends no number, and refuses a request that needs one', async () => {
    const server = await startTestServer()
    const { headers } = await server.ask('GET', '/livez')
    expect(headers.has('policy-sequence')).to.equal(false)
    for (const number of ['0', '1', 'x']) {
      const { status, body } = await server.ask('GET', '/livez', { headers: { 'policy-sequence-at-least': number } })
      expect([status, body.code]).to.deep.equal([400, 'invalid-policy-sequence'])
    }
    await server.stop()
  })
})

describe('an instance that can not read the published policy', () => {
  let published: PublishedPolicies
  beforeEach(async () => {
    published = await PublishedPolicies.make()
    await published.publish()
  })
  afterEach(() => published.remove())

  const lose = () => published.tamper('alter table policy_versions rename to away')
  const find = () => published.tamper('alter table away rename to policy_versions')

  it('decides by the last good one for POLICY_MAX_AGE, says so, then answers 503 until it can', async () => {
    const server = await published.start({ POLICY_MAX_AGE: '2s' })
    const status = async (path: string) => (await server.ask('GET', path)).status
    lose()
    const lost = performance.now()
    await until(() => server.log.some(({ msg }) => String(msg).startsWith("the published policy can't be read; ")))
    expect(await status('/api/v1/notes')).to.equal(401)
    await until(async () => (await status('/api/v1/notes')) === 503)
    expect(performance.now() - lost).to.be.greaterThan(1500)
    const refused = await server.ask('GET', '/api/v1/notes')
    expect([refused.body.code, refused.headers.get('retry-after')]).to.deep.equal(['policy-expired', '5'])
    expect([await status('/livez'), await status('/readyz')]).to.deep.equal([200, 503])
    await until(() => server.log.some(({ msg }) => String(msg).startsWith('the policy may be out of date')))
    find()
    await until(async () => (await status('/api/v1/notes')) === 401)
    await until(() => server.log.some(({ msg }) => msg === 'the published policy can be read again'))
    await published.publish('# other\n')
    await until(async () => (await sequenceOf(server)) === 2)
  })

  it('counts the age by the clock of the system too, which goes on while a machine sleeps', async () => {
    let ahead = 0
    const server = await published.start({}, { now: () => new Date(Date.now() + ahead) })
    lose()
    await until(() => server.log.some(({ level }) => level === 50))
    const ask = () => server.ask('GET', '/api/v1/notes')
    ahead = 4 * 60_000
    expect((await ask()).status).to.equal(401)
    ahead = 6 * 60_000
    expect((await ask()).body.code).to.equal('policy-expired')
  })

  it('is not taken for one without the channel when only the clock jumps', async () => {
    let ahead = 0
    const server = await published.start({}, { now: () => new Date(Date.now() + ahead) })
    ahead = 6 * 60_000
    await sleep(600)
    expect((await server.ask('GET', '/api/v1/notes')).status).to.equal(401)
  })
})
