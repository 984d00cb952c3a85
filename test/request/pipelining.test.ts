/** Several requests on one connection: one after another, answered in their order (RFC 9112 section 9.3.2). */
import { expect } from 'chai'
import { startTestServer, type TestServer } from '../server.ts'
import { tokensOf } from './callers.ts'
import { converse, open, request, sleep } from './raw.ts'

describe('a connection with several requests', () => {
  let server: TestServer
  let note: (line: string, body?: string, ...headers: string[]) => string

  before(async () => {
    server = await startTestServer({ demo: true })
    const { alice } = await tokensOf(server)
    note = (line, body = '', ...headers) => {
      const sent = body === '' ? [] : ['Content-Type: application/json', `Content-Length: ${body.length}`]
      return request(line, [`Authorization: Bearer ${alice}`, 'Connection: keep-alive', ...sent, ...headers], body)
    }
  })
  after(() => server.stop())

  it('answers pipelined requests in their order', async () => {
    const paths = ['/livez', '/nowhere', '/api/v1/notes', '/api/users/bob', '/%zz', '/livez']
    const { answers } = await converse(server.url, [paths.map((path) => note(`GET ${path}`)).join('')], { answers: 6 })
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 404, 200, 403, 400, 200])
  })

  it('each request sees what the ones before it did, though all came at once', async () => {
    const { body } = await server.ask('POST', '/api/v1/notes', { token: await alice(), body: { title: '0' } })
    const path = `/api/v1/notes/${body.id}`
    const bytes = Array.from({ length: 20 }, (_, i) => {
      return note(`PATCH ${path}`, `{"title":"${i + 1}"}`) + note(`GET ${path}`)
    })
    const end = note(`DELETE ${path}`) + note(`GET ${path}`)
    const { answers } = await converse(server.url, [bytes.join('') + end], { answers: 42 })
    const titles = answers.slice(0, 40).map(({ text }) => JSON.parse(text).title)
    expect(titles).to.deep.equal(Array.from({ length: 40 }, (_, i) => String(Math.floor(i / 2) + 1)))
    expect(answers.slice(40).map(({ status }) => status)).to.deep.equal([204, 404])
  })

  it('keeps each request to its own credentials', async () => {
    const anonymous = request('GET /api/v1/notes', ['Connection: keep-alive'])
    const parts = [note('GET /api/v1/notes') + anonymous + note('GET /api/v1/notes') + anonymous]
    const { answers } = await converse(server.url, parts, { answers: 4 })
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 401, 200, 401])
  })

  it('does nothing that comes behind an answer with Connection: close', async () => {
    const before = await server.app.seeding.count('notes')
    const refused = request('POST /api/v1/notes', ['Connection: keep-alive', 'Content-Length: 40'], ' '.repeat(20))
    const parts = [refused, 50, ' '.repeat(20) + note('POST /api/v1/notes', '{"title":"behind"}')]
    const { answers, closed } = await converse(server.url, parts)
    expect([answers.map(({ status }) => status), closed]).to.deep.equal([[401], true])
    const twoHosts = request('GET /livez', ['Host: x', 'Connection: keep-alive'])
    const together = await converse(server.url, [twoHosts + note('POST /api/v1/notes', '{"title":"behind"}')])
    expect([together.answers.map(({ status }) => status), together.closed]).to.deep.equal([[400], true])
    await sleep(50)
    expect(await server.app.seeding.count('notes')).to.equal(before)
  })

  for (const [what, line, headers, body, status] of [
    ['GET with Upgrade: websocket', 'GET /livez', ['Upgrade: websocket'], '', 200],
    ['GET with Upgrade: h2c', 'GET /livez', ['Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA'], '', 200],
    ['POST with Upgrade', 'POST /api/tokens', ['Upgrade: h2c', 'Content-Length: 2'], '{}', 415],
    ['chunked POST with Upgrade', 'POST /api/tokens', ['Upgrade: x', 'Transfer-Encoding: chunked'], '0\r\n\r\n', 415],
    ['DELETE of nothing with Upgrade', 'DELETE /nowhere', ['Upgrade: x'], '', 404],
    ['CONNECT', 'CONNECT localhost:80', [], '', 400],
    ['CONNECT with Content-Length', 'CONNECT localhost:80', ['Content-Length: 2'], '{}', 400],
    ['CONNECT with Upgrade', 'CONNECT localhost:80', ['Upgrade: x'], '', 400],
  ] as const) {
    it(`behind ${what} the connection ends: a body that follows is not taken for a request`, async () => {
      const before = await server.app.seeding.count('notes')
      const smuggled = note('POST /api/v1/notes', '{"title":"smuggled"}')
      const asking = request(line, ['Connection: Upgrade', ...headers], body)
      const behind = note('POST /api/v1/notes', smuggled).slice(0, -smuggled.length)
      for (const parts of [[asking + behind, 30, smuggled], [asking + smuggled], [asking, 30, smuggled]]) {
        const { answers, closed } = await converse(server.url, parts)
        expect([answers.map((answer) => answer.status), closed]).to.deep.equal([[status], true])
        expect(answers[0]?.headers.connection).to.equal('close')
      }
      expect(await server.app.seeding.count('notes')).to.equal(before)
    })
  }

  it('answers what stands before a request for an upgrade', async () => {
    const asking = request('GET /nowhere', ['Connection: Upgrade', 'Upgrade: websocket'])
    const { answers, closed } = await converse(server.url, [note('GET /livez').repeat(3) + asking + note('GET /livez')])
    expect([answers.map(({ status }) => status), closed]).to.deep.equal([[200, 200, 200, 404], true])
  })

  it('a request that was not asked for its body never takes the next one for it', async () => {
    const { body } = await server.ask('POST', '/api/v1/notes', { token: await alice(), body: { title: 't' } })
    const headers = ['Expect: 100-continue', 'Content-Length: 100']
    const parts = [note(`DELETE /api/v1/notes/${body.id}`, '', ...headers), 50, note('GET /livez')]
    const { answers, closed } = await converse(server.url, parts)
    expect([answers.map(({ status }) => status), closed]).to.deep.equal([[204], true])
    expect(answers[0]?.headers.connection).to.equal('close')
  })

  it('what is broken behind a request does not take its answer', async () => {
    const { answers, closed } = await converse(server.url, [
      `${note('POST /api/v1/notes', '{"title":"first"}')}rubbish\r\n\r\n`,
    ])
    expect([answers.map(({ status }) => status), closed]).to.deep.equal([[201], true])
    expect(answers[0]?.headers.connection).to.equal('close')
    const later = await converse(server.url, [note('GET /livez'), 50, 'rubbish\r\n\r\n'])
    expect([later.answers.map(({ status }) => status), later.closed]).to.deep.equal([[200, 400], true])
  })

  it('a client that goes away leaves the server as it was', async () => {
    const before = await server.app.seeding.count('notes')
    for (const bytes of [
      note('POST /api/v1/notes', '{"title":"cut"}').slice(0, -3),
      note('GET /api/v1/notes').repeat(50),
      'GET /li',
    ]) {
      const socket = open(server.url)
      socket.write(bytes)
      await sleep(20)
      socket.resetAndDestroy()
    }
    await sleep(50)
    expect(await server.app.seeding.count('notes')).to.equal(before)
    expect((await server.ask('GET', '/livez')).status).to.equal(200)
  })

  function alice(): Promise<string> {
    return server.token('alice', 'member')
  }
})

describe('HTTP/1.0', () => {
  let server: TestServer

  before(async () => {
    server = await startTestServer({ demo: true })
  })
  after(() => server.stop())

  it('is answered without Host, and the connection ends', async () => {
    const { answers, closed } = await converse(server.url, ['GET /livez HTTP/1.0\r\n\r\n'])
    expect([answers.map(({ status, text }) => [status, text]), closed]).to.deep.equal([
      [[200, '{"status":"ok"}']],
      true,
    ])
  })

  it('is guarded like HTTP/1.1', async () => {
    const { answers } = await converse(server.url, ['GET /api/v1/notes HTTP/1.0\r\n\r\n'])
    expect(answers[0]?.status).to.equal(401)
  })
})
