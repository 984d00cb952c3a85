/** One caller fills a share of the decision log, and never pushes out what others did in the newest day. */
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import type { DecisionRecord } from '../../src/decision-log/decision-record.ts'
import { LogShares } from '../../src/decision-log/log-shares.ts'
import { startTestServer, type TestServer } from '../server.ts'

const DAY_MS = 86_400_000
const LIMITS = 'body: 100kb\npage: { default: 50, max: 200 }\nlimits: {}\n'
const NAMES = Array.from({ length: 93 }, (_, i) => `${i}`.padEnd(1003, 'x'))

describe('the share of the decision log that one caller may fill', () => {
  let server: TestServer
  const start = async (env: Record<string, string>) => {
    server = await startTestServer({ demo: true, files: { 'policies/limits.yaml': LIMITS }, env })
  }
  afterEach(() => server.stop())

  const askAll = async (token: string, body: object) =>
    server.ask('POST', '/access/v1/evaluations', { token, body: { ...body, evaluations: Array(1000).fill({}) } })
  const READ = { subject: { type: 'user', id: 'alice' }, action: { name: 'read' } }
  const lines = () => {
    const file = `${server.folder}/data/decisions.log`
    const textOf = (name: string) => {
      try {
        return readFileSync(name, 'utf8')
      } catch {
        return ''
      }
    }
    return [3, 2, 1].map((number) => textOf(`${file}.${number}`)).join('') + textOf(file)
  }

  it('is used up by batches, whose records stay small; then the caller is 429, and the others are served', async () => {
    await start({ DECISION_LOG_MAX: '200kb', DECISION_LOG_KEEP: '3' })
    const [service, alice] = await Promise.all([server.token('service', 'pdp-client'), server.token('alice', 'member')])
    expect((await server.ask('GET', '/api/v1/notes?limit=7', { token: alice })).status).to.equal(200)
    const batch = { ...READ, resource: { type: 'notes', id: 'none' }, context: { fields: NAMES } }
    const statuses: number[] = []
    for (let i = 0; i < 300; i++) {
      const { status, body } = await (i < 14 ? askAll(service, batch) : askAll(service, READ))
      statuses.push(status)
      if (status === 429) expect(body['violated-policies']).to.deep.equal(['decision-log'])
    }
    expect(statuses.slice(0, 2)).to.deep.equal([200, 200])
    expect(statuses.at(-1)).to.equal(429)
    const log = lines()
    expect(log, 'the neighbour before').to.include('"subject":"alice"')
    expect(log).not.to.include(NAMES[0])
    expect((await server.ask('GET', '/api/v1/notes', { token: alice })).status).to.equal(200)
    const refused = log.split('\n').filter((line) => line.includes('quota-exceeded'))
    expect(refused.length).to.be.within(100, 120)
    expect(Math.max(...refused.map((line) => line.length))).to.be.below(1000)
    expect(server.log.filter((one) => String(one.msg).startsWith('a caller has written its share'))).to.have.length(1)
  })

  it('leaves what others did, also if its address goes on without credentials and with refusals', async () => {
    await start({ DECISION_LOG_MAX: '100kb', DECISION_LOG_KEEP: '3' })
    const [bob, alice] = await Promise.all([server.token('bob', 'member'), server.token('alice', 'member')])
    expect((await server.ask('GET', '/api/v1/notes?limit=7', { token: alice })).status).to.equal(200)
    for (const options of [{ token: bob }, {}]) {
      let last = 0
      for (let i = 0; i < 2000 && last !== 429; i += 1) {
        last = (await server.ask('GET', '/api/v1/notes/none', options)).status
      }
      expect(last).to.equal(429)
    }
    for (let i = 0; i < 300; i += 1) await server.ask('GET', '/api/v1/notes/none', { token: bob })
    expect(lines()).to.include('"subject":"alice"')
  })

  it('does not exist where no file is deleted', async () => {
    await start({ DECISION_LOG_MAX: '1gb' })
    const token = await server.token('service', 'pdp-client')
    for (let i = 0; i < 5; i++) expect((await askAll(token, READ)).status).to.equal(200)
  })
})

describe('shares of the log', () => {
  const record = { time: '', method: 'GET', status: 429, problem: 'quota-exceeded', address: '::1' } as DecisionRecord

  it('are counted for a day, by caller or else by address, and end', () => {
    let now = 0
    const shares = new LogShares({ share: 1000, now: () => now })
    shares.spend('s:a', 1000)
    expect(shares.waitMs('s:a')).to.be.within(1, DAY_MS * 1.06)
    expect(shares.waitMs('s:b')).to.equal(0)
    expect(shares.waitMs('a:a')).to.equal(0)
    now = DAY_MS - 1
    expect(shares.waitMs('s:a')).to.be.above(0)
    now = DAY_MS * 1.06
    expect(shares.waitMs('s:a')).to.equal(0)
  })

  it('tell a flood of refusals in few records, whose numbers add up', () => {
    let now = 0
    const shares = new LogShares({ share: 1000, now: () => now })
    const written = Array.from({ length: 100_000 }, () => shares.toWrite(record)).filter((one) => one !== undefined)
    expect(written.length).to.be.within(100, 120)
    now = 60_000
    const last = shares.toWrite(record)
    const told = [...written, last].reduce((sum, one) => sum + (one?.repeated ?? 1), 0)
    expect(told).to.equal(100_001)
  })

  it('have no hundred refusals a minute once they are full, and have them again when they are not', () => {
    let now = 0
    const shares = new LogShares({ share: 1000, now: () => now })
    const recordedInAnHour = () => {
      let recorded = 0
      for (let minute = 0; minute < 60; minute += 1, now += 60_000) {
        for (let i = 0; i < 1000; i += 1) if (shares.toWrite(record)) recorded += 1
      }
      return recorded
    }
    expect(recordedInAnHour()).to.be.within(60 * 100, 60 * 120)
    shares.spend('a:::1', 1000)
    expect(recordedInAnHour()).to.be.below(120)
    now += 2 * DAY_MS
    expect(recordedInAnHour()).to.be.within(60 * 100, 60 * 120)
  })

  it('leave every record alone on standard output, and every other refusal anywhere', () => {
    const unbounded = new LogShares({ share: Number.POSITIVE_INFINITY })
    const bounded = new LogShares({ share: 1 })
    unbounded.spend('s:a', 1e12)
    expect(unbounded.waitMs('s:a')).to.equal(0)
    for (let i = 0; i < 1000; i++) {
      expect(unbounded.toWrite(record)).to.equal(record)
      const other = { ...record, problem: 'forbidden' }
      expect(bounded.toWrite(other)).to.equal(other)
    }
  })
})
