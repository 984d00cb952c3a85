/** What @sallyport/client takes for an answer: bytes that each reader understands alike. */
import { expect } from 'chai'
import { AuthzenClient, type Question } from '../../packages/client/src/index.ts'
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
