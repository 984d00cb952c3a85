/** The cache of the client: decisions for a short time, at most so many, and none from before a change of the policy. */
import { expect } from 'chai'
import { DecisionCache } from '../../packages/client/src/decision-cache.ts'
import { AuthzenClient, type ClientOptions, type Question } from '../../packages/client/src/index.ts'
import { type AuthzenServer, startAuthzenServer } from './authzen-server.ts'
import { codeOf } from './outcome.ts'

const READ: Question = {
  subject: { type: 'user', id: 'alice' },
  action: { name: 'read' },
  resource: { type: 'record', id: 'record-1' },
}
const OTHER: Question = { ...READ, resource: { type: 'record', id: 'record-2' } }

describe('the cache of the client', () => {
  let server: AuthzenServer
  const opened: AuthzenClient[] = []
  const connect = (options: Partial<ClientOptions> = { cache: { seconds: 60 } }) => {
    const client = new AuthzenClient({ url: server.url, timeoutMs: 20_000, ...options })
    opened.push(client)
    return client
  }
  beforeEach(async () => {
    server = await startAuthzenServer()
  })
  afterEach(async () => {
    for (const one of opened.splice(0)) one.close()
    await server.stop()
  })

  it('is off unless it is asked for', async () => {
    const client = connect({})
    await client.evaluate(READ)
    await client.evaluate(READ)
    expect(server.received).to.have.length(2)
  })

  it('gives the decision of the same question again, which nobody can change', async () => {
    const client = connect()
    const first = await client.evaluate(READ)
    expect(() => Object.assign(first, { decision: false })).to.throw(TypeError)
    expect(await client.evaluate({ ...READ })).to.deep.equal({ decision: true })
    await client.evaluate({ ...READ, context: { at: 'night' } })
    await client.evaluate(OTHER)
    expect(server.received).to.have.length(3)
  })

  it('forgets all when the policy changes, by the header or by the decision', async () => {
    for (const tell of ['header', 'context'] as const) {
      let revision = 'a'
      server.instead = (_received, response) => {
        if (tell === 'header') response.setHeader('Policy-Revision', revision)
        const context = tell === 'context' ? { revision } : undefined
        const body = JSON.stringify({ decision: revision === 'a', context })
        response.writeHead(200, { 'Content-Type': 'application/json' }).end(body)
        return true
      }
      const client = connect()
      expect((await client.evaluate(READ)).decision).to.equal(true)
      revision = 'b'
      expect((await client.evaluate(READ)).decision).to.equal(true)
      expect((await client.evaluate(OTHER)).decision).to.equal(false)
      expect((await client.evaluate(READ)).decision).to.equal(false)
    }
  })

  it('keeps no answer that was under way when the policy changed', async () => {
    const held: (() => void)[] = []
    server.instead = ({ body }, response) => {
      const slow = body.context?.slow === true
      const revision = slow ? 'old' : 'new'
      const answer = () =>
        response
          .writeHead(200, { 'Content-Type': 'application/json', 'Policy-Revision': held.length < 1 ? 'old' : revision })
          .end(JSON.stringify({ decision: slow }))
      if (slow) held.push(answer)
      else answer()
      return true
    }
    const client = connect()
    const slow = { ...READ, context: { slow: true } }
    await client.evaluate(OTHER)
    const asked = client.evaluate(slow)
    while (held.length === 0) await new Promise((next) => setTimeout(next, 5))
    await client.evaluate(READ)
    held[0]?.()
    expect((await asked).decision).to.equal(true)
    const again = client.evaluate(slow)
    while (held.length < 2) await new Promise((next) => setTimeout(next, 5))
    held[1]?.()
    await again
    expect(held).to.have.length(2)
  })

  it('keeps no fault', async () => {
    const client = connect()
    server.instead = (_received, response) => {
      response.writeHead(500).end()
      return true
    }
    expect(await codeOf(client.evaluate(READ))).to.equal('failed')
    server.instead = () => false
    expect(await client.evaluate(READ)).to.deep.equal({ decision: true })
  })

  it('keeps at most so many, for at most so long', () => {
    let now = 0
    const cache = new DecisionCache({ seconds: 2, most: 2 }, () => now)
    const keep = (question: string) => cache.keep(cache.begin(), question, { decision: true })
    const has = (...questions: readonly string[]) => questions.map((one) => cache.get(one) !== undefined)
    keep('a')
    keep('b')
    expect(has('a')).to.deep.equal([true])
    keep('c')
    expect(has('a', 'b', 'c')).to.deep.equal([true, false, true])
    now = 1999
    expect(has('a')).to.deep.equal([true])
    now = 2000
    expect(has('a', 'c')).to.deep.equal([false, false])
    const begun = cache.begin()
    now = 5000
    cache.keep(begun, 'late', { decision: true })
    expect(has('late')).to.deep.equal([false])
    keep('x'.repeat(5000))
    expect(has('x'.repeat(5000))).to.deep.equal([false])
    cache.keep(cache.begin(), 'deep', { decision: true, context: nested(40) })
    expect(has('deep')).to.deep.equal([false])
  })
})

function nested(depth: number): Record<string, unknown> {
  return depth === 0 ? {} : { in: nested(depth - 1) }
}
