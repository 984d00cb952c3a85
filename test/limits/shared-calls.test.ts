/** Requests of one turn share a call to Redis, and are decided as if each had asked alone, one after the other. */
import { expect } from 'chai'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { createMemoryLimiter } from '../../src/limits/memory.ts'
import { createRedisLimiter, type RedisLimiter, type RequestBatch, shareCalls } from '../../src/limits/redis.ts'
import { PATIENT_MS, type RedisServer, startRedis } from '../redis.ts'
import { runs } from '../runs.ts'
import { quotaFor, uniqueKey } from './contract.ts'
import { asksWith } from './decides-alike.ts'
import { milliseconds } from './microseconds.ts'

describe('requests that share a call to Redis', () => {
  let redis: RedisServer
  let admin: Redis
  let limiter: RedisLimiter

  before(async () => {
    redis = await startRedis()
    admin = new Redis(redis.url)
    limiter = createRedisLimiter(redis.url, PATIENT_MS)
    await limiter.connect()
    // A call that finds Redis without the script is sent again, and may then be decided after later ones.
    await limiter.admit([quotaFor({})])
  })

  after(async () => {
    limiter.disconnect()
    admin.disconnect()
    await redis.stop()
  })

  it('are decided in the order in which they asked', async () => {
    const quota = quotaFor({ allow: 10 })
    await admin.config('RESETSTAT')
    const answers = await Promise.all(Array.from({ length: 20 }, () => limiter.admit([quota])))
    expect(await admin.info('commandstats')).to.match(/cmdstat_evalsha:calls=1,/)
    expect(answers.map(({ admitted }) => admitted)).to.deep.equal(answers.map((_, i) => i < 10))
    expect(answers.map(({ quotas }) => quotas[0]?.remaining)).to.deep.equal(answers.map((_, i) => Math.max(0, 9 - i)))
  })

  it('count against no quota when one of theirs refuses', async () => {
    const [narrow, wide] = [quotaFor({ allow: 1 }), quotaFor({ allow: 5 })]
    const [both, refused, alone] = await Promise.all([
      limiter.admit([wide, narrow]),
      limiter.admit([wide, narrow]),
      limiter.admit([wide]),
    ])
    expect([both.admitted, refused.admitted, alone.admitted]).to.deep.equal([true, false, true])
    expect(alone.quotas[0]?.remaining).to.equal(3)
  })

  it('are decided as the in-process limiter decides them one by one', async () => {
    const asks = asksWith({ windowsMs: [20, 60], waitsMs: [0], stepsBackMs: [0] })
    await fc.assert(
      fc.asyncProperty(asks, async (many) => {
        const run = uniqueKey()
        const asked = many.map(({ quotas }) => quotas.map((quota) => ({ ...quota, key: run + quota.key })))
        let atMicros = 0
        const memory = createMemoryLimiter({ now: () => milliseconds(atMicros) })
        const answers = await Promise.all(asked.map((quotas) => limiter.admit(quotas)))
        for (const [i, { atMicros: at, ...admission }] of answers.entries()) {
          atMicros = at
          expect(admission).to.deep.equal(await memory.admit(asked[i] ?? []))
        }
      }),
      { numRuns: runs(60, 15) },
    )
  })

  it('reject together when Redis is gone', async () => {
    const gone = createRedisLimiter(redis.url, PATIENT_MS)
    const answers = await Promise.allSettled([gone.admit([quotaFor({})]), gone.admit([quotaFor({})])])
    expect(answers.map(({ status }) => status)).to.deep.equal(['rejected', 'rejected'])
  })
})

describe('calls that are shared', () => {
  async function callsFor(asks: readonly { readonly key: string; readonly allow: number }[]) {
    const calls: RequestBatch[] = []
    const ask = shareCalls(async (asked) => {
      calls.push(asked)
      return asked.requests
    })
    await Promise.all(asks.map((quota) => ask([quotaFor(quota)])))
    return calls.map(({ requests }) => requests.length)
  }

  it('are bounded, so that others who ask the same Redis wait for no long one', async () => {
    expect(await callsFor(Array.from({ length: 70 }, () => ({ key: 'a', allow: 1 })))).to.deep.equal([32, 32, 6])
  })

  it('never hold two limits of one key, as a change of policy makes them', async () => {
    const asks = [1, 1, 2, 2, 1].map((allow) => ({ key: 'a', allow }))
    expect(await callsFor(asks)).to.deep.equal([2, 2, 1])
  })
})
