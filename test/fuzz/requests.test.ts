/** Whatever bytes a client sends as a target, as credentials or as a patch: a server answers, and never with 500 or more. */
import { expect } from 'chai'
import fc from 'fast-check'
import { converse, request } from '../request/raw.ts'
import { runs } from '../runs.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { anyBytes, seedsIn } from './inputs.ts'
import { openParsers } from './parsers.ts'

const parsers = await openParsers()

/** How the bytes of a parser stand in a request. */
const REQUESTS: Readonly<Record<string, (bytes: Buffer, sent: Sent) => readonly Buffer[]>> = {
  target: (bytes, { token }) => [
    Buffer.from('GET '),
    bytes,
    Buffer.from(` HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`),
  ],
  authorization: (bytes) => [
    Buffer.from('GET /api/v1/notes HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: '),
    bytes,
    Buffer.from('\r\n\r\n'),
  ],
  'json-patch': (bytes, { token, note }) => {
    const headers = [`Authorization: Bearer ${token}`, 'Content-Type: application/json-patch+json']
    const head = request(`PATCH /api/v1/notes/${note}`, [...headers, `Content-Length: ${bytes.length}`])
    return [Buffer.from(head), bytes]
  },
}

interface Sent {
  readonly token: string
  readonly note: string
}

describe('a server', () => {
  let server: TestServer
  let sent: Sent
  before(async () => {
    server = await startTestServer()
    const token = await server.token('alice', 'member')
    const { body } = await server.ask('POST', '/api/v1/notes', { token, body: { title: 'a note' } })
    sent = { token, note: body.id }
  })
  after(() => server.stop())

  for (const [name, requestOf] of Object.entries(REQUESTS)) {
    const parser = parsers.find((one) => one.name === name)
    if (!parser) throw new Error(`no parser is called ${name}`)
    const seeds = seedsIn(parser)
    const statuses = async (bytes: Buffer) => {
      const { answers } = await converse(server.url, [Buffer.concat(requestOf(bytes, sent))], { answers: 1 })
      return answers.map(({ status }) => status)
    }

    it(`answers any ${name}`, async () => {
      const answered = new Set<number>()
      const isAnswered = async (bytes: Buffer) => {
        const all = await statuses(bytes)
        for (const status of all) answered.add(status)
        expect(all.filter((status) => status >= 500)).to.deep.equal([])
      }
      for (const bytes of seeds.values()) await isAnswered(bytes)
      await fc.assert(fc.asyncProperty(anyBytes(parser, [...seeds.values()]), isAnswered), { numRuns: runs(2000, 50) })
      expect(answered.size).to.be.at.least(2)
      const failed = server.log.filter(({ msg }) => msg === 'request failed' || msg === 'response failed')
      expect(failed).to.deep.equal([])
    })
  }
})
