/** docs/http.md, "Versions": what a renamed field does to an older version, and how two shapes are served side by side. */
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { startTestServer, type TestServer } from '../server.ts'

const read = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8')

const NOTES = JSON.parse(read('schemas/notes.json'))
const { body: BODY, ...REST } = NOTES.properties
const TEXT = { ...BODY, 'x-index': true }
const ITEM = ['GET', 'PUT', 'PATCH', 'DELETE']

function notes(properties: object, routes: readonly object[]) {
  return JSON.stringify({ ...NOTES, 'x-resource': { routes }, properties: { ...REST, ...properties } })
}

const V2 = [
  { path: '/api/v2/notes', methods: ['GET', 'POST'] },
  { path: '/api/v2/notes/{id}', methods: ITEM },
]

describe('a renamed field', () => {
  let server: TestServer

  after(() => server.stop())

  it('is at every version of a path at once: the old name is 400 there', async () => {
    const v1 = { path: '/api/v1/notes', methods: ['GET', 'POST'] }
    const files = { 'schemas/notes.json': notes({ content: TEXT }, [v1, ...V2]) }
    server = await startTestServer({ files })
    const token = await server.token('alice', 'member')
    for (const path of ['/api/v1/notes', '/api/v2/notes']) {
      const { status, body } = await server.ask('POST', path, { token, body: { title: 't', body: 'old' } })
      expect([status, body.errors[0].pointer], path).to.deep.equal([400, '/body'])
      const made = await server.ask('POST', path, { token, body: { title: 't', content: 'new' } })
      expect([made.status, made.body.content], path).to.deep.equal([201, 'new'])
      expect((await server.ask('GET', `${path}?body=old`, { token })).status).to.equal(400)
      expect((await server.ask('GET', `${path}?sort=content`, { token })).status).to.equal(200)
    }
  })
})

describe('a version with a view beside another one', () => {
  let server: TestServer
  let token: string

  before(async () => {
    const routes = [
      { path: '/api/v1/notes', methods: ['GET', 'POST'], view: 'v1' },
      { path: '/api/v1/notes/{id}', methods: ['GET', 'PATCH', 'DELETE'], view: 'v1' },
      { path: '/api/v1/whole-notes/{id}', methods: ['GET', 'PUT', 'PATCH'], view: 'v1', action: 'v1' },
      ...V2,
    ]
    const view = '  v1: [id, ownerId, title, body, tags, createdAt, updatedAt]\n'
    const rule = 'p, member, notes, v1, owner, v1, allow\n'
    const files = {
      'schemas/notes.json': notes({ body: TEXT, content: TEXT }, routes),
      'policies/views.yaml': `${read('policies/views.yaml')}notes:\n${view}`,
      'policies/policy.csv': read('policies/policy.csv').replace(/^# end of policy/m, `${rule}$&`),
    }
    server = await startTestServer({ files })
    token = await server.token('alice', 'member')
  })
  after(() => server.stop())

  async function make(): Promise<string> {
    const body = { title: 't', body: 'old', content: 'new' }
    return (await server.ask('POST', '/api/v2/notes', { token, body })).body.id
  }

  it('shows, filters and sorts by its own fields alone, and the other shape keeps its values', async () => {
    const id = await make()
    const { body: v1 } = await server.ask('GET', `/api/v1/notes/${id}`, { token })
    expect([v1.body, 'content' in v1]).to.deep.equal(['old', false])
    for (const [query, status] of [
      ['body=old', 200],
      ['sort=body', 200],
      ['content=new', 400],
      ['sort=content', 400],
    ] as const) {
      expect((await server.ask('GET', `/api/v1/notes?${query}`, { token })).status, query).to.equal(status)
    }
    const patched = await server.ask('PATCH', `/api/v1/notes/${id}`, { token, body: { body: 'changed' } })
    expect([patched.body.body, 'content' in patched.body]).to.deep.equal(['changed', false])
    const { body: v2 } = await server.ask('GET', `/api/v2/notes/${id}`, { token })
    expect([v2.body, v2.content]).to.deep.equal(['changed', 'new'])
    const made = await server.ask('POST', '/api/v1/notes', { token, body: { title: 't', body: 'b' } })
    expect(made.headers.get('location')).to.equal(`/api/v2/notes/${made.body.id}`)
  })

  it('takes PUT without losing the fields of the other shape where the route has an action of its own', async () => {
    const id = await make()
    const path = `/api/v1/whole-notes/${id}`
    const put = await server.ask('PUT', path, { token, body: { title: 't' } })
    expect([put.status, 'body' in put.body]).to.deep.equal([200, false])
    expect((await server.ask('GET', `/api/v2/notes/${id}`, { token })).body.content).to.equal('new')
    const foreign = await server.ask('PATCH', path, { token, body: { content: 'x' } })
    expect([foreign.status, foreign.body.code]).to.deep.equal([403, 'field-forbidden'])
    // Elsewhere, PUT removes what its body lacks.
    await server.ask('PUT', `/api/v2/notes/${id}`, { token, body: { title: 't' } })
    expect('content' in (await server.ask('GET', `/api/v2/notes/${id}`, { token })).body).to.equal(false)
  })
})
