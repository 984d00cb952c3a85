/** Who may write what they may not read learns that it was done, and nothing else. */
import { expect } from 'chai'
import type { TestServer } from '../server.ts'
import { startWithThings } from './things.ts'

describe('a write whose result the caller may not read', () => {
  let server: TestServer
  let token: string

  before(async () => {
    const policy = 'p, admin, things, create|replace|update, any, *, allow\n'
    server = await startWithThings([], { files: { 'policies/policy.csv': policy } })
    token = await server.token('ada', 'admin')
  })
  after(() => server.stop())

  it('POST is 201 with Location and without a body', async () => {
    const { status, headers, text } = await server.ask('POST', '/things', { token, body: { title: 'secret' } })
    expect([status, text]).to.deep.equal([201, ''])
    expect(headers.get('location')).to.match(/^\/things\/[0-9a-f-]{36}$/)
    expect(headers.has('content-type')).to.equal(false)
  })

  it('PUT and PATCH are 204', async () => {
    const { headers } = await server.ask('POST', '/things', { token, body: { title: 'secret' } })
    const path = headers.get('location') ?? ''
    for (const method of ['PUT', 'PATCH']) {
      const { status, headers: answered, text } = await server.ask(method, path, { token, body: { title: 'new' } })
      expect([status, text, answered.has('content-type'), answered.has('content-length')]).to.deep.equal([
        204,
        '',
        false,
        false,
      ])
    }
    expect((await server.ask('GET', path, { token })).status).to.equal(403)
  })
})

describe('an item of which the caller may read only what it lacks', () => {
  let server: TestServer
  let token: string
  let path: string

  before(async () => {
    const policy = 'p, admin, things, create|replace|update, any, *, allow\np, admin, things, read, any, sized, allow\n'
    const views = 'things:\n  sized: [size]\naccounts:\n  balance: [id]\n'
    const files = { 'policies/policy.csv': policy, 'policies/views.yaml': views }
    server = await startWithThings([], { files })
    token = await server.token('ada', 'admin')
    const created = await server.ask('POST', '/things', { token, body: { title: 'secret' } })
    path = created.headers.get('location') ?? ''
    expect([created.status, created.text]).to.deep.equal([201, '{}'])
    expect(created.headers.get('etag')).to.be.a('string')
  })
  after(() => server.stop())

  for (const [method, body] of [
    ['GET', undefined],
    ['PUT', { title: 'new' }],
    ['PATCH', { title: 'newer' }],
    ['PATCH', { title: 'newer' }],
  ] as const) {
    it(`is {} in the answer to ${method} ${JSON.stringify(body)}`, async () => {
      const { status, text, headers } = await server.ask(method, path, { token, body })
      expect([status, text, headers.get('content-type')]).to.deep.equal([200, '{}', 'application/json; charset=utf-8'])
      expect(headers.get('etag')).to.be.a('string')
    })
  }

  it('is {} again where the POST is repeated under its key', async () => {
    const asked = { token, body: { title: 'once' }, headers: { 'idempotency-key': 'k' } }
    for (const replayed of [null, 'true']) {
      const { status, text, headers } = await server.ask('POST', '/things', asked)
      expect([status, text, headers.get('idempotency-replayed')]).to.deep.equal([201, '{}', replayed])
    }
  })
})
