/** The shared limiter on a real Redis: the contract, equal decisions to the in-process one, and what it costs there. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { createRedisLimiter, type RedisLimiter } from '../../src/limits/redis.ts'
import { PATIENT_MS, type RedisServer, startRedis } from '../redis.ts'
import { runs } from '../runs.ts'
import { keepsTheContract, quotaFor } from './contract.ts'
import { asksWith, decidesAlike } from './decides-alike.ts'

describe('the limiter in Redis', () => {
  let redis: RedisServer
  let admin: Redis
  let limiter: RedisLimiter

  before(async () => {
    redis = await startRedis()
    admin = new Redis(redis.url)
    limiter = createRedisLimiter(redis.url, PATIENT_MS)
    await limiter.connect()
  })

  after(async () => {
    limiter.disconnect()
    admin.disconnect()
    await redis.stop()
  })

  keepsTheContract(() => limiter)

  it('decides as the in-process limiter would at the same times', async () => {
    // Windows so short that a few milliseconds cross sub-windows, and 20 all of them.
    const asks = asksWith({
      windowsMs: [20, 20, 20, 20, 60],
      waitsMs: [0, 0, 0, 0, 1, 2, 5, 19, 20, 30],
      stepsBackMs: [0],
    })
    await fc.assert(
      fc.asyncProperty(asks, (many) => decidesAlike(limiter, many, () => {})),
      { numRuns: runs(40, 12) },
    )
  })

  it('asks Redis once, whatever the number of quotas', async () => {
    await admin.config('RESETSTAT')
    for (let ask = 0; ask < 10; ask++) await limiter.admit([quotaFor({}), quotaFor({}), quotaFor({})])
    expect(await admin.info('commandstats')).to.match(/cmdstat_evalsha:calls=10,/)
    expect(await admin.info('stats')).to.match(/total_connections_received:0\b/)
  })

  it('survives SCRIPT FLUSH under load, and counts exactly', async () => {
    const quota = quotaFor({ allow: 1500 })
    await admin.config('RESETSTAT')
    let flushed = 0
    let asking = true
    const flushing = (async () => {
      for (; asking; flushed++) await admin.script('FLUSH')
    })()
    const answers = []
    for (let round = 0; round < 60; round++) {
      answers.push(...(await Promise.all(Array.from({ length: 50 }, () => limiter.admit([quota])))))
    }
    asking = false
    await flushing
    expect(flushed).to.be.greaterThan(60)
    expect(answers.filter(({ admitted }) => admitted)).to.have.length(1500)
    expect(await admin.info('commandstats'), 'the script was never missing').to.match(/cmdstat_eval:calls=\d{2,},/)
  })

  it('takes at most 400 bytes a key, however long the name of the caller', async () => {
    const names = ['address:a:203.0.113.77', 'member:s:alice', `member:s:${'\u{1f600}'.repeat(128)}`]
    for (const name of names) {
      await admin.flushall()
      await limiter.admit([quotaFor({ key: name, allow: 1e9 })])
      const [key = ''] = await admin.keys('*')
      expect(key).to.match(/^sallyport:/)
      expect(await admin.memory('USAGE', key)).to.be.at.most(400)
    }
  })

  it('takes no more memory when a key is asked for often, in every sub-window', async () => {
    const quota = quotaFor({ allow: 1e9, windowMs: 100 })
    await admin.flushall()
    await limiter.admit([quota])
    const [key = ''] = await admin.keys('*')
    const before = await admin.memory('USAGE', key)
    for (let ask = 0; ask < 60; ask++) await limiter.admit([quota]).then(() => sleep(2))
    expect(await admin.memory('USAGE', key)).to.equal(before)
  })

  it('leaves nothing behind when nothing counts any more', async () => {
    await admin.flushall()
    await limiter.admit([quotaFor({ windowMs: 50 }), quotaFor({ windowMs: 80 })])
    expect(await admin.dbsize()).to.equal(2)
    while ((await admin.dbsize()) > 0) await sleep(10)
  })
})
