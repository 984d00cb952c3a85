/** Whatever bytes come over a connection, in whatever packets, each answer is one of the catalogue's and the server goes on. */
import { expect } from 'chai'
import fc from 'fast-check'
import { CATALOGUE } from '../../src/base/problems/catalogue.ts'
import type { TokenVerifier } from '../../src/identity/caller.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { converse, request } from './raw.ts'

const STATUSES = [100, 200, 201, 204, ...new Set(Object.values(CATALOGUE).map(({ status }) => status))]
const KEPT = ['Connection: keep-alive']

describe('any bytes', () => {
  let server: TestServer

  before(async () => {
    const timeouts = { headersMs: 150, requestMs: 200, keepAliveMs: 50, answerMs: 20_000 }
    // Any token is alice's, so that a counterexample is short.
    const caller = { id: 'alice', roles: ['member'], claims: {} }
    const verifier: TokenVerifier = { verify: async () => ({ kind: 'caller', caller }) }
    server = await startTestServer({ demo: true, timeouts, verifier })
  })
  after(() => server.stop())

  it('are answered or cut off, never with a fault of the server, and nothing hangs', async () => {
    const authorization = 'Authorization: Bearer x'
    const json = [authorization, 'Content-Type: application/json']
    const message = fc.constantFrom(
      request('GET /livez', KEPT),
      request('GET /api/v1/notes', [...KEPT, authorization]),
      request('OPTIONS *', KEPT),
      request('CONNECT example.com:443', KEPT),
      request('TRACE /livez', KEPT),
      request('GET /livez', [...KEPT, 'Upgrade: websocket']),
      request('GET /livez', ['Connection: Upgrade', 'Upgrade: h2c']),
      request('POST /api/v1/notes', [...KEPT, ...json, 'Content-Length: 13'], '{"title":"t"}'),
      request('POST /api/v1/notes', [...KEPT, ...json, 'Content-Length: 13', 'Expect: 100-continue'], '{"title":"t"}'),
      request(
        'POST /api/v1/notes',
        [...KEPT, ...json, 'Transfer-Encoding: chunked'],
        'd\r\n{"title":"t"}\r\n0\r\n\r\n',
      ),
      request('POST /nowhere', [...KEPT, 'Transfer-Encoding: chunked'], '5\r\nabcde\r\n0\r\n\r\n'),
      'rubbish\r\n\r\n',
    )
    const edit = fc.record({
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      put: fc.constantFrom('', '\r\n', '\n', '\r', ' ', ':', '0', '\0', '\xff', '%', 'Host: x\r\n', '\r\n\r\n'),
      drop: fc.nat(3),
    })
    const bytes = fc
      .tuple(fc.array(message, { minLength: 1, maxLength: 4 }), fc.array(edit, { maxLength: 2 }))
      .map(([messages, edits]) => edits.reduce(applied, messages.join('')))
    const packets = fc.tuple(bytes, fc.double({ min: 0, max: 1, noNaN: true }), fc.boolean())
    await fc.assert(
      fc.asyncProperty(fc.array(packets, { minLength: 80, maxLength: 80 }), async (cases) => {
        await Promise.all(cases.map(expectOrder))
      }),
      { numRuns: 2, endOnFailure: true },
    )
    expect((await server.ask('GET', '/livez')).status).to.equal(200)
    expect(server.log.filter(({ level }) => Number(level) > 40)).to.deep.equal([])
  })

  async function expectOrder([text, cut, whole]: readonly [string, number, boolean]): Promise<void> {
    const all = Buffer.from(text, 'latin1')
    const at = Math.floor(cut * all.length)
    const parts = whole ? [all] : [all.subarray(0, at), 10, all.subarray(at)]
    const { answers, closed } = await converse(server.url, parts)
    expect(closed, text).to.equal(true)
    for (const { status } of answers) expect(status, text).to.be.oneOf(STATUSES)
  }
})

function applied(text: string, { at, put, drop }: { at: number; put: string; drop: number }): string {
  const place = Math.floor(at * (text.length + 1))
  return text.slice(0, place) + put + text.slice(place + drop)
}
