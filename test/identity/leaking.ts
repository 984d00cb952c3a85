/** A run of tests that passes, and whose server logs a token: for secrets.test.ts, which must see it fail all the same. */
import { startTestServer, type TestServer } from '../server.ts'

describe('a careless server', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer()
  })
  after(() => server.stop())

  it('passes its test', async () => {
    const token = await server.token('alice', 'member')
    await server.ask('GET', '/profile', { token })
    if (process.env.LEAK) (server.log as unknown[]).push({ msg: `asked with ${token}` })
  })
})
