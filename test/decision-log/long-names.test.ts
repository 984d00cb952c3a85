/** What a client invents doesn't fill the decision log. */
import { expect } from 'chai'
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
})
