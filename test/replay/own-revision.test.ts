/** A record holds all that a decision needs: replayed under the policy that made it, every record gives its own outcome. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { expect } from 'chai'
import { openCandidate } from '../../src/replay/candidate.ts'
import { type ReplayReport, replay } from '../../src/replay/replay.ts'
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
  }).timeout(60_000)
  after(() => server.stop())

  const replayed = async (candidate: string): Promise<ReplayReport> => {
    const bench = await openCandidate(candidate, server.app.resources)
    const files = [join(server.folder, 'data/decisions.log')]
    const always = { since: Number.NEGATIVE_INFINITY, until: Number.POSITIVE_INFINITY }
    return replay(bench, { files, ...always, maxExamples: 3, onProgress: () => undefined })
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
    expect(report.decided).to.be.greaterThan(asked / 3)
  })
})
