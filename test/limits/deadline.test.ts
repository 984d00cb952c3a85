/** How long an answer is waited for, and that a stall of this process isn't taken for a loss of Redis. */
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { expect } from 'chai'
import { answerWithin } from '../../src/base/under-way.ts'
import { quotaFor } from './contract.ts'
import { millisecondsFor } from './load.ts'
import { causeOf, command, end, open, start } from './on-redis.ts'

const STALL_MS = 600

describe('a deadline', () => {
  it('passes on an answer, and a failure', async () => {
    expect(await answerWithin(1000, Promise.resolve('yes'))).to.equal('yes')
    const failure = await answerWithin(1000, Promise.reject(new Error('no'))).catch((error) => error.message)
    expect(failure).to.equal('no')
  })

  it('is kept when no answer comes', async () => {
    let outcome: unknown
    const never = new Promise(() => {})
    const took = await millisecondsFor(async () => {
      outcome = await answerWithin(100, never).catch((error) => error.message)
    })
    expect(outcome).to.equal('no answer within 100 ms')
    expect(took).to.be.within(90, 60_000)
  })
})

describe('a stall of the process', () => {
  afterEach(end)

  it('before a request was sent is no loss of Redis', async () => {
    const { limiter, events } = await open((await start()).url)
    const asked = limiter.admit([quotaFor({})])
    stall()
    await asked
    expect(events).to.deep.equal([])
  })

  it('before the answer was read is no loss of Redis', async () => {
    const { limiter, events } = await open((await start()).url)
    const asked = limiter.admit([quotaFor({})])
    await turn()
    stall()
    await asked
    expect(events).to.deep.equal([])
  })

  it('while Redis was slow, but in time, is no loss of it', async () => {
    const redis = await start()
    const { limiter, events } = await open(redis.url)
    await command(redis, ['CLIENT', 'PAUSE', '180'])
    const asked = limiter.admit([quotaFor({})])
    await sleep(140)
    await turn()
    stall()
    await asked
    expect(events).to.deep.equal([])
  })

  it('does not hide that Redis is lost', async () => {
    const redis = await start()
    const { limiter, events } = await open(redis.url)
    await command(redis, ['CLIENT', 'PAUSE', '5000'])
    const asked = limiter.admit([quotaFor({})])
    stall()
    await asked
    expect(causeOf(events[0])).to.equal('no answer within 250 ms')
  })
})

function stall(): void {
  const until = performance.now() + STALL_MS
  while (performance.now() < until);
}
