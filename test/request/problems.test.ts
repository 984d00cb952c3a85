/** Every refusal is the same document, with an id that the log knows, and never says what broke inside. */
import { expect } from 'chai'
import type { Authentication } from '../../src/identity/caller.ts'
import { type Answer, startTestServer, type TestServer } from '../server.ts'
import { type Callers, tokensOf } from './callers.ts'
import { converse, request } from './raw.ts'

const UUID_URN = /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** The document, without what differs from one to the next; checks that. */
function documentOf({ headers, status, body }: Answer): unknown {
  expect(headers.get('content-type')).to.equal('application/problem+json')
  const { instance, ...rest } = body
  expect(instance).to.match(UUID_URN)
  expect(rest.status).to.equal(status)
  return rest
}

describe('a problem document', () => {
  let server: TestServer
  let callers: Callers

  before(async () => {
    server = await startTestServer({ demo: true })
    callers = await tokensOf(server)
  })
  after(() => server.stop())

  it('has type, title, status, detail, instance and code, and nothing else', async () => {
    const found = documentOf(await server.ask('GET', '/nowhere'))
    expect(found).to.deep.equal({
      type: 'urn:sallyport:problem:route-not-found',
      title: 'No such path',
      status: 404,
      detail: 'No resource has this path; check the URL.',
      code: 'route-not-found',
    })
  })

  it('names all fields at fault at once, by JSON Pointer', async () => {
    const body = { customerId: 7, currency: 'euro', items: [{ sku: '', quantity: 0, unitPrice: 1 }, {}], 'a/b~c': 1 }
    // A member may make orders for itself alone, which comes first.
    const { errors } = documentOf(await server.ask('POST', '/api/orders', { token: callers.ada, body })) as {
      errors: readonly { pointer: string; detail: string; code: string }[]
    }
    expect(errors.map(({ pointer, code }) => `${pointer} ${code}`).toSorted()).to.deep.equal([
      '/a~1b~0c additionalProperties',
      '/currency maxLength',
      '/currency pattern',
      '/customerId type',
      '/items/0/quantity minimum',
      '/items/0/sku minLength',
      '/items/1/quantity required',
      '/items/1/sku required',
      '/items/1/unitPrice required',
    ])
    for (const error of errors) expect(error).to.have.all.keys('pointer', 'detail', 'code')
  })

  it('is the same whatever Accept says', async () => {
    const accepts = ['application/problem+json', 'application/json', 'text/html', 'application/xml', '*/*;q=0', ';;;']
    for (const path of ['/nowhere', '/api/v1/notes', '/profile/nobody', '/api/users?x=1']) {
      const plain = documentOf(await server.ask('GET', path))
      for (const accept of accepts) {
        expect(documentOf(await server.ask('GET', path, { headers: { accept } }))).to.deep.equal(plain)
      }
    }
  })

  it('has the request id of exactly one decision record as its instance', async () => {
    const broken = { token: callers.alice, body: '{' }
    for (const answer of [
      await server.ask('GET', '/nowhere'),
      await server.ask('DELETE', '/livez'),
      await server.ask('GET', '/api/v1/notes'),
      await server.ask('GET', '/api/v1/notes', { token: 'no.such.token' }),
      await server.ask('GET', '/api/users/bob', { token: callers.alice }),
      await server.ask('POST', '/api/v1/notes', broken),
      await server.ask('GET', '/%zz'),
    ]) {
      expect(await records(answer.body.instance)).to.have.length(1)
      expect((await records(answer.body.instance))[0]).to.include({ status: answer.status, problem: answer.body.code })
    }
    expect(await records('urn:uuid:00000000-0000-4000-8000-000000000000')).to.have.length(0)
  })

  it('is what the parser refuses with, too, and its request id is in the log', async () => {
    for (const [status, code, bytes] of [
      [400, 'malformed-request', 'FOO / HTTP/1.1\r\n\r\n'],
      [400, 'malformed-request', request('GET /livez', ['Bad Name: x'])],
      [414, 'url-too-long', request(`GET /${'a'.repeat(20_000)}`)],
      [431, 'headers-too-large', request('GET /livez', [`X: ${'a'.repeat(20_000)}`])],
    ] as const) {
      const { answers, closed } = await converse(server.url, [bytes])
      expect(closed).to.equal(true)
      expect(answers).to.have.length(1)
      const [answer] = answers
      expect(answer?.status).to.equal(status)
      expect(answer?.headers['content-type']).to.equal('application/problem+json')
      const document = JSON.parse(answer?.text ?? '')
      expect(document).to.have.all.keys('type', 'title', 'status', 'detail', 'instance', 'code')
      expect(await records(document.instance)).to.have.length(1)
      expect((await records(document.instance))[0]).to.include({ status, problem: code })
    }
  })

  async function records(instance: string): Promise<readonly Record<string, unknown>[]> {
    return (await server.decisions()).filter(({ requestId }) => `urn:uuid:${requestId}` === instance)
  }
})

