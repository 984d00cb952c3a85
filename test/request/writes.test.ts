/** POST, PUT and DELETE: what they answer, and what is there afterwards. */
import { expect } from 'chai'
import { startTestServer, type TestServer } from '../server.ts'
import { type Callers, firstOf, tokensOf } from './callers.ts'

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

  it('PUT of what GET showed changes nothing but updatedAt', async () => {
    const before = await firstOf(server, '/api/v1/notes', callers.alice)
    const { status, body } = await put(`/api/v1/notes/${before.id}`, before)
    expect([status, { ...body, updatedAt: before.updatedAt }]).to.deep.equal([200, before])
  })

  it("PUT to an unknown id is 404 and creates nothing: ids are the server's", async () => {
    for (const id of ['01890a5d-ac96-774b-bcce-b302099a8057', 'mine', '%F0%9F%98%80']) {
      const { status, body } = await put(`/api/v1/notes/${id}`, { title: 't' })
      expect([status, body.code], id).to.deep.equal([404, 'object-not-found'])
    }
    expect((await put('/api/v1/notes/', { title: 't' })).body.code).to.equal('route-not-found')
  })

  it('PUT and PATCH with another id, or another time of the server, are 400', async () => {
    const { id } = await firstOf(server, '/api/v1/notes', callers.alice)
    for (const method of ['PUT', 'PATCH']) {
      for (const [name, value] of [
        ['id', '01890a5d-ac96-774b-bcce-b302099a8057'],
        ['id', null],
        ['createdAt', '2020-01-01T00:00:00.000Z'],
        ['updatedAt', '2020-01-01T00:00:00.000Z'],
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
