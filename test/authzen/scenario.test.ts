/**
 * The certification scenario of the AuthZEN Authorization API 1.0, over real HTTP: its fixture in this folder, its tests by
 * level, its section numbers. docs/authzen.md says what that is worth: it isn't the official suite.
 */
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { type Answer, startTestServer, type TestServer } from '../server.ts'

const HERE = new URL('.', import.meta.url).pathname
const BASE = 'https://pdp.example.com'

const ALICE = { type: 'user', id: 'alice' }
const BOB = { type: 'user', id: 'bob' }
const ADMIN_BOB = { ...BOB, properties: { role: 'admin' } }
const READ = { name: 'read' }
const WRITE = { name: 'write' }
const ACTIVE = { type: 'record', id: 'record-1' }
const ARCHIVED = { type: 'record', id: 'record-2' }
const TOLD_ACTIVE = { ...ACTIVE, properties: { status: 'active' } }
const TOLD_ARCHIVED = { ...ARCHIVED, properties: { status: 'archived' } }
const CONTEXT = { time: '2025-06-27T18:03-07:00', ip: '192.168.1.1' }

type Body = Readonly<Record<string, unknown>>

describe('the certification scenario of AuthZEN 1.0', () => {
  let server: TestServer
  let token: string

  before(async () => {
    server = await startTestServer({
      env: { POLICIES: `${HERE}policies`, SCHEMAS: `${HERE}schemas`, PUBLIC_URL: BASE },
    })
    const { seeding } = server.app
    await seeding.insert('record', [
      { id: 'record-1', document: { status: 'active' } },
      { id: 'record-2', document: { status: 'archived' } },
    ])
    await seeding.insert('users', [
      { id: 'alice', document: { email: 'alice@example.com', displayName: 'Alice', roles: ['member'] } },
      { id: 'bob', document: { email: 'bob@example.com', displayName: 'Bob', roles: ['admin'] } },
    ])
    token = await server.token('suite', 'pdp-client')
  })
  after(() => server.stop())

  const post = (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
    server.ask('POST', `/access/v1/${path}`, { token, body, headers })

  async function decision(body: Body, path = 'evaluation'): Promise<boolean> {
    const answer = await post(path, body)
    expect([answer.status, typeof answer.body.decision], answer.text).to.deep.equal([200, 'boolean'])
    expect(answer.headers.get('content-type')).to.match(/^application\/json/)
    return answer.body.decision
  }

  async function decisions(body: Body): Promise<readonly boolean[]> {
    const { status, body: answer, text } = await post('evaluations', body)
    expect([status, 'decision' in answer], text).to.deep.equal([200, false])
    return answer.evaluations.map((one: { decision: boolean }) => one.decision)
  }

  async function results(kind: 'subject' | 'resource' | 'action', body: Body): Promise<readonly Body[]> {
    const { status, body: answer, text } = await post(`search/${kind}`, body)
    expect(status, text).to.equal(200)
    return answer.results
  }

  describe('Basic Core', () => {
    const rows: readonly (readonly [string, Body, boolean])[] = [
      ['rule 1: alice reads record-1', { subject: ALICE, action: READ, resource: ACTIVE }, true],
      ['rule 2: alice writes record-1', { subject: ALICE, action: WRITE, resource: ACTIVE }, true],
      ['rule 3: bob reads record-1', { subject: BOB, action: READ, resource: ACTIVE }, true],
      ['rule 4: bob does not write record-1', { subject: BOB, action: WRITE, resource: ACTIVE }, false],
    ]
    for (const [rule, body, expected] of rows) {
      it(`${rule} (2.2.1, 2.2.2), whatever the context (2.2.3)`, async () => {
        expect(await decision(body)).to.equal(expected)
        expect(await decision({ ...body, context: CONTEXT })).to.equal(expected)
      })
    }

    it('accepts more properties (2.2.8) and unknown members (2.2.9)', async () => {
      const more = {
        subject: { ...ALICE, properties: { department: 'Sales', role: 'manager' } },
        action: { ...READ, properties: { method: 'GET' } },
        resource: { ...ACTIVE, properties: { status: 'active', owner: 'bob' } },
      }
      expect(await decision(more)).to.equal(true)
      const unknown = { foo: 'bar', futureField: { nested: true } }
      expect(await decision({ subject: ALICE, action: READ, resource: ACTIVE, ...unknown })).to.equal(true)
    })

    const whole = { subject: ALICE, action: READ, resource: ACTIVE }
    const faulty: Readonly<Record<string, unknown>> = {
      'no subject': { action: READ, resource: ACTIVE },
      'no action': { subject: ALICE, resource: ACTIVE },
      'no resource': { subject: ALICE, action: READ },
      'a subject without a type': { ...whole, subject: { id: 'alice' } },
      'a subject without an id': { ...whole, subject: { type: 'user' } },
      'an action without a name': { ...whole, action: {} },
      'a resource without a type': { ...whole, resource: { id: 'record-1' } },
      'a resource without an id': { ...whole, resource: { type: 'record' } },
      'a subject that is a text': { ...whole, subject: 'alice' },
      'an action whose name is a number': { ...whole, action: { name: 123 } },
      'text that is not JSON': '{ "subject": ',
      'an empty body': '',
      'a list at the top': [whole],
    }
    for (const [fault, body] of Object.entries(faulty)) {
      it(`is 400 for ${fault} (2.4)`, async () => expect((await post('evaluation', body)).status).to.equal(400))
    }

    it('refuses another Content-Type (2.4.3; 415, which the suite accepts beside 400), and takes a charset', async () => {
      const asText = await post('evaluation', JSON.stringify(whole), { 'content-type': 'text/plain' })
      expect(asText.status).to.equal(415)
      const charset = await post('evaluation', whole, { 'content-type': 'application/json; charset=utf-8' })
      expect([charset.status, charset.body.decision]).to.deep.equal([200, true])
    })

    it('refuses other methods, and a service that does not prove itself', async () => {
      for (const method of ['GET', 'PUT']) {
        const body = method === 'PUT' ? { body: whole } : {}
        expect((await server.ask(method, '/access/v1/evaluation', { token, ...body })).status).to.equal(405)
      }
      const anonymous = await server.ask('POST', '/access/v1/evaluation', { body: whole })
      expect([anonymous.status, anonymous.headers.has('www-authenticate')]).to.deep.equal([401, true])
    })

    it('returns the X-Request-ID of the request, on errors too, and does without one (2.5)', async () => {
      for (const [path, body] of [
        ['evaluation', whole],
        ['evaluation', {}],
        ['evaluations', whole],
        ['search/action', { subject: ALICE, resource: ACTIVE }],
      ] as const) {
        const answer = await post(path, body, { 'x-request-id': 'bfe9eb29-ab87-4ca3-be83' })
        expect(answer.headers.get('x-request-id'), path).to.equal('bfe9eb29-ab87-4ca3-be83')
      }
      expect((await post('evaluation', whole)).status).to.equal(200)
    })

    it('gives the same answer again (2.6)', async () => {
      for (let i = 0; i < 3; i++) expect(await decision(whole)).to.equal(true)
    })
  })

  describe('Basic Properties', () => {
    const deletion = (soft: boolean) => ({ name: 'delete', properties: { soft } })
    const rows: readonly (readonly [string, Body, boolean])[] = [
      ['2.2.4, rule 5: archived', { subject: ALICE, action: WRITE, resource: TOLD_ARCHIVED }, false],
      ['2.2.5, rule 6: admin', { subject: ADMIN_BOB, action: WRITE, resource: TOLD_ARCHIVED }, true],
      ['2.2.6, rule 7: soft delete', { subject: ALICE, action: deletion(true), resource: ACTIVE }, true],
      ['2.2.7, rule 8: hard delete', { subject: ALICE, action: deletion(false), resource: ACTIVE }, false],
    ]
    for (const [rule, body, expected] of rows) {
      it(`decides by ${rule}, whatever the context`, async () => {
        expect(await decision(body)).to.equal(expected)
        expect(await decision({ ...body, context: CONTEXT })).to.equal(expected)
      })
    }

    it('decides by what is stored: a role or a status that is only claimed changes nothing', async () => {
      const claimed = { ...ALICE, properties: { role: 'admin' } }
      expect(await decision({ subject: claimed, action: WRITE, resource: TOLD_ARCHIVED })).to.equal(false)
      const moved = { ...ARCHIVED, properties: { status: 'active' } }
      expect(await decision({ subject: ALICE, action: WRITE, resource: moved })).to.equal(false)
    })
  })

  describe('Batch Core', () => {
    it('answers each item in order, with defaults (3.2.1, 3.2.2, 3.3)', async () => {
      const reads = { subject: ALICE, action: READ, evaluations: [{ resource: ACTIVE }, { resource: ARCHIVED }] }
      expect(await decisions(reads)).to.have.length(2)
      const both = { subject: BOB, resource: ACTIVE, evaluations: [{ action: READ }, { action: WRITE }] }
      expect(await decisions(both)).to.deep.equal([true, false])
    })

    it('answers whole items (3.2.5), and passes the context on (3.2.6)', async () => {
      const evaluations = [
        { subject: ALICE, action: READ, resource: ACTIVE },
        { subject: BOB, action: WRITE, resource: ACTIVE },
      ]
      expect(await decisions({ evaluations })).to.deep.equal([true, false])
      const items = [{ resource: ACTIVE }, { resource: ARCHIVED, context: { source: 'batch-override' } }]
      expect(await decisions({ subject: ALICE, action: READ, context: CONTEXT, evaluations: items })).to.have.length(2)
    })

    it('is false for an item that is no evaluation, and answers the others (3.4.1)', async () => {
      const items = { subject: ALICE, action: READ, evaluations: [{ resource: ACTIVE }, {}] }
      expect(await decisions(items)).to.deep.equal([true, false])
      expect(await decisions({ evaluations: [{}, {}] })).to.deep.equal([false, false])
    })

    it('is a single evaluation without items (3.4.2, 3.4.3)', async () => {
      const whole = { subject: ALICE, action: READ, resource: ACTIVE }
      expect(await decision(whole, 'evaluations')).to.equal(true)
      expect(await decision({ ...whole, evaluations: [] }, 'evaluations')).to.equal(true)
      expect((await post('evaluations', { subject: ALICE, evaluations: [] })).status).to.equal(400)
    })

    it('stops where the semantic says so, and refuses an unknown one', async () => {
      const asked = (semantic: string) => ({
        subject: BOB,
        resource: ACTIVE,
        options: { evaluations_semantic: semantic },
        evaluations: [{ action: READ }, { action: WRITE }, { action: READ }],
      })
      expect(await decisions(asked('execute_all'))).to.deep.equal([true, false, true])
      expect(await decisions(asked('deny_on_first_deny'))).to.deep.equal([true, false])
      expect(await decisions(asked('permit_on_first_permit'))).to.deep.equal([true])
      expect((await post('evaluations', asked('whatever'))).status).to.equal(400)
    })
  })

  describe('Batch Properties', () => {
    it('decides by the properties of each item (3.2.3, 3.2.4)', async () => {
      const items = [{ resource: TOLD_ACTIVE }, { resource: TOLD_ARCHIVED }]
      expect(await decisions({ subject: ALICE, action: WRITE, evaluations: items })).to.deep.equal([true, false])
      const subjects = [{ subject: ALICE }, { subject: ADMIN_BOB }]
      const write = { action: WRITE, resource: TOLD_ARCHIVED, evaluations: subjects }
      expect(await decisions(write)).to.deep.equal([false, true])
    })

    it('replaces a default as a whole: an item without a type is no evaluation (3.2.7)', async () => {
      const { type: _, ...untyped } = TOLD_ACTIVE
      const items = [{ resource: untyped }, { resource: TOLD_ARCHIVED }]
      const merged = { subject: ALICE, action: WRITE, resource: { type: 'record' }, evaluations: items }
      expect(await decisions(merged)).to.deep.equal([false, false])
    })
  })

  describe('Search Core', () => {
    it('S1: finds who reads record-1 (4.2.1), also with a context (4.2.2) and an id (4.2.3)', async () => {
      const body = { subject: { type: 'user' }, action: READ, resource: ACTIVE }
      for (const asked of [body, { ...body, context: CONTEXT }, { ...body, subject: ALICE }]) {
        expect(await results('subject', asked)).to.have.deep.members([ALICE, BOB])
      }
    })

    it('S2: finds what alice reads (4.3.1), also with a context (4.3.2) and an id (4.3.3)', async () => {
      const body = { subject: ALICE, action: READ, resource: { type: 'record' } }
      for (const asked of [body, { ...body, context: CONTEXT }, { ...body, resource: ARCHIVED }]) {
        expect(await results('resource', asked)).to.have.deep.members([ACTIVE, ARCHIVED])
      }
    })

    it('S3: finds what alice does with record-1 (4.4.1), also with a context (4.4.2)', async () => {
      const body = { subject: ALICE, resource: ACTIVE }
      for (const asked of [body, { ...body, context: CONTEXT }]) {
        expect(await results('action', asked)).to.have.deep.members([READ, WRITE])
      }
    })

    it('pages by a limit and a token (4.5)', async () => {
      const body = { subject: { type: 'user' }, action: READ, resource: ACTIVE }
      const first = await post('search/subject', { ...body, page: { limit: 1 } })
      expect([first.status, first.body.results.length]).to.deep.equal([200, 1])
      const second = await post('search/subject', { ...body, page: { token: first.body.page.next_token } })
      expect(second.body.page.next_token).to.equal('')
      expect([...first.body.results, ...second.body.results]).to.have.deep.members([ALICE, BOB])
    })

    it('finds nothing for an unknown id or type (4.6)', async () => {
      expect(await results('action', { subject: { type: 'user', id: 'nonexistent-user' }, resource: ACTIVE })).to.be
        .empty
      expect(await results('subject', { subject: { type: 'spaceship' }, action: READ, resource: ACTIVE })).to.be.empty
      expect(await results('resource', { subject: ALICE, action: READ, resource: { type: 'spaceship' } })).to.be.empty
    })

    it('is 400 for what is missing (4.7)', async () => {
      const faulty = [
        ['subject', { subject: { type: 'user' }, resource: ACTIVE }],
        ['resource', { action: READ, resource: { type: 'record' } }],
        ['action', { subject: ALICE }],
        ['subject', { subject: { type: 'user' }, action: READ, resource: { type: 'record' } }],
        ['resource', { subject: { type: 'user' }, action: READ, resource: { type: 'record' } }],
      ] as const
      for (const [kind, body] of faulty) expect((await post(`search/${kind}`, body)).status).to.equal(400)
    })
  })

  describe('Search Properties', () => {
    it('S4: finds who writes an archived record (4.2.4)', async () => {
      const body = { subject: { type: 'user' }, action: WRITE, resource: TOLD_ARCHIVED }
      expect(await results('subject', body)).to.deep.equal([BOB])
    })

    it('S5: finds what an admin writes (4.3.4)', async () => {
      const body = { subject: ADMIN_BOB, action: WRITE, resource: { type: 'record' } }
      expect(await results('resource', body)).to.deep.equal([ARCHIVED])
    })

    it('S6: finds what an admin does with an archived record (4.4.3)', async () => {
      const body = { subject: ADMIN_BOB, resource: TOLD_ARCHIVED }
      expect(await results('action', body)).to.have.deep.members([READ, WRITE])
    })
  })

  describe('Discovery', () => {
    it('tells where everything is, under the configured base (6)', async () => {
      const { status, body, headers } = await server.ask('GET', '/.well-known/authzen-configuration', {
        headers: { 'x-forwarded-host': 'evil.example' },
      })
      expect([status, headers.get('content-type')]).to.deep.equal([200, 'application/json; charset=utf-8'])
      expect(body).to.deep.include({
        policy_decision_point: BASE,
        access_evaluation_endpoint: `${BASE}/access/v1/evaluation`,
        access_evaluations_endpoint: `${BASE}/access/v1/evaluations`,
        search_subject_endpoint: `${BASE}/access/v1/search/subject`,
        search_resource_endpoint: `${BASE}/access/v1/search/resource`,
        search_action_endpoint: `${BASE}/access/v1/search/action`,
      })
    })
  })
})

describe('docs/authzen.md, on conformance,', () => {
  const page = readFileSync(new URL('../../docs/authzen.md', import.meta.url), 'utf8')
  const text = readFileSync(new URL(import.meta.url), 'utf8')
  const shown = [...text.matchAll(/\bit\([`'].*?\((\d[\d., ]*)/g)].flatMap(([, numbers = '']) => numbers.split(', '))
  const rows = [...page.matchAll(/^\| [A-Z]\w+(?: \w+)? \| ([\d., -]+) \|/gm)].flatMap(([, numbers = '']) =>
    numbers.split(', '),
  )

  it('names every part of the scenario that a test here shows', () => {
    expect(rows).to.have.length.at.least(15)
    expect(new Set(shown).size).to.be.at.least(20)
    expect(shown.filter((number) => !rows.some((row) => has(row, number)))).to.deep.equal([])
    expect(has('4.3.1-3', '4.3.4')).to.equal(false)
  })

  /** `4.3.1-3` has 4.3.3, `2.3-2.6` has 2.4.3, and `6` has 6. */
  function has(row: string, number: string): boolean {
    const [from = '', to = from] = row.split('-')
    const parts = from.split('.')
    const [first, last] = [parts.at(-1), to.split('.').at(-1)].map(Number)
    const asked = number.split('.').slice(0, parts.length)
    const one = Number(asked.at(-1))
    return asked.slice(0, -1).join('.') === parts.slice(0, -1).join('.') && one >= Number(first) && one <= Number(last)
  }
})
