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
