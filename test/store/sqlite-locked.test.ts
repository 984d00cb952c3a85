/** A served database that another process has locked: who reads isn't kept waiting, and who writes is told. */
import { expect } from 'chai'
import type { WritePlace } from '../../src/store/contract.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { answersDuring, FEW, type HeldLock, holdLock } from './lock-holder.ts'

describe('a server whose database another process has locked', () => {
  let server: TestServer
  let held: HeldLock | undefined
  afterEach(async () => {
    await held?.release()
    await server.stop()
  })

  /** How often it answered while a write waited for the lock, and the write's answer. */
  async function lockedServer(writer: WritePlace) {
    server = await startTestServer({ writer })
    const token = await server.token('ann', 'member')
    const post = () => server.ask('POST', '/api/v1/notes', { token, body: { title: 't' } })
    const { id } = (await post()).body
    held = await holdLock(`${server.folder}/data/sallyport.db`)
    const write = post()
    const answers = await answersDuring(write, async () => {
      const statuses = [await server.ask('GET', '/livez'), await server.ask('GET', `/api/v1/notes/${id}`, { token })]
      expect(statuses.map(({ status }) => status)).to.deep.equal([200, 200])
    })
    const { status, headers } = await write
    return { answers, status, retryAfter: headers.get('retry-after'), post }
  }

  it('answers reads and /livez, refuses writes with 503 and Retry-After, and goes on when the lock is gone', async () => {
    const { answers, status, retryAfter, post } = await lockedServer('thread')
    expect(answers).to.be.above(FEW)
    expect([status, retryAfter]).to.deep.equal([503, '5'])
    expect((await server.ask('GET', '/readyz')).status).to.equal(503)
    await held?.release()
    held = undefined
    expect((await post()).status).to.equal(201)
  })

  it('would answer none of them if it wrote on the thread that answers', async () => {
    const { answers, status } = await lockedServer('here')
    expect(status).to.equal(503)
    expect(answers).to.be.below(FEW)
  })
})