describe('a fault inside', () => {
  let server: TestServer

  before(async () => {
    const verify = async (): Promise<Authentication> => {
      throw new Error('the vault is at 10.1.2.3')
    }
    server = await startTestServer({ verifier: { verify } })
  })
  after(() => server.stop())

  it('is told to the log, not to the client', async () => {
    const answer = await server.ask('GET', '/livez', { token: 'a.b.c' })
    expect(documentOf(answer)).to.deep.equal({
      type: 'urn:sallyport:problem:internal-error',
      title: 'Internal error',
      status: 500,
      detail: 'The server failed; give the request id to its operator.',
      code: 'internal-error',
    })
    const [found] = server.log.filter(({ requestId }) => `urn:uuid:${requestId}` === answer.body.instance)
    expect(found).to.include({ level: 50, status: 500, problem: 'internal-error' })
    expect(JSON.stringify(found)).to.contain('the vault is at 10.1.2.3')
  })
})

describe('WWW-Authenticate', () => {
  let server: TestServer

  before(async () => {
    server = await startTestServer({ demo: true })
  })
  after(() => server.stop())

  it('names no error when no credentials were sent (RFC 6750 section 3)', async () => {
    const { status, headers, body } = await server.ask('GET', '/api/v1/notes')
    expect([status, body.code]).to.deep.equal([401, 'credentials-missing'])
    expect(headers.get('www-authenticate')).to.equal('Bearer realm="sallyport"')
  })

  it('names invalid_token when they were bad, on public routes too', async () => {
    for (const path of ['/api/v1/notes', '/livez', '/profile/alice']) {
      for (const authorization of ['Bearer x', 'Bearer', 'Basic YTpi', '']) {
        const { status, headers, body } = await server.ask('GET', path, { headers: { authorization } })
        expect([status, body.code], `${path} ${authorization}`).to.deep.equal([401, 'token-invalid'])
        expect(headers.get('www-authenticate')).to.equal('Bearer realm="sallyport", error="invalid_token"')
      }
    }
  })

  it('names invalid_token for two Authorization headers: which of them would count?', async () => {
    const bearer = `Authorization: Bearer ${await server.token('alice', 'member')}`
    const statuses = []
    for (const headers of [[bearer], [bearer, bearer], [bearer, 'authorization: Bearer x']]) {
      const { answers } = await converse(server.url, [request('GET /profile', headers)])
      statuses.push([answers[0]?.status, answers[0]?.headers['www-authenticate']])
    }
    const refused = [401, 'Bearer realm="sallyport", error="invalid_token"']
    expect(statuses).to.deep.equal([[200, undefined], refused, refused])
  })

  it('is absent from every other status', async () => {
    const token = await server.token('alice', 'member')
    for (const [method, path] of [
      ['GET', '/api/users/bob'],
      ['GET', '/nowhere'],
      ['DELETE', '/livez'],
      ['GET', '/livez'],
    ] as const) {
      expect((await server.ask(method, path, { token })).headers.has('www-authenticate')).to.equal(false)
    }
  })
})
