/** What a client invents doesn't fill the decision log. */
import { expect } from 'chai'
import { startAskedServer } from '../authzen/forward/asking.ts'
import { startTestServer, type TestServer } from '../server.ts'

describe('the decision log', () => {
  let server: TestServer
  afterEach(() => server.stop())

  it('has the first 128 characters of an id that no object has, and the whole id of an object', async () => {
    server = await startTestServer({ demo: true })
    const token = await server.token('root', 'admin')
    for (const method of ['GET', 'DELETE', 'OPTIONS']) await server.ask(method, `/users/${'a'.repeat(8000)}`, { token })
    await server.ask('GET', `/users/${'a'.repeat(8000)}`, {})
    await server.ask('GET', '/users/alice', { token })
    const ids = (await server.decisions()).map(({ objectId }) => objectId)
    expect(ids).to.deep.equal([...Array(4).fill(`${'a'.repeat(128)}…`), 'alice'])
  })

  it('has a short record of every request with a long path, query or name', async () => {
    const asked = await startAskedServer()
    server = asked
    const token = await server.token('root', 'admin')
    const long = 'x'.repeat(7000)
    const forwarded = { 'X-Original-Method': 'GET', 'X-Original-URI': `/users/${long}`, 'X-Sallyport-Key': asked.key }
    for (const method of ['PUT', 'PATCH', 'POST']) {
      await server.ask(method, `/users/${long}`, { token, body: { [long]: 1 } })
    }
    for (const path of [`/${long}`, `/api/v1/notes?title=${long}`, `/api/v1/notes?${long}=1`]) {
      await server.ask('GET', path, { token })
    }
    await server.ask('GET', '/access/v1/forward/nginx', { token, headers: forwarded })
    const records = (await server.decisions()).map((record) => JSON.stringify(record))
    expect(records).to.have.length(7)
    expect(records.filter((text) => text.length > 1000)).to.deep.equal([])
  })
})
