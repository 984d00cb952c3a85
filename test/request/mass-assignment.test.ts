/** Nobody writes a field by naming it who may not write it by the policy. */
import { expect } from 'chai'
import { startTestServer, type TestServer } from '../server.ts'
import { type Callers, tokensOf } from './callers.ts'

describe('mass assignment', () => {
  let server: TestServer
  let callers: Callers

  before(async () => {
    server = await startTestServer({ demo: true })
    callers = await tokensOf(server)
  })
  after(() => server.stop())

  it('fields that the caller may not write are 403 and named, all of them, and nothing is written', async () => {
    const before = await server.ask('GET', '/profile', { token: callers.alice })
    for (const body of [
      { roles: ['admin'] },
      { department: 'board' },
      { bio: 'x', roles: ['admin'], department: 'board' },
    ]) {
      for (const path of ['/profile', '/api/users/alice', '/users/alice']) {
        const { status, body: problem } = await server.ask('PATCH', path, { token: callers.alice, body })
        expect([status, problem.code], path).to.deep.equal([403, 'field-forbidden'])
        const named = problem.errors.map(({ pointer }: { pointer: string }) => pointer).toSorted()
        expect(named).to.deep.equal(
          Object.keys(body)
            .filter((name) => name !== 'bio')
            .map((name) => `/${name}`)
            .toSorted(),
        )
      }
    }
    expect((await server.ask('GET', '/profile', { token: callers.alice })).body).to.deep.equal(before.body)
  })

  it("the server's fields and unknown ones are 400 and named", async () => {
    const body = { title: 't', id: 'mine', createdAt: 'now', updatedAt: 'now', version: 9, _id: 1, isAdmin: true }
    const { status, body: problem } = await server.ask('POST', '/api/v1/notes', { token: callers.alice, body })
    expect(status).to.equal(400)
    expect(problem.errors.map(({ pointer }: { pointer: string }) => pointer).toSorted()).to.deep.equal(
      ['/_id', '/createdAt', '/id', '/isAdmin', '/updatedAt', '/version'].toSorted(),
    )
  })

  it("another's id as the owner is 403: on create, and as a gift", async () => {
    const body = { title: 't', ownerId: 'bob' }
    expect((await server.ask('POST', '/api/v1/notes', { token: callers.alice, body })).status).to.equal(403)
    const { body: own } = await server.ask('POST', '/api/v1/notes', { token: callers.alice, body: { title: 't' } })
    for (const method of ['PUT', 'PATCH']) {
      expect((await server.ask(method, `/api/v1/notes/${own.id}`, { token: callers.alice, body })).status).to.equal(403)
    }
    const kept = await server.ask('GET', `/api/v1/notes/${own.id}`, { token: callers.alice })
    expect(kept.body.ownerId).to.equal('alice')
  })

  it('a balance is out of reach of its owner', async () => {
    const { body } = await server.ask('GET', '/api/accounts', { token: callers.alice })
    const path = `/api/accounts/${body.items[0].id}`
    for (const [asked, sent] of [
      [path, { balance: 1e9 }],
      ['/api/accounts', { userId: 'alice', name: 'n', currency: 'EUR', balance: 1 }],
    ] as const) {
      const method = asked === path ? 'PATCH' : 'POST'
      expect((await server.ask(method, asked, { token: callers.alice, body: sent })).status).to.equal(403)
    }
    expect((await server.ask('GET', path, { token: callers.alice })).body.balance).to.equal(body.items[0].balance)
  })
})
