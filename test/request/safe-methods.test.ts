/** GET, HEAD and OPTIONS change nothing in the store: its whole content is compared around each. */
import { expect } from 'chai'
import { startTestServer, type TestServer } from '../server.ts'
import { type Callers, pathsOf, tokensOf } from './callers.ts'
import { dump } from './dump.ts'

describe('a safe method', () => {
  let server: TestServer
  let callers: Callers
  let paths: readonly string[]

  before(async () => {
    server = await startTestServer({ demo: true })
    callers = await tokensOf(server)
    paths = [...(await pathsOf(server, callers.ada)).values(), '/api/v1/notes?limit=1', '/nowhere', '/users/nobody']
  })
  after(() => server.stop())

  for (const method of ['GET', 'HEAD', 'OPTIONS']) {
    it(`${method} leaves the store as it was, on every route for every caller`, async () => {
      const seen = new Set<number>()
      for (const token of [undefined, ...Object.values(callers)]) {
        for (const path of paths) {
          const before = dump(server)
          seen.add((await server.ask(method, path, { token })).status)
          expect(dump(server), `${method} ${path}`).to.deep.equal(before)
        }
      }
      expect(seen.size).to.be.greaterThan(1)
    })
  }

  it('not even the first list of a new server changes it', async () => {
    const fresh = await startTestServer({ demo: true })
    try {
      const before = dump(fresh)
      const token = await fresh.token('ada', 'admin')
      expect((await fresh.ask('GET', '/api/v1/notes?limit=1', { token })).body.next).to.be.a('string')
      expect(dump(fresh)).to.deep.equal(before)
    } finally {
      await fresh.stop()
    }
  })

  it('a change would be seen: POST, PATCH and DELETE make one', async () => {
    const before = dump(server)
    const { body } = await server.ask('POST', '/api/v1/notes', { token: callers.alice, body: { title: 't' } })
    const created = dump(server)
    expect(created).not.to.deep.equal(before)
    await server.ask('PATCH', `/api/v1/notes/${body.id}`, { token: callers.alice, body: { title: 'u' } })
    const updated = dump(server)
    expect(updated).not.to.deep.equal(created)
    await server.ask('DELETE', `/api/v1/notes/${body.id}`, { token: callers.alice })
    expect(dump(server)).not.to.deep.equal(updated)
  })

  it('the dump sees the data that it compares', () => {
    const rows = Object.values(dump(server)).flat()
    for (const text of ['alice@example.com', 'Shopping list', 'KEY-1', '100000']) {
      expect(
        rows.filter((row) => row.includes(text)),
        text,
      ).not.to.deep.equal([])
    }
  })
})
