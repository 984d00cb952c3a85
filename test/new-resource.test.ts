/** A new resource is one schema file and some policy lines: no code. */
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { withRules } from './policy-text.ts'
import { startTestServer, type TestServer } from './server.ts'

const SHIPPED = (name: string) => readFileSync(new URL(`../policies/${name}`, import.meta.url), 'utf8')

const TICKETS = JSON.stringify({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Ticket',
  type: 'object',
  'x-resource': {
    routes: [
      { path: '/tickets', methods: ['GET', 'POST'] },
      { path: '/tickets/{id}', methods: ['GET', 'PUT', 'PATCH', 'DELETE'] },
      { path: '/tickets/{id}/summary', methods: ['GET'], view: 'summary' },
    ],
  },
  properties: {
    id: { type: 'string', format: 'uuid', readOnly: true },
    reporter: { type: 'string', maxLength: 128, 'x-index': true },
    watchers: { type: 'array', items: { type: 'string', maxLength: 128 }, maxItems: 20 },
    code: { type: 'string', maxLength: 20, 'x-unique': true },
    state: { type: 'string', enum: ['open', 'closed'], default: 'open' },
    text: { type: 'string', maxLength: 500 },
    createdAt: { type: 'string', format: 'date-time', readOnly: true },
    updatedAt: { type: 'string', format: 'date-time', readOnly: true },
  },
  required: ['text'],
  additionalProperties: false,
})

const FILES = {
  'schemas/tickets.json': TICKETS,
  'policies/ownership.yaml': `${SHIPPED('ownership.yaml')}
tickets:
  conceal: true
  relations:
    owner: reporter
    watcher: watchers
    open: { field: state, in: [open] }
`,
  'policies/views.yaml': `${SHIPPED('views.yaml')}
tickets:
  summary: [id, state]
  writable: [text, code, watchers]
`,
  'policies/policy.csv': withRules(
    SHIPPED('policy.csv'),
    `p, member, tickets, list|read|create,      owner,      *,        allow
p, member, tickets, replace|update|delete, owner+open, writable, allow
p, member, tickets, delete,                owner+open, *,        allow
p, member, tickets, list|read,             watcher,    summary,  allow
p, support, tickets, list|read|update,     any,        *,        allow`,
  ),
}

describe('a resource that a schema file and policy lines declare', () => {
  let server: TestServer
  let alice: string
  let bob: string
  let sam: string
  let id: string

  before(async () => {
    server = await startTestServer({ files: FILES })
    ;[alice, bob, sam] = await Promise.all([
      server.token('alice', 'member'),
      server.token('bob', 'member'),
      server.token('sam', 'support'),
    ])
  })
  after(() => server.stop())

  beforeEach(async () => {
    const made = await server.ask('POST', '/tickets', { token: alice, body: { text: 'it leaks', watchers: ['bob'] } })
    expect(made.status).to.equal(201)
    expect(made.headers.get('location')).to.equal(`/tickets/${made.body.id}`)
    expect(made.body).to.include({ reporter: 'alice', state: 'open', text: 'it leaks' })
    id = made.body.id
  })

  it('is read, listed, replaced, updated and deleted by its owner', async () => {
    const path = `/tickets/${id}`
    expect((await server.ask('GET', path, { token: alice })).body.text).to.equal('it leaks')
    expect((await server.ask('GET', '/tickets', { token: alice })).text).to.include(id)
    expect((await server.ask('PATCH', path, { token: alice, body: { text: 'still' } })).body.text).to.equal('still')
    const replaced = await server.ask('PUT', path, { token: alice, body: { text: 'new' } })
    expect(replaced.body)
      .to.include({ text: 'new', reporter: 'alice', state: 'open' })
      .and.not.have.property('watchers')
    expect((await server.ask('DELETE', path, { token: alice })).status).to.equal(204)
    expect((await server.ask('GET', path, { token: alice })).status).to.equal(404)
  })

  it('shows a watcher the fields of the view alone, one by one and in a list', async () => {
    const seen = await server.ask('GET', `/tickets/${id}`, { token: bob })
    expect(seen.body).to.deep.equal({ id, state: 'open' })
    const listed = await server.ask('GET', '/tickets?limit=200', { token: bob })
    expect(listed.body.items).to.deep.include({ id, state: 'open' })
    expect((await server.ask('PATCH', `/tickets/${id}`, { token: bob, body: { text: 'x' } })).status).to.equal(403)
  })

  it('conceals what a caller may not read, and refuses what they may read but not write', async () => {
    const mallory = await server.token('mallory', 'member')
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
      const body = method === 'PUT' || method === 'PATCH' ? { text: 'x' } : undefined
      const hidden = await server.ask(method, `/tickets/${id}`, { token: mallory, body })
      const missing = await server.ask(method, `/tickets/${id.replace(/.$/, '_')}`, { token: mallory, body })
      expect([method, hidden.status, hidden.body.code]).to.deep.equal([method, 404, 'object-not-found'])
      expect(hidden.body.detail).to.equal(missing.body.detail)
    }
    expect((await server.ask('GET', `/tickets/${id}`)).status).to.equal(401)
  })

  it('keeps fields that the policy does not open, and closes with its state', async () => {
    const path = `/tickets/${id}`
    const closed = await server.ask('PATCH', path, { token: alice, body: { state: 'closed' } })
    expect(closed.status).to.equal(403)
    expect(closed.body.errors).to.deep.equal([
      { pointer: '/state', detail: 'is not writable for this caller', code: 'forbidden' },
    ])
    expect((await server.ask('PATCH', path, { token: sam, body: { state: 'closed' } })).status).to.equal(200)
    expect((await server.ask('PATCH', path, { token: alice, body: { text: 'too late' } })).status).to.equal(403)
  })

  it('narrows a route to its view, keeps unique values unique, and validates', async () => {
    const summary = await server.ask('GET', `/tickets/${id}/summary`, { token: alice })
    expect(summary.body).to.deep.equal({ id, state: 'open' })
    const body = { text: 'a', code: `T-${id.slice(-8)}` }
    expect((await server.ask('POST', '/tickets', { token: alice, body })).status).to.equal(201)
    const taken = await server.ask('POST', '/tickets', { token: bob, body })
    expect([taken.status, taken.body.errors[0].pointer]).to.deep.equal([409, '/code'])
    const faulty = await server.ask('POST', '/tickets', { token: alice, body: { state: 'lost', extra: 1 } })
    expect(faulty.status).to.equal(400)
    expect(faulty.body.errors.map((e: { pointer: string }) => e.pointer).sort()).to.deep.equal([
      '/extra',
      '/state',
      '/text',
    ])
  })

  it('is denied to everybody without its policy lines', async () => {
    const closed = await startTestServer({
      files: { 'schemas/tickets.json': TICKETS.replace(/,?"view":"summary"/, '') },
    })
    try {
      for (const [method, path] of [
        ['GET', '/tickets'],
        ['POST', '/tickets'],
        ['GET', `/tickets/${id}`],
      ] as const) {
        const token = await closed.token('ada', 'admin', 'support', 'auditor', 'member')
        const body = method === 'POST' ? { text: 'x' } : undefined
        expect((await closed.ask(method, path, { token, body })).status).to.equal(403)
      }
    } finally {
      await closed.stop()
    }
  })
})
