/** A decision record explained under the files that made it: it would be the same, whatever it was that decided. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Rule } from '../../../src/decide/policy.ts'
import type { Explanation } from '../../../src/tools/explain/explanation.ts'
import { explainRecord, readRecord } from '../../../src/tools/explain/record.ts'
import { type LoadedPolicy, loadPolicy } from '../../../src/tools/load-policy.ts'
import { ruledBy, withoutSteps, withRules } from '../../policy-text.ts'
import { startTestServer, type TestServer } from '../../server.ts'

const POLICIES = new URL('../../../policies/', import.meta.url)

const isReading = ({ actions }: Rule) => actions.includes('list') || actions.includes('read')

const RULES = `
p, anonymous, orders, update, any, progress, allow
p, user:zed, orders, update, any, progress, allow
p, user:zed, orders, read, draft, *, allow
`

describe('a decision record under its own files', () => {
  let server: TestServer
  let reviewed: LoadedPolicy
  let draft: string

  before(async () => {
    const shipped = (name: string) => readFile(new URL(name, POLICIES), 'utf8')
    const ownership = (await shipped('ownership.yaml')).replace('notes:\n', 'notes:\n  conceal: true\n')
    const rules = withRules(withoutSteps(await shipped('policy.csv')), RULES)
    server = await startTestServer({
      demo: true,
      files: { 'policies/ownership.yaml': ownership, 'policies/policy.csv': rules },
    })
    reviewed = await loadPolicy(join(server.folder, 'policies'), server.app.resources)
    draft = (await as('alice', 'member', 'GET', '/api/orders?status=draft')).body.items[0].id
  })
  after(() => server.stop())

  it('is the same where the object, as it would become, was the reason', async () => {
    const { body } = await as('alice', 'member', 'GET', '/api/v1/notes?limit=1')
    const gift = { title: 'a gift', ownerId: 'bob' }
    expect((await as('alice', 'member', 'PUT', `/api/v1/notes/${body.items[0].id}`, gift)).status).to.equal(403)
    const { answer, record } = await explained('PUT')
    expect([answer?.status, record?.sameOutcome]).to.deep.equal([403, true])
  })

  it('is the same where the caller has no credentials and names a field that is not open', async () => {
    const { status } = await server.ask('PATCH', `/api/orders/${draft}`, {
      body: [{ op: 'test', path: '/status', value: 'draft' }],
      headers: { 'content-type': 'application/json-patch+json' },
    })
    expect(status).to.equal(401)
    expect((await explained('PATCH')).record?.sameOutcome).to.equal(true)
    expect((await server.ask('PATCH', `/api/orders/${draft}`, { body: { note: 'n' } })).status).to.equal(401)
    const { answer, record } = await explained('PATCH')
    expect([answer?.status, record?.sameOutcome]).to.deep.equal([401, true])
  })

  it('is the same where the answer has no body, because the caller may not read what the object became', async () => {
    expect((await as('zed', 'ghost', 'PATCH', `/api/orders/${draft}`, { status: 'placed' })).status).to.equal(204)
    expect((await explained('PATCH')).record).to.include({ sameOutcome: true, status: 204 })
  })

  it('is another one where another problem is the answer, be it with the same status', async () => {
    await as('sam', 'support', 'PATCH', `/api/orders/${draft}`, { note: 'n' })
    expect((await explained('PATCH')).record?.sameOutcome).to.equal(true)
    const rules = reviewed.policy.rules.filter(({ actions }) => !actions.includes('update'))
    const { record } = await explained('PATCH', ruledBy(reviewed, rules))
    expect(record?.verdict).to.equal('these files give another answer: 403 forbidden instead of 403 field-forbidden')
  })

  it('tells the answer of the record where something other than the policy refused the request', async () => {
    const { body } = await as('alice', 'member', 'GET', '/api/v1/notes?limit=1')
    const path = `/api/v1/notes/${body.items[0].id}`
    const token = await server.token('alice', 'member')
    const rules = reviewed.policy.rules.filter(({ actions }) => !actions.includes('update'))
    const readOnly = ruledBy(reviewed, rules)
    for (const [status, problem, sent] of [
      [412, 'precondition-failed', { body: { title: 'new' }, headers: { 'if-match': '"other"' } }],
      [400, 'invalid-body', { body: { title: '' } }],
    ] as const) {
      expect((await server.ask('PATCH', path, { token, ...sent })).status).to.equal(status)
      const { outcome, answer, reason, record } = await explained('PATCH')
      expect([outcome, answer?.status, record?.sameOutcome]).to.deep.equal(['allow', status, null])
      expect(reason).to.contain('the policy allows it')
      expect((await explained('PATCH', readOnly)).record?.verdict).to.equal(
        `these files give another answer: 403 forbidden instead of ${status} ${problem}`,
      )
    }
  })

  it('tells a query that the policy refused, and whether these files would', async () => {
    await as('sam', 'support', 'GET', '/api/users?department=x')
    const { answer, record } = await explained('GET')
    expect([answer?.status, record?.sameOutcome]).to.deep.equal([400, true])
    const open = reviewed.policy.rules.map((rule) => (isReading(rule) ? { ...rule, views: ['*'] } : rule))
    const opened = await explained('GET', ruledBy(reviewed, open))
    expect(opened.record).to.include({
      sameOutcome: false,
      verdict: 'these files allow it: 200 instead of 400',
    })
    await as('sam', 'support', 'GET', '/api/users?nothing=x')
    expect((await explained('GET')).record?.sameOutcome, 'at fault in itself').to.equal(null)
  })

  async function as(subject: string, role: string, method: string, path: string, body?: unknown) {
    return server.ask(method, path, { token: await server.token(subject, role), body })
  }

  /** The last record of a request with this method. */
  async function explained(method: string, files = reviewed): Promise<Explanation> {
    const last = await server.lastDecision({ method })
    const lines = (async function* () {
      yield JSON.stringify(last)
    })()
    const record = await readRecord(lines, 'the log')
    return explainRecord(record, { reviewed: files, resources: server.app.resources, now: undefined })
  }
})
