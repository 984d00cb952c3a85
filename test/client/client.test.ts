/** @sallyport/client against a small server that knows the standard alone: every fault throws, and none is a decision. */
import type { ServerResponse } from 'node:http'
import { expect } from 'chai'
import fc from 'fast-check'
import { AuthzenClient, AuthzenError, type Question } from '../../packages/client/src/index.ts'
import { runs } from '../runs.ts'
import { type AuthzenServer, startAuthzenServer } from './authzen-server.ts'
import { codeOf, errorOf } from './outcome.ts'

const READ: Question = {
  subject: { type: 'user', id: 'alice' },
  action: { name: 'read' },
  resource: { type: 'record', id: 'record-1' },
}
const WRITE_ARCHIVED: Question = { ...READ, action: { name: 'write' }, resource: { type: 'record', id: 'record-2' } }

describe('the client', () => {
  let server: AuthzenServer
  let client: AuthzenClient
  const opened: AuthzenClient[] = []

  const connect = (options: Partial<ConstructorParameters<typeof AuthzenClient>[0]> = {}) => {
    // A busy machine may be slow; tests of time-outs give their own.
    const one = new AuthzenClient({ url: server.url, timeoutMs: 20_000, ...options })
    opened.push(one)
    return one
  }

  beforeEach(async () => {
    server = await startAuthzenServer()
    client = connect()
  })
  afterEach(async () => {
    for (const one of opened.splice(0)) one.close()
    await server.stop()
  })

  const answering = (body: unknown, status = 200, type = 'application/json') => {
    server.instead = (_received, response) => {
      response.writeHead(status, { 'Content-Type': type }).end(typeof body === 'string' ? body : JSON.stringify(body))
      return true
    }
  }

  it('asks what the standard says, and gives the decision', async () => {
    expect(await client.evaluate({ ...READ, context: { at: 'noon' } })).to.deep.equal({ decision: true })
    expect(await client.evaluate(WRITE_ARCHIVED)).to.deep.equal({ decision: false })
    const [first] = server.received
    expect(first).to.include({ method: 'POST', path: '/access/v1/evaluation' })
    expect(first?.headers).to.include({ 'content-type': 'application/json', accept: 'application/json' })
    expect(first?.body).to.deep.equal({ ...READ, context: { at: 'noon' } })
  })

  it('sends no member that the standard does not name', async () => {
    const extended = { ...READ, password: 'hidden' }
    await client.evaluate(extended)
    expect(server.received[0]?.body).to.deep.equal(READ)
  })

  it('sends its credentials, a request id, and further headers', async () => {
    let asked = 0
    const own = connect({ token: async () => `key-${++asked}`, headers: { 'X-Tenant': 'acme' } })
    await own.evaluate(READ, { requestId: 'r-1' })
    await own.evaluate(READ)
    expect(server.received.map(({ headers }) => headers.authorization)).to.deep.equal(['Bearer key-1', 'Bearer key-2'])
    expect(server.received[0]?.headers).to.include({ 'x-request-id': 'r-1', 'x-tenant': 'acme' })
  })

  it('keeps its connections', async () => {
    for (let i = 0; i < 5; i++) await client.evaluate(READ)
    expect(server.connections).to.equal(1)
  })

  it('asks once more over a new connection when the kept one was closed while it was idle', async () => {
    let breaks = 1
    await client.evaluate(READ)
    server.instead = ({ path }, response) => {
      if (breaks-- <= 0 || path === '') return false
      response.socket?.resetAndDestroy()
      return true
    }
    expect(await client.evaluate(READ)).to.deep.equal({ decision: true })
    expect(server.received).to.have.length(3)
  })

  it('asks only twice, and a connection that was new only once', async () => {
    await client.evaluate(READ)
    server.instead = (_received, response) => {
      response.socket?.resetAndDestroy()
      return true
    }
    expect(await codeOf(client.evaluate(READ))).to.equal('unreachable')
    expect(server.received).to.have.length(3)
    expect(await codeOf(connect().evaluate(READ))).to.equal('unreachable')
    expect(server.received).to.have.length(4)
  })

  it('throws for every answer that is no decision', async () => {
    const wrong: readonly (readonly [body: unknown, code: string, status?: number, type?: string])[] = [
      [{ decision: 'true' }, 'invalid-answer'],
      [{ decision: 1 }, 'invalid-answer'],
      [{}, 'invalid-answer'],
      [[{ decision: true }], 'invalid-answer'],
      ['true', 'invalid-answer'],
      ['', 'invalid-answer'],
      ['{"decision":true', 'invalid-answer'],
      [{ decision: true, context: 'no' }, 'invalid-answer'],
      [{ decision: true }, 'invalid-answer', 200, 'text/html'],
      [{ decision: true }, 'invalid-answer', 201],
      [{ decision: true }, 'invalid-answer', 302],
      [{ decision: true }, 'refused', 400],
      [{ decision: true }, 'refused', 401],
      [{ decision: true }, 'refused', 403],
      [{ decision: true }, 'refused', 429],
      [{ decision: true }, 'failed', 500],
      [{ decision: true }, 'failed', 503],
    ]
    for (const [body, code, status, type] of wrong) {
      answering(body, status, type)
      expect(await codeOf(client.evaluate(READ)), JSON.stringify(body)).to.equal(code)
      expect(await client.allows(READ)).to.equal(false)
    }
    answering({ decision: true, more: 1 }, 200, 'application/json; charset=utf-8')
    expect(await client.allows(READ)).to.equal(true)
  })

  it('takes no other body for a permit than an object with `decision: true`', async () => {
    const decision = fc.oneof(
      fc.boolean(),
      fc.jsonValue(),
      fc.constantFrom('true', 1, null, [true], { decision: true }),
    )
    const body = fc.oneof(fc.jsonValue(), fc.record({ decision }), fc.array(fc.record({ decision })))
    await fc.assert(
      fc.asyncProperty(body, fc.constantFrom(200, 200, 201, 400, 500), async (value, status) => {
        answering(JSON.stringify(value), status)
        const object = typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
        const permits = status === 200 && 'decision' in object && object.decision === true
        expect(await client.allows(READ), JSON.stringify(value)).to.equal(permits)
      }),
      { numRuns: runs(100) },
    )
  })

  it('allows nothing by a permit with obligations, which the caller of `allows` never sees', async () => {
    for (const [obligations, allowed] of [
      [[{ id: 'step-up' }], false],
      ['step-up', false],
      [[], true],
      [null, true],
    ]) {
      answering({ decision: true, context: { obligations } })
      expect(await client.allows(READ), JSON.stringify(obligations)).to.equal(allowed)
      expect((await client.evaluate(READ)).decision).to.equal(true)
    }
  })

  it('tells `onFault` of a fault, and not of a denial', async () => {
    const told: unknown[] = []
    const onFault = (error: unknown) => told.push(error)
    expect(await client.allows(WRITE_ARCHIVED, { onFault })).to.equal(false)
    expect(told).to.deep.equal([])
    answering('', 500)
    expect(await client.allows(READ, { onFault })).to.equal(false)
    expect(told).to.have.length(1)
    expect(told[0]).to.be.instanceOf(AuthzenError).and.to.include({ code: 'failed', status: 500 })
  })

  it('gives up in time, also when the answer only trickles', async () => {
    const quick = connect({ timeoutMs: 150 })
    server.instead = () => true
    expect(await codeOf(quick.evaluate(READ))).to.equal('timeout')
    let trickling: ServerResponse | undefined
    server.instead = (_received, response) => {
      trickling = response.writeHead(200, { 'Content-Type': 'application/json' })
      trickling.write('{"decision":')
      return true
    }
    expect(await codeOf(quick.evaluate(READ))).to.equal('timeout')
    expect(await codeOf(connect({ timeoutMs: 150, token: () => new Promise(() => {}) }).evaluate(READ))).to.equal(
      'timeout',
    )
    expect(await codeOf(client.evaluate(READ, { timeoutMs: 150 }))).to.equal('timeout')
  })

  it('ends when its caller aborts', async () => {
    server.instead = () => true
    for (const batch of [{}, false] as const) {
      const controller = new AbortController()
      const asked = codeOf(connect({ batch }).evaluate(READ, { signal: controller.signal }))
      controller.abort()
      expect(await asked).to.equal('aborted')
      expect(await codeOf(client.evaluate(READ, { signal: AbortSignal.abort() }))).to.equal('aborted')
    }
  })

  it('refuses an answer that is too large, without reading all of it', async () => {
    const small = connect({ mostAnswerBytes: 1000 })
    let written = 0
    server.instead = (_received, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' })
      const more = () => {
        while (!response.destroyed && written < 50_000_000) {
          written += 10_000
          if (!response.write(' '.repeat(10_000))) return void response.once('drain', more)
        }
        response.end('{"decision":true}')
      }
      more()
      return true
    }
    expect(await codeOf(small.evaluate(READ))).to.equal('invalid-answer')
    expect(written).to.be.lessThan(50_000_000)
  })

  it('lets only so many questions wait', async () => {
    const few = connect({ mostWaiting: 3 })
    const asked = await Promise.all([1, 2, 3, 4].map(() => codeOf(few.evaluate(READ))))
    expect(asked).to.deep.equal([undefined, undefined, undefined, 'overloaded'])
    expect(await codeOf(few.evaluate(READ))).to.equal(undefined)
  })

  it('says when nothing listens, and when the question is no JSON', async () => {
    expect(await codeOf(client.evaluate({ ...READ, context: { big: 1n } }))).to.equal('not-asked')
    const failing = connect({ token: () => Promise.reject(new Error('no vault')) })
    expect(await codeOf(failing.evaluate(READ))).to.equal('not-asked')
    await server.stop()
    expect(await codeOf(client.evaluate(READ))).to.equal('unreachable')
  })

  it('never tells credentials in an error', async () => {
    const own = connect({ token: 'very-secret', headers: { 'X-Key': 'also-secret' } })
    for (const status of [401, 500]) {
      answering({ title: 'no' }, status)
      const error = await errorOf(own.evaluate(READ))
      expect(JSON.stringify({ ...error, message: error.message, stack: error.stack })).to.not.contain('secret')
      expect(error.answered).to.equal('{"title":"no"}')
    }
    const broken = await errorOf(connect({ token: 'bad\nsecret' }).evaluate(READ))
    expect(`${broken.code} ${broken.message} ${broken.cause}`)
      .to.match(/^not-asked/)
      .and.not.contain('secret')
  })

  it('refuses options that cannot be meant', () => {
    const refused: readonly (readonly [object, RegExp])[] = [
      [{ url: 'pdp' }, /`url` is no URL/],
      [{ url: 'http://pdp.example.com' }, /not encrypted/],
      [{ url: 'ftp://127.0.0.1' }, /not encrypted/],
      [{ url: 'https://pdp.example.com/?a=1' }, /has a query/],
      [{ url: 'https://me:secret@pdp.example.com/' }, /credentials/],
      [{ timeoutMs: 0 }, /`timeoutMs` is `0`/],
      [{ timeoutMs: Number.NaN }, /above 0/],
      [{ batch: { most: 1.5 } }, /whole number/],
      [{ cache: { seconds: 61 } }, /at most 60/],
    ]
    for (const [options, message] of refused) expect(() => connect(options)).to.throw(TypeError, message)
    expect(() => connect({ url: 'http://pdp.example.com', allowPlainHttp: true })).not.to.throw()
    expect(() => connect({ url: 'http://[::1]:3000' })).not.to.throw()
  })
})
