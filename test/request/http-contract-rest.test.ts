/** Promises of the HTTP contract that no other file is about (test/http-contract.md). */
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { withRules } from '../policy-text.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { type Callers, pathsOf, tokensOf } from './callers.ts'

describe('a query', () => {
  let server: TestServer
  let callers: Callers

  before(async () => {
    const shipped = readFileSync(new URL('../../policies/policy.csv', import.meta.url), 'utf8')
    const more = ['access-requests, read', 'batch, send', 'policy, approve'].map(
      (one) => `p, admin, system/${one}, any, *, allow`,
    )
    const rules = withRules(shipped, more.join('\n'))
    server = await startTestServer({ demo: true, files: { 'policies/policy.csv': rules } })
    callers = await tokensOf(server)
  })
  after(() => server.stop())

  it('names of Object in a query are parameters that no route knows', async () => {
    const token = await server.token('ada', 'admin', 'pdp-client')
    const paths = await pathsOf(server, callers.ada)
    // A redirect passes its query on, whatever it is.
    const served = server.app.resources.routes.filter(({ redirect }) => !redirect)
    const accepts = new Map(served.map(({ path, endpoints }) => [path, endpoints]))
    for (const [path, sent] of paths) {
      if (!accepts.has(path)) continue
      const method = ['GET', 'POST', 'DELETE'].find((one) => accepts.get(path)?.has(one as 'GET')) ?? ''
      for (const name of ['__proto__', 'constructor', 'toString', '__proto__[polluted]', 'constructor[prototype][x]']) {
        const { status, body } = await server.ask(method, `${sent}?${encodeURIComponent(name)}=1`, {
          token,
        })
        expect([path, name, status, body.code]).to.deep.equal([path, name, 400, 'invalid-query'])
      }
    }
    expect('polluted' in {}).to.equal(false)
  })
})

describe('a POST that anonymous may send', () => {
  let server: TestServer

  before(async () => {
    const shipped = readFileSync(new URL('../../policies/policy.csv', import.meta.url), 'utf8')
    server = await startTestServer({
      files: { 'policies/policy.csv': withRules(shipped, 'p, anonymous, notes, create, any, *, allow') },
    })
  })
  after(() => server.stop())

  const body = { title: 't', ownerId: 'nobody' }

  it('an idempotency key of an anonymous caller is 400: there is nobody whose key it is', async () => {
    const answer = await server.ask('POST', '/api/v1/notes', { body, headers: { 'idempotency-key': 'k' } })
    expect([answer.status, answer.body.code]).to.deep.equal([400, 'invalid-idempotency-key'])
  })

  it('a faulty precondition is told before a faulty key', async () => {
    const headers = { 'idempotency-key': 'k', 'if-match': 'no tag' }
    const answer = await server.ask('POST', '/api/v1/notes', { body, headers })
    expect([answer.status, answer.body.code]).to.deep.equal([400, 'invalid-precondition'])
  })

  it('without a key is 201 (negative control)', async () => {
    expect((await server.ask('POST', '/api/v1/notes', { body })).status).to.equal(201)
  })
})
