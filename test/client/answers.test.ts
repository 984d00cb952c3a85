/** What @sallyport/client takes for an answer: bytes that each reader understands alike. */
import { expect } from 'chai'
import fc from 'fast-check'
import { AuthzenClient, type Question } from '../../packages/client/src/index.ts'
import { runs } from '../runs.ts'
import { type AuthzenServer, startAuthzenServer } from './authzen-server.ts'
import { codeOf } from './outcome.ts'

const READ: Question = {
  subject: { type: 'user', id: 'alice' },
  action: { name: 'read' },
  resource: { type: 'record', id: 'record-1' },
}

describe('an answer to the client', () => {
  let server: AuthzenServer
  let client: AuthzenClient

  before(async () => {
    server = await startAuthzenServer()
    client = new AuthzenClient({ url: server.url, timeoutMs: 20_000 })
  })
  after(async () => {
    client.close()
    await server.stop()
  })

  const answering = (body: string, headers: Record<string, string> = {}) => {
    server.instead = (_received, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json', ...headers }).end(body)
      return true
    }
  }

  const NAMED_TWICE = [
    '{"decision":false,"decision":true}',
    '{"decision":true,"decision":true}',
    '{"decision" : false , "\\u0064ecision" : true}',
    '{"decision":true,"context":{"error":{"status":500},"error":null}}',
    '{"decision":true,"context":{"obligations":["seal"]},"context":{}}',
    '{"decision":true,"context":{"a":[[{"b":1,"b":{}}]]}}',
    '{"decision":true,"context":{"a\\"":1,"a\\u0022":2}}',
    '{"decision":true,"context":{"__proto__":1,"__proto__":2}}',
  ]

  it('names no member twice: JSON does not say which one counts', async () => {
    for (const text of NAMED_TWICE) {
      answering(text)
      expect(await codeOf(client.evaluate(READ)), text).to.equal('invalid-answer')
      expect(await client.allows(READ), text).to.equal(false)
      answering(`{"evaluations":[{"decision":true},${text}]}`)
      expect(await codeOf(client.evaluations([READ, READ])), text).to.equal('invalid-answer')
    }
  })

  it('may be any other JSON, with any names and texts', async () => {
    const inContext = fc
      .jsonValue()
      .chain((value) => fc.constantFrom(JSON.stringify(value), JSON.stringify(value, null, 2)))
    await fc.assert(
      fc.asyncProperty(
        inContext,
        fc.string({ unit: fc.constantFrom('"', '\\', ':', '{', 'a', '\u2028') }),
        async (a, b) => {
          const text = `{"decision":true,"context":{"a":${a},${JSON.stringify(`b${b}`)} : ${JSON.stringify(b)}}}`
          answering(text)
          expect(await client.evaluate(READ)).to.deep.equal(JSON.parse(text))
        },
      ),
      { numRuns: runs(100) },
    )
  })

  it('may be as deep as JSON may be', async () => {
    answering(`{"decision":true,"context":{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}}`)
    expect((await client.evaluate(READ)).decision).to.equal(true)
  })

  it('counts in no content coding, which the client never asks for', async () => {
    for (const coding of ['gzip', 'br', 'deflate', 'zstd', 'gzip, identity', 'x']) {
      answering('{"decision":true}', { 'Content-Encoding': coding })
      expect(await codeOf(client.evaluate(READ)), coding).to.equal('invalid-answer')
      expect(await client.allows(READ), coding).to.equal(false)
    }
    answering('{"decision":true}', { 'Content-Encoding': 'Identity' })
    expect(await client.allows(READ)).to.equal(true)
    expect(server.received.at(-1)?.headers).to.include({ 'accept-encoding': 'identity' })
  })
})
