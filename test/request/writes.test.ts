/** POST, PUT and DELETE: what they answer, and what is there afterwards. */
import { expect } from 'chai'
import { startTestServer, type TestServer } from '../server.ts'
import { type Callers, firstOf, pathsOf, tokensOf } from './callers.ts'

/** A field of text of each resource that takes PUT. */
const TEXTS: Readonly<Record<string, string>> = { notes: 'title', orders: 'note', users: 'displayName' }

const ORDER = { currency: 'EUR', items: [{ sku: 'A1', quantity: 1, unitPrice: 100 }] }

describe('a write', () => {
  let server: TestServer
  let callers: Callers

  before(async () => {
    server = await startTestServer({ demo: true })
    callers = await tokensOf(server)
  })
  after(() => server.stop())

  it('POST is 201 with the representation and a Location that leads to it', async () => {
    for (const [path, token, body, owned] of [
      ['/api/v1/notes', callers.alice, { title: 't' }, { ownerId: 'alice' }],
      ['/api/orders', callers.alice, ORDER, { customerId: 'alice', status: 'draft' }],
      ['/api/accounts', callers.ada, { userId: 'alice', name: 'main', currency: 'EUR' }, { balance: 0 }],
      ['/api/users', callers.ada, { email: 'a@example.com', displayName: 'A' }, {}],
    ] as const) {
      const { status, headers, body: created } = await server.ask('POST', path, { token, body })
      expect(status, path).to.equal(201)
      expect(created).to.include({ ...body, ...owned, ...('items' in body ? { items: created.items } : {}) })
      expect(headers.get('location')).to.equal(`${path}/${created.id}`)
      const read = await server.ask('GET', headers.get('location') ?? '', { token })
      expect([read.status, read.body]).to.deep.equal([200, created])
    }
  })

  it('a user created at an alias has the canonical Location', async () => {
    const body = { email: 'alias@example.com', displayName: 'A' }
    const { status, headers, body: created } = await server.ask('POST', '/users', { token: callers.ada, body })
    expect([status, headers.get('location')]).to.deep.equal([201, `/api/users/${created.id}`])
    expect((await server.ask('GET', `/users/${created.id}`, { token: callers.ada })).body).to.deep.equal(created)
  })

  it('PUT replaces: what the body leaves out is gone, the server keeps its fields and the owner', async () => {
    const body = { title: 'before', body: 'text', tags: ['a'] }
    const { body: before } = await server.ask('POST', '/api/v1/notes', { token: callers.alice, body })
    const { status, body: after } = await put(`/api/v1/notes/${before.id}`, { title: 'after' })
    expect(status).to.equal(200)
    const { updatedAt, ...rest } = after
    expect(rest).to.deep.equal({ id: before.id, ownerId: 'alice', title: 'after', createdAt: before.createdAt })
    expect(updatedAt >= before.updatedAt).to.equal(true)
    expect((await server.ask('GET', `/api/v1/notes/${before.id}`, { token: callers.alice })).body).to.deep.equal(after)
  })

  it('PUT is idempotent: what was read can be changed and sent, again and again, on every route that takes PUT', async () => {
    const paths = await pathsOf(server, callers.ada)
    const routes = server.app.resources.routes.filter(({ endpoints }) => endpoints.has('PUT'))
    expect(routes.map(({ path }) => path)).to.include.members(['/users/{id}', '/api/orders/{id}', '/api/v1/notes/{id}'])
    for (const { path: template, resource } of routes) {
      const path = paths.get(template) ?? ''
      const { body: found } = await server.ask('GET', path, { token: callers.ada })
      const token = resource === 'notes' ? await server.token(found.ownerId, 'member') : callers.ada
      const read = await server.ask('GET', path, { token })
      const body = { ...read.body, [TEXTS[resource] ?? '']: `changed by way of ${template}` }
      const first = await server.ask('PUT', path, { token, body })
      expect([first.status, { ...first.body, updatedAt: '' }], path).to.deep.equal([200, { ...body, updatedAt: '' }])
      for (const again of [body, first.body, { ...body, createdAt: '2020-01-01T00:00:00.000Z' }]) {
        const { status, body: shown, headers } = await server.ask('PUT', path, { token, body: again })
        expect([status, shown], path).to.deep.equal([200, first.body])
        expect(headers.get('etag')).to.equal(first.headers.get('etag'))
      }
    }
  })

  it('a PUT that changes a state is decided anew when it is sent again: it may be 403, and has no second effect', async () => {
    const token = callers.alice
    const { headers } = await server.ask('POST', '/api/orders', { token, body: ORDER })
    const path = headers.get('location') ?? ''
    const placed = { ...ORDER, status: 'placed' }
    const first = await server.ask('PUT', path, { token, body: placed })
    expect([first.status, first.body.status]).to.deep.equal([200, 'placed'])
    const tag = first.headers.get('etag') ?? ''
    // Also with a tag that fits, or that no longer fits: the policy is asked first.
    for (const more of [{}, { 'if-match': tag }, { 'if-match': '"another"' }]) {
      const again = await server.ask('PUT', path, { token, body: placed, headers: more })
      expect([again.status, again.body.code]).to.deep.equal([403, 'forbidden'])
    }
    // A body that leaves the object as it is needs the right to write, not only to read.
    const auditor = await server.token('aud', 'auditor')
    expect((await server.ask('GET', path, { token: auditor })).status).to.equal(200)
    expect((await server.ask('PUT', path, { token: auditor, body: first.body })).status).to.equal(403)
    const admin = await server.ask('PUT', path, { token: callers.ada, body: first.body })
    expect([admin.status, admin.headers.get('etag')]).to.deep.equal([200, tag])
    expect((await server.ask('GET', path, { token })).body).to.deep.equal(first.body)
  })

  it('a PUT or PATCH that changes nothing keeps version, ETag and updatedAt, and leaves a record', async () => {
    const path = '/api/users/alice'
    const token = callers.ada
    const before = await server.ask('GET', path, { token })
    const tag = before.headers.get('etag') ?? ''
    const { version } = (await server.app.store.get('users', 'alice')) ?? {}
    const { email, displayName } = before.body
    const patch = JSON.stringify([
      { op: 'test', path: '/email', value: email },
      { op: 'replace', path: '/email', value: email },
    ])
    for (const [method, body, headers] of [
      ['PUT', before.body, {}],
      ['PUT', before.body, { 'if-match': tag }],
      ['PATCH', {}, { 'if-match': tag }],
      ['PATCH', { email, displayName }, {}],
      ['PATCH', patch, { 'content-type': 'application/json-patch+json', 'if-match': tag }],
    ] as const) {
      const records = (await server.decisions()).length
      const answer = await server.ask(method, path, { token, body, headers })
      expect([answer.status, answer.body, answer.headers.get('etag')]).to.deep.equal([200, before.body, tag])
      expect((await server.app.store.get('users', 'alice'))?.version).to.equal(version)
      const left = (await server.decisions()).slice(records)
      expect(left.map((record) => [record.method, record.objectId, record.outcome, record.status])).to.deep.equal([
        [method, 'alice', 'allowed', 200],
      ])
      expect(left[0]?.facts).to.deep.include({ changed: [] })
    }
    // Preconditions and the policy are asked as ever.
    const stale = { token, body: {}, headers: { 'if-match': '"x"' } }
    expect((await server.ask('PATCH', path, stale)).status).to.equal(412)
    expect((await server.ask('PATCH', path, { token: callers.bob, body: {} })).status).to.equal(403)
    const changed = await server.ask('PATCH', path, { token, body: { displayName: 'Another' } })
    expect(changed.headers.get('etag')).not.to.equal(tag)
  })

  it("PUT to an unknown id is 404 and creates nothing: ids are the server's", async () => {
    for (const id of ['01890a5d-ac96-774b-bcce-b302099a8057', 'mine', '%F0%9F%98%80']) {
      const { status, body } = await put(`/api/v1/notes/${id}`, { title: 't' })
      expect([status, body.code], id).to.deep.equal([404, 'object-not-found'])
    }
    expect((await put('/api/v1/notes/', { title: 't' })).body.code).to.equal('route-not-found')
  })

  it('PUT and PATCH with another id are 400, and PATCH with another time of the server', async () => {
    const { id } = await firstOf(server, '/api/v1/notes', callers.alice)
    const times = { createdAt: '2020-01-01T00:00:00.000Z', updatedAt: '2020-01-01T00:00:00.000Z' }
    for (const method of ['PUT', 'PATCH']) {
      for (const [name, value] of [
        ['id', '01890a5d-ac96-774b-bcce-b302099a8057'],
        ['id', null],
        ...(method === 'PATCH' ? Object.entries(times) : []),
      ] as const) {
        const body = { title: 't', [name]: value }
        const { status, body: problem } = await server.ask(method, `/api/v1/notes/${id}`, {
          token: callers.alice,
          body,
        })
        expect([status, problem.errors], `${method} ${name}`).to.deep.equal([
          400,
          [{ pointer: `/${name}`, detail: 'is set by the server', code: 'readOnly' }],
        ])
      }
    }
  })

  it('PUT with Content-Range is 400 (RFC 9110 section 14.5), and has no effect', async () => {
    const { id, title } = await firstOf(server, '/api/v1/notes', callers.alice)
    const headers = { 'content-range': 'bytes 0-9/10' }
    const options = { token: callers.alice, body: { title: 'partial' }, headers }
    const { status, body } = await server.ask('PUT', `/api/v1/notes/${id}`, options)
    expect([status, body.code]).to.deep.equal([400, 'content-range'])
    expect((await server.ask('GET', `/api/v1/notes/${id}`, { token: callers.alice })).body.title).to.equal(title)
    expect((await put(`/api/v1/notes/${id}`, { title })).status).to.equal(200)
  })

  it('DELETE is 204 without body or its headers; again, and any other method then, is 404', async () => {
    const { body } = await server.ask('POST', '/api/v1/notes', { token: callers.alice, body: { title: 't' } })
    const path = `/api/v1/notes/${body.id}`
    const { status, text, headers } = await server.ask('DELETE', path, { token: callers.alice })
    expect([status, text]).to.deep.equal([204, ''])
    for (const name of ['content-type', 'content-length', 'transfer-encoding']) {
      expect(headers.has(name), name).to.equal(false)
    }
    for (const [method, sent] of [['DELETE'], ['GET'], ['HEAD'], ['PUT', { title: 't' }], ['PATCH', {}]] as const) {
      const again = await server.ask(method, path, { token: callers.alice, body: sent })
      expect(again.status, method).to.equal(404)
    }
  })

  it('a unique value that is taken is 409, says which field, and changes nothing', async () => {
    const email = 'bob@example.com'
    for (const [method, path, token] of [
      ['POST', '/api/users', callers.ada],
      ['POST', '/users', callers.ada],
      ['PUT', '/api/users/alice', callers.ada],
      ['PATCH', '/profile', callers.alice],
    ] as const) {
      const { status, body } = await server.ask(method, path, { token, body: { email, displayName: 'B' } })
      expect([status, body.code, body.errors], `${method} ${path}`).to.deep.equal([
        409,
        'unique-taken',
        [{ pointer: '/email', detail: 'is taken by another object', code: 'unique' }],
      ])
    }
    expect((await server.ask('GET', '/profile', { token: callers.alice })).body.email).to.equal('alice@example.com')
    expect((await server.ask('PATCH', '/profile', { token: callers.bob, body: { email } })).status).to.equal(200)
  })

  function put(path: string, body: unknown) {
    return server.ask('PUT', path, { token: callers.alice, body })
  }
})
