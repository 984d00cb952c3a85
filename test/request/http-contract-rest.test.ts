/** Promises of the HTTP contract that no other file is about (docs/http-contract.md). */
import { expect } from 'chai'
import { startTestServer, type TestServer } from '../server.ts'
import { type Callers, pathsOf, tokensOf } from './callers.ts'

describe('a query', () => {
  let server: TestServer
  let callers: Callers

  before(async () => {
    server = await startTestServer({ demo: true })
    callers = await tokensOf(server)
  })
  after(() => server.stop())

  it('names of Object in a query are parameters that no route knows', async () => {
    const paths = await pathsOf(server, callers.ada)
    for (const [path, sent] of paths) {
      for (const name of ['__proto__', 'constructor', 'toString', '__proto__[polluted]', 'constructor[prototype][x]']) {
        const { status, body } = await server.ask('GET', `${sent}?${encodeURIComponent(name)}=1`, {
          token: callers.ada,
        })
        expect([path, name, status, body.code]).to.deep.equal([path, name, 400, 'invalid-query'])
      }
    }
    expect('polluted' in {}).to.equal(false)
  })
})
