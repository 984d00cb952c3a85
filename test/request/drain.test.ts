/** A graceful end: requests in flight are answered, new ones are refused, and then the process has nothing left open. */
import { connect } from 'node:net'
import { expect } from 'chai'
import { startTestServer, type TestServer } from '../server.ts'
import { converse, open, parseAnswers, request, sleep } from './raw.ts'

const NOTE = '{"title":"in flight"}'

describe('a drain', () => {
  let server: TestServer
  let token: string

  beforeEach(async () => {
    server = await startTestServer()
    token = await server.token('alice', 'member')
  })
  // Draining twice does no harm.
  afterEach(() => server.stop())

  it('lets a request in flight end, then closes its connection and ends, well before the time-outs', async () => {
    const flight = begin()
    await hasRead()
    const started = performance.now()
    const drained = server.app.drain()
    await sleep(50)
    flight.socket.write(NOTE)
    const [answer] = await flight.answers
    expect(answer?.status).to.equal(201)
    expect(answer?.headers.connection).to.equal('close')
    await drained
    expect(performance.now() - started).to.be.lessThan(20_000)
  })

  it('does not end before the request in flight has', async () => {
    const flight = begin()
    await hasRead()
    let over = false
    const drained = server.app.drain().then(() => {
      over = true
    })
    await sleep(300)
    expect(over).to.equal(false)
    flight.socket.write(NOTE)
    expect((await flight.answers)[0]?.status).to.equal(201)
    await drained
  })

  it('refuses new connections', async () => {
    const flight = begin()
    await hasRead()
    const drained = server.app.drain()
    await sleep(20)
    const { hostname, port } = new URL(server.url)
    const code = await new Promise((resolve) => {
      const late = connect(Number(port), hostname)
      late.on('error', (error: NodeJS.ErrnoException) => resolve(error.code))
      late.on('connect', () => resolve('connected'))
    })
    expect(code).to.equal('ECONNREFUSED')
    flight.socket.write(NOTE)
    await Promise.all([flight.answers, drained])
  })

  it('refuses new requests on a connection that is still open: 503 with Retry-After, readiness too', async () => {
    for (const path of ['/api/v1/notes', '/readyz', '/livez', '/nowhere']) {
      const late = open(server.url)
      const head = request(`GET ${path}`, [`Authorization: Bearer ${token}`, 'Connection: keep-alive'])
      await new Promise((resolve) => late.once('connect', resolve))
      late.write(head.slice(0, 20))
      const answers = collect(late)
      const flight = begin()
      await hasRead()
      const drained = server.app.drain()
      await sleep(20)
      late.write(head.slice(20))
      const [answer] = await answers
      expect([answer?.status, answer?.headers['retry-after'], answer?.headers.connection], path).to.deep.equal([
        503,
        '1',
        'close',
      ])
      expect(JSON.parse(answer?.text ?? '{}').code).to.equal('draining')
      expect(await server.lastDecision({ method: 'GET' })).to.include({ status: 503, problem: 'draining' })
      flight.socket.write(NOTE)
      await Promise.all([flight.answers, drained])
      await server.stop()
      server = await startTestServer()
      token = await server.token('alice', 'member')
    }
  })

  it('does not wait for connections that are idle', async () => {
    const idle = Array.from({ length: 5 }, () => open(server.url))
    for (const socket of idle) socket.write(request('GET /livez', ['Connection: keep-alive']))
    await sleep(50)
    const started = performance.now()
    await server.app.drain()
    expect(performance.now() - started).to.be.lessThan(20_000)
    for (const socket of idle) socket.destroy()
  })

  it('without a drain the same request is answered with 201 and the connection stays', async () => {
    const bytes = head(['Connection: keep-alive']) + NOTE
    const { answers } = await converse(server.url, [bytes], { answers: 1 })
    expect([answers[0]?.status, answers[0]?.headers.connection]).to.deep.equal([201, 'keep-alive'])
  })

  /** The server is in this process: once it has answered others, it has read what was written before. */
  async function hasRead(): Promise<void> {
    await sleep(30)
    for (let i = 0; i < 3; i += 1) await converse(server.url, [request('GET /livez')])
  }

  function head(more: readonly string[] = ['Connection: keep-alive']): string {
    const body = ['Content-Type: application/json', `Content-Length: ${NOTE.length}`]
    return request('POST /api/v1/notes', [`Authorization: Bearer ${token}`, ...body, ...more])
  }

  /** A request whose body hasn't come yet. */
  function begin() {
    const socket = open(server.url)
    socket.write(head())
    return { socket, answers: collect(socket) }
  }
})

async function collect(socket: ReturnType<typeof open>) {
  let text = ''
  socket.on('data', (data) => {
    text += data
  })
  await new Promise((resolve) => socket.once('close', resolve).once('end', resolve))
  socket.destroy()
  return parseAnswers(text)
}
