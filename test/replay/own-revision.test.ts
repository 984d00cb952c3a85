/** A record holds all that a decision needs: replayed under the policy that made it, every record gives its own outcome. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { expect } from 'chai'
import { decideAgain, type ReplayPolicy } from '../../src/analysis/replay/decide-again.ts'
import { parseRecord } from '../../src/decision-log/decision-record.ts'
import { openCandidate, type ReplayReport, replay } from '../../src/tools/replay/replay.ts'
import { withRules } from '../policy-text.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { askEverything } from './requests.ts'

describe('the log of a server that was asked everything', () => {
  let server: TestServer
  let asked: number

  before(async () => {
    server = await startTestServer({ demo: true })
    await writeFile(join(server.folder, 'policies/blocked.txt'), 'user:mallory\n')
    await server.app.policy.reload()
    asked = await askEverything(server)
    await server.decisions()
  })
  after(() => server.stop())

  const replayed = async (candidate: string): Promise<ReplayReport> => {
    return replayAll(await openCandidate(candidate, server.app.resources), server)
  }

  it('has a record of each request, of every kind of end', async () => {
    const records = await server.decisions()
    expect(records.length).to.be.at.least(asked)
    const codes = new Set(records.map(({ problem }) => problem))
    for (const code of [
      'forbidden',
      'blocked',
      'field-forbidden',
      'object-not-found',
      'credentials-missing',
      'invalid-body',
    ]) {
      expect([...codes]).to.include(code)
    }
    const statuses = new Set(records.map(({ status }) => status))
    expect([...statuses]).to.include.members([200, 201, 204, 400, 401, 403, 404, 405])
  })

  it('has records that fit their schema, every one', async () => {
    const schema = JSON.parse(
      await readFile(new URL('../../docs/schemas/decision-record.schema.json', import.meta.url), 'utf8'),
    )
    const ajv = new Ajv2020({ strict: true, allowUnionTypes: true })
    addFormats.default(ajv)
    const fits = ajv.compile(schema)
    const records = await server.decisions()
    expect(records.filter((record) => !fits(record)).slice(0, 3)).to.deep.equal([])
    expect(fits({ ...records[0], body: 'x' })).to.equal(false)
    expect(fits({ ...records[0], facts: { secret: 1 } })).to.equal(false)
  })

  it('gives its own outcomes again, and leaves nothing undecided', async () => {
    const report = await replayed(join(server.folder, 'policies'))
    expect(report.groups).to.deep.equal([])
    expect([...report.undecidable]).to.deep.equal([])
    expect(report.otherLines).to.equal(0)
    expect(report.same).to.equal(report.decided)
    expect(report.decided).to.be.greaterThan(asked / 4)
  })

  it('shows a caller who was refused as blocked, and whom the policy does not block', async () => {
    const policy = await openCandidate(join(server.folder, 'policies'), server.app.resources)
    const open = { ...policy, policyAt: (time: number) => ({ ...policy.policyAt(time), blocked: new Map() }) }
    const records = await server.decisions()
    const record = parseRecord(JSON.stringify(records.find((one) => one.problem === 'blocked')))
    if (!record) throw new Error('nobody was blocked')
    const again = [await decideAgain(policy, record), await decideAgain(open, record)]
    expect(again.map(({ kind }) => kind)).to.deep.equal(['refused', 'allowed'])
  })
})

describe('the log of a server whose rules compare the callers', () => {
  let server: TestServer
  before(async () => {
    const [ownership, rules] = await Promise.all(
      ['ownership.yaml', 'policy.csv'].map((name) =>
        readFile(new URL(`../../policies/${name}`, import.meta.url), 'utf8'),
      ),
    )
    const colleague = '    colleague: { field: department, equals: subject.department }\n'
    const files = {
      'policies/ownership.yaml': ownership + colleague,
      'policies/policy.csv': withRules(rules ?? '', 'p, member, users, read, colleague, public, allow'),
    }
    server = await startTestServer({ demo: true, files })
  })
  after(() => server.stop())

  it('is decided again also where a request ended before caller and object were compared', async () => {
    const token = await server.token('alice', 'member')
    const answers = [
      await server.ask('OPTIONS', '/api/users', { token }),
      await server.ask('POST', '/api/users', { token, body: {} }),
      await server.ask('GET', '/api/users/nobody', { token }),
      await server.ask('GET', '/api/users/bob', { token }),
    ]
    expect(answers.map(({ status }) => status)).to.deep.equal([204, 403, 404, 403])
    await server.decisions()
    const replayPolicy = await openCandidate(join(server.folder, 'policies'), server.app.resources)
    const { decided, same, undecidable } = await replayAll(replayPolicy, server)
    expect({ decided, same, undecidable: [...undecidable] }).to.deep.equal({ decided: 4, same: 4, undecidable: [] })
  })
})

describe('the log of a server that refused a PUT because of its fields', () => {
  let server: TestServer
  before(async () => {
    const rules = await readFile(new URL('../../policies/policy.csv', import.meta.url), 'utf8')
    const files = { 'policies/policy.csv': withRules(rules, 'p, pdp-client, orders, replace, any, progress, allow') }
    server = await startTestServer({ demo: true, files })
  })
  after(() => server.stop())

  it('says which fields it would remove, so that it is refused again', async () => {
    const order = { customerId: 'alice', currency: 'EUR', items: [] }
    await server.app.seeding.insert('orders', [{ id: 'o1', document: order }])
    const token = await server.token('service', 'pdp-client')
    const { status } = await server.ask('PUT', '/api/orders/o1', { token, body: { status: 'placed', currency: 'USD' } })
    expect(status).to.equal(403)
    const record = await server.lastDecision({ method: 'PUT' })
    expect(record?.problem).to.equal('field-forbidden')
    expect(record?.facts).to.include.keys('named', 'removed')
    const replayPolicy = await openCandidate(join(server.folder, 'policies'), server.app.resources)
    const { decided, same, groups } = await replayAll(replayPolicy, server)
    expect({ decided, same, groups }).to.deep.equal({ decided, same: decided, groups: [] })
    expect(decided).to.be.above(0)
  })
})

function replayAll(candidate: ReplayPolicy, { folder }: TestServer): Promise<ReplayReport> {
  const files = [join(folder, 'data/decisions.log')]
  const always = { since: Number.NEGATIVE_INFINITY, until: Number.POSITIVE_INFINITY }
  const policies = { candidate, baseline: undefined }
  return replay(policies, { files, ...always, maxExamples: 3, onProgress: () => undefined })
}
