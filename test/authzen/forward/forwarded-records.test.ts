/** The decision records of forwarded requests: decided again and explained at the role level, where they were decided. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { compare } from '../../../src/analysis/replay/compare.ts'
import { decideAgain } from '../../../src/analysis/replay/decide-again.ts'
import type { DecisionRecord } from '../../../src/decision-log/decision-record.ts'
import { explainRecord } from '../../../src/tools/explain/record.ts'
import { loadPolicy } from '../../../src/tools/load-policy.ts'
import { openCandidate } from '../../../src/tools/replay/replay.ts'
import { addRules } from '../../policy-text.ts'
import { type AskedServer, ask, startAskedServer } from './asking.ts'

/** The application's, and kept there. */
const PAGES = {
  title: 'Page',
  type: 'object',
  'x-resource': {
    external: true,
    routes: [
      { path: '/pages', methods: ['GET'] },
      { path: '/pages/{id}', methods: ['GET', 'DELETE'] },
      { path: '/pages/{id}/publish', methods: ['POST'], action: 'publish' },
    ],
  },
  properties: { id: { type: 'string', readOnly: true }, author: { type: 'string', maxLength: 64 } },
  additionalProperties: false,
}

const RULES = 'p, everyone, pages, list, any, *, allow\np, member, pages, read|publish, author, *, allow\n'

describe('a forwarded request about what is kept elsewhere', () => {
  let server: AskedServer
  let tokens: { readonly member: string; readonly auditor: string }
  const status = async (method: string, uri: string, token?: string) => {
    const { key, url } = server
    return (await ask(url, { key, method, uri, ...(token === undefined ? {} : { token }) })).status
  }

  before(async () => {
    const ownership = await readFile(new URL('../../../policies/ownership.yaml', import.meta.url), 'utf8')
    const files = {
      'schemas/pages.json': JSON.stringify(PAGES),
      'policies/ownership.yaml': `${ownership}pages:\n  relations:\n    author: author\n`,
    }
    server = await startAskedServer({ files }, RULES)
    tokens = { member: await server.token('mia', 'member'), auditor: await server.token('audrey', 'auditor') }
  })

  after(() => server.stop())

  it('is decided at the role level: by its route, whoever the author is', async () => {
    expect(await status('GET', '/pages')).to.equal(204)
    expect(await status('GET', '/pages/7')).to.equal(401)
    expect(await status('GET', '/pages/7', tokens.auditor)).to.equal(403)
    expect(await status('GET', '/pages/7', tokens.member)).to.equal(204)
    expect(await status('POST', '/pages/7/publish', tokens.member)).to.equal(204)
    expect(await status('DELETE', '/pages/7', tokens.member)).to.equal(403)
    expect(await status('PUT', '/pages/7', tokens.member)).to.equal(405)
    // The server itself has no such path.
    expect((await server.ask('GET', '/pages', { token: tokens.member })).status).to.equal(404)
  })

  it('is decided again by replay: the same under the same policy, and another way under another', async () => {
    const records = (await server.decisions()).filter(
      ({ forwarded, problem }) => forwarded !== undefined && problem !== 'method-not-allowed',
    ) as unknown as readonly DecisionRecord[]
    expect(records.length).to.be.greaterThan(5)
    const again = async (record: DecisionRecord) => {
      const decided = await decideAgain(
        await openCandidate(join(server.folder, 'policies'), server.app.resources),
        record,
      )
      if (decided.kind === 'undecidable' || decided.kind === 'unconcerned') return decided.kind
      return compare(record, decided)?.change ?? 'same'
    }
    expect(await Promise.all(records.map(again))).to.deep.equal(records.map(() => 'same'))
    await addRules(join(server.folder, 'policies/policy.csv'), 'p, auditor, pages, read, author, *, allow')
    const changes = await Promise.all(records.map(again))
    expect(changes.filter((one) => one !== 'same')).to.deep.equal(['allowed-now'])
  })

  it('is explained without an object: the application has it', async () => {
    const { decisions, app, folder } = server
    const reviewed = await loadPolicy(join(folder, 'policies'), app.resources)
    const files = { reviewed, resources: app.resources, now: undefined }
    const asked = (await decisions()).filter(
      ({ forwarded, problem }) => forwarded !== undefined && problem === undefined,
    )
    const verdicts = await Array.fromAsync(
      asked,
      async (record) => (await explainRecord(record as never, files)).record,
    )
    expect(verdicts.map((one) => one?.sameOutcome)).to.deep.equal([true, null, null])
    expect(verdicts[1]?.verdict).to.equal('with these files the answer depends on the object')
  })
})
