/** Limits of size: 413, 414 and 431, and a client that is still sending gets to read them. */
import { expect } from 'chai'
import { startTestServer, type TestServer } from '../server.ts'
import { type Callers, tokensOf } from './callers.ts'
import { converse, open, parseAnswers, type RawAnswer, request, sleep } from './raw.ts'

const LIMIT = 102_400

describe('a limit of size', () => {
  let server: TestServer
  let callers: Callers

  before(async () => {
    server = await startTestServer({ demo: true })
    callers = await tokensOf(server)
  })
  after(() => server.stop())

  it('a body of exactly the limit is taken, one byte more is 413', async () => {
    const note = (bytes: number) => {
      const [head, tail] = ['{"title":"t","body":"x"', '}']
      return head + ' '.repeat(bytes - head.length - tail.length) + tail
    }
    expect((await server.ask('POST', '/api/v1/notes', { token: callers.alice, body: note(LIMIT) })).status).to.equal(
      201,
    )
    const { status, body } = await server.ask('POST', '/api/v1/notes', { token: callers.alice, body: note(LIMIT + 1) })
    expect([status, body.code, body.detail]).to.deep.equal([
      413,
      'body-too-large',
      'The body is too large; send at most 102400 bytes.',
    ])
  })

  it('413 comes from Content-Length alone, before any of the body', async () => {
    const { status, headers } = await first([request('POST /api/v1/notes', json('Content-Length: 1000000'))])
    expect([status, headers.connection]).to.deep.equal([413, 'close'])
  })

  it('413 comes for chunks as soon as they are too many', async () => {
    const chunk = `8000\r\n${' '.repeat(0x8000)}\r\n`
    const { status, headers } = await first([
      request('POST /api/v1/notes', json('Transfer-Encoding: chunked'), chunk.repeat(4)),
    ])
    expect([status, headers.connection]).to.deep.equal([413, 'close'])
  })

  for (const [what, status, credentials] of [
    ['too large', 413, true],
    ['not permitted', 401, false],
  ] as const) {
    for (const framing of ['Content-Length: 20000000', 'Transfer-Encoding: chunked']) {
      it(`a client that sends a body that is ${what} to its end reads its answer (${framing})`, async () => {
        const headers = credentials ? json(framing) : ['Content-Type: application/json', framing]
        const part = ' '.repeat(20_000_000)
        const body = framing.startsWith('C') ? part : `${part.length.toString(16)}\r\n${part}\r\n0\r\n\r\n`
        const [answer] = await sendAllThenRead(request('POST /api/v1/notes', headers, body))
        expect([answer?.status, answer?.headers.connection]).to.deep.equal([status, 'close'])
      })
    }
  }

  it('the body limit is the one of limits.yaml', async () => {
    const limits = 'body: 1kb\npage: { default: 50, max: 200 }\nlimits: {}\n'
    const small = await startTestServer({ files: { 'policies/limits.yaml': limits } })
    try {
      const token = await small.token('alice', 'member')
      const { status, body } = await small.ask('POST', '/api/v1/notes', { token, body: { title: 'x'.repeat(1100) } })
      expect([status, body.detail]).to.deep.equal([413, 'The body is too large; send at most 1024 bytes.'])
      expect((await small.ask('POST', '/api/v1/notes', { token, body: { title: 't' } })).status).to.equal(201)
      for (const [title, expected] of [
        ['t', 201],
        ['x'.repeat(1100), 413],
      ] as const) {
        // The whole body is there before anybody asks for it.
        const note = JSON.stringify({ title })
        const chunks = `${note.length.toString(16)}\r\n${note}\r\n0\r\n\r\n`
        const headers = json('Transfer-Encoding: chunked').with(0, `Authorization: Bearer ${token}`)
        const whole = await converse(small.url, [request('POST /api/v1/notes', headers, chunks)], { answers: 1 })
        expect(whole.answers.map((answer) => answer.status)).to.deep.equal([expected])
      }
    } finally {
      await small.stop()
    }
  })

  it('a URL of up to 8,192 characters is taken, a longer one is 414, however long', async () => {
    const [path, query] = ['/api/users/', '?x=']
    for (const [length, status] of [
      [8192, 404],
      [8193, 414],
      [15_000, 414],
      [20_000, 414],
      [60_000, 414],
      [1_000_000, 414],
    ] as const) {
      const target = path + 'a'.repeat(length - path.length)
      const answer = await first([request(`GET ${target}`, [`Authorization: Bearer ${callers.ada}`])])
      expect(answer.status, String(length)).to.equal(status)
      expect(answer.headers['content-type']).to.equal('application/problem+json')
    }
    expect((await first([request(`GET ${path}${query}${'a'.repeat(9000)}`)])).status).to.equal(414)
  })

  it('headers of 100 kB are 431, in one header or in many, in a name or in a value, in one packet or in many', async () => {
    const long = 'a'.repeat(100_000)
    const packets = Array.from({ length: 10 }, () => [long.slice(0, 10_000), 5]).flat()
    for (const parts of [
      [request('GET /livez', [`X: ${long}`])],
      [request('GET /livez', [`${long}: x`])],
      [request('GET /livez', [`Cookie: ${long}`])],
      [
        request(
          'GET /livez',
          Array.from({ length: 50 }, (_, i) => `X-${i}: ${long.slice(0, 2000)}`),
        ),
      ],
      ['GET /livez HTTP/1.1\r\nHost: localhost\r\nX: ', 5, ...packets],
    ]) {
      const answer = await first(parts)
      expect([answer.status, answer.headers['content-type']]).to.deep.equal([431, 'application/problem+json'])
    }
  })

  it('2,000 headers are 431, 90 are not', async () => {
    const many = (count: number) => Array.from({ length: count }, () => 'a: b')
    expect((await first([request('GET /livez', many(2000))])).status).to.equal(431)
    expect((await first([request('GET /livez', many(101))])).status).to.equal(431)
    expect((await first([request('GET /livez', many(90))])).status).to.equal(200)
  })

  it('a second request that is too large does not spoil the answer to the first', async () => {
    const large = request('GET /livez', [`X: ${'a'.repeat(100_000)}`])
    const { answers, closed } = await converse(server.url, [
      request('GET /livez', ['Connection: keep-alive']),
      50,
      large,
    ])
    expect([answers.map(({ status }) => status), closed]).to.deep.equal([[200, 431], true])
  })

  /** As a client that does one thing after another; what a reset takes from it is lost. */
  async function sendAllThenRead(bytes: string): Promise<readonly RawAnswer[]> {
    const socket = open(server.url)
    await new Promise((resolve) => {
      socket.write(bytes, resolve)
      socket.once('close', resolve)
    })
    await sleep(50)
    let text = ''
    for await (const data of socket) text += data
    return parseAnswers(text)
  }

  function json(framing: string): readonly string[] {
    return [`Authorization: Bearer ${callers.alice}`, 'Content-Type: application/json', framing]
  }

  async function first(parts: readonly (string | number)[]): Promise<RawAnswer> {
    const { answers, closed } = await converse(server.url, parts)
    expect([answers.length, closed]).to.deep.equal([1, true])
    return answers[0] as RawAnswer
  }
})
