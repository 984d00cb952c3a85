/** A slow client is cut off, and costs the server one connection for as long as the time-outs say. */
import { connect } from 'node:net'
import { expect } from 'chai'
import { startTestServer, type TestServer } from '../server.ts'
import { tokensOf } from './callers.ts'
import { converse, open, request, sleep } from './raw.ts'

const TIMEOUTS = { headersMs: 250, requestMs: 400, keepAliveMs: 300, answerMs: 20_000 }

describe('a slow client', () => {
  let server: TestServer
  let post: string

  before(async () => {
    server = await startTestServer({ demo: true, timeouts: TIMEOUTS })
    const { alice } = await tokensOf(server)
    post = `POST /api/v1/notes HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${alice}\r\nContent-Type: application/json\r\n`
  })
  after(() => server.stop())

  it('whose request line or headers never end gets 408', async () => {
    await all([
      ['GET /livez'],
      ['GET /livez HTTP/1.1\r\n'],
      ['GET /livez HTTP/1.1\r\nHost: localhost\r\nX: a'],
      // A byte now and then doesn't help.
      ['GET /livez HTTP/1.1\r\n', ...Array.from({ length: 20 }, () => ['X', 80]).flat()],
    ])
  })

  it('whose body never ends gets 408, and nothing is written', async () => {
    const before = await server.app.seeding.count('notes')
    await all([
      [`${post}Content-Length: 13\r\n\r\n`],
      [`${post}Content-Length: 13\r\n\r\n{"ti`],
      [`${post}Transfer-Encoding: chunked\r\n\r\n4\r\n{"ti\r\n`],
      [`${post}Content-Length: 1000\r\n\r\n{"title":"t"`, ...Array.from({ length: 20 }, () => [' ', 80]).flat()],
      [`${post}Content-Length: 13\r\nExpect: 100-continue\r\n\r\n`],
    ])
    expect(await server.app.seeding.count('notes')).to.equal(before)
  })

  it('leaves one decision record, with the request id that it was told', async () => {
    const before = (await server.decisions()).length
    const cases = [
      ['GET /livez HTTP/1.1\r\n', undefined],
      [`${post}Content-Length: 13\r\n\r\n{"ti`, '/api/v1/notes'],
    ] as const
    await Promise.all(
      cases.map(async ([bytes, route]) => {
        const { answers } = await converse(server.url, [bytes])
        const { instance } = JSON.parse(answers.at(-1)?.text ?? '{}')
        const found = (await server.decisions()).filter(({ requestId }) => `urn:uuid:${requestId}` === instance)
        expect(found).to.have.length(1)
        expect(found[0]).to.include({ status: 408, problem: 'request-timeout', outcome: 'refused' })
        expect(found[0]?.route).to.equal(route)
      }),
    )
    expect(await server.decisions()).to.have.length(before + 2)
  })

  it('that never says anything is cut off without an answer', async () => {
    expect(await converse(server.url, [])).to.deep.equal({ answers: [], closed: true })
  })

  it('that keeps a connection without using it loses it', async () => {
    const { answers, closed } = await converse(server.url, [request('GET /livez', ['Connection: keep-alive'])])
    expect([answers.map(({ status }) => status), closed]).to.deep.equal([[200], true])
  })

  it('that takes no answer is cut off', async () => {
    const impatient = await startTestServer({ timeouts: { ...TIMEOUTS, answerMs: 1000 } })
    const socket = open(impatient.url)
    const closed = new Promise((resolve) => socket.once('close', resolve))
    const openapi = request('GET /openapi.json', ['Connection: keep-alive']).repeat(1000)
    const send = () => {
      while (!socket.destroyed && socket.write(openapi));
    }
    socket.on('drain', send)
    send()
    await closed
    expect((await impatient.ask('GET', '/livez')).status).to.equal(200)
    await impatient.stop()
  })

  it('that never closes its side is closed on both sides', async () => {
    const socket = open(server.url)
    socket.resume()
    socket.write('GET /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
    await new Promise((resolve) => socket.once('end', resolve))
    await sleep(1500)
    // Only a socket that is gone resets who still writes to it.
    socket.write('x')
    await sleep(50)
    socket.write('x')
    await sleep(50)
    expect(socket.destroyed).to.equal(true)
  })

  it('does not keep others from being served', async () => {
    const { hostname, port } = new URL(server.url)
    const slow = Array.from({ length: 100 }, () => connect(Number(port), hostname).on('error', () => undefined))
    for (const socket of slow) socket.write('GET /livez HTTP/1.1\r\n')
    expect((await server.ask('GET', '/livez')).status).to.equal(200)
    for (const socket of slow) socket.destroy()
  })

  it('one that is quick enough is served: the time-outs are no less', async () => {
    const { answers } = await converse(server.url, [`${post}Content-Length: 13\r\n\r\n{"tit`, 100, 'le":"t"}'], {
      answers: 1,
    })
    expect(answers[0]?.status).to.equal(201)
  })

  async function all(cases: readonly (readonly (string | number)[])[]): Promise<void> {
    await Promise.all(cases.map(expectTimeout))
  }

  async function expectTimeout(parts: readonly (string | number)[]): Promise<void> {
    const { answers, closed } = await converse(server.url, parts)
    const answer = answers.at(-1)
    expect([answer?.status, closed], String(parts[0])).to.deep.equal([408, true])
    expect(answer?.headers).to.include({ connection: 'close', 'content-type': 'application/problem+json' })
    expect(JSON.parse(answer?.text ?? '{}').code).to.equal('request-timeout')
  }
})
