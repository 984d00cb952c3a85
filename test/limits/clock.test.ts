/** Redis's wall clock stepped back for real (libfaketime), against the limiter and against scripts that trust the clock. */
import { mkdtempSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { createRedisLimiter, type RedisLimiter } from '../../src/limits/redis.ts'
import { removeNow } from '../ends-with-tests.ts'
import { fakeClock, PATIENT_MS, type RedisServer, startRedis } from '../redis.ts'
import { runs } from '../runs.ts'
import { type Admitter, quotaFor } from './contract.ts'
import { asksWith, decidesAlike } from './decides-alike.ts'

const HOUR_MS = 3_600_000
const ALLOW = 5

describe("a step back of Redis's clock", () => {
  const directory = mkdtempSync(join(tmpdir(), 'sallyport-clock-'))
  let redis: RedisServer
  let limiter: RedisLimiter
  let backMs = 0

  before(async () => {
    stepBack(0)
    redis = await startRedis({ env: fakeClock(join(directory, 'offset')) })
    limiter = createRedisLimiter(redis.url, PATIENT_MS)
    await limiter.connect()
  })

  after(async () => {
    limiter.disconnect()
    await redis.stop()
    removeNow(directory)
  })

  /** Redis reads the file whenever it asks for the time, so it is replaced as a whole. */
  function stepBack(milliseconds: number): void {
    backMs += milliseconds
    writeFileSync(join(directory, 'next'), `-${(backMs / 1000).toFixed(6)}\n`)
    renameSync(join(directory, 'next'), join(directory, 'offset'))
  }

  for (const stepMs of [1, 2000, 4000, 59_000, HOUR_MS, 24 * HOUR_MS]) {
    it(`of ${stepMs} ms admits nobody beyond what is allowed`, async () => {
      expect(await admittedAfterStep(limiter, stepMs)).to.equal(0)
    })
  }

  it('of an hour refuses for no more than a window and two sub-windows', async () => {
    expect(await admitsAWindowAfterStep(limiter)).to.equal(true)
  })

  it('is decided as the in-process limiter would', async () => {
    // Windows so long that no key expires: when Redis drops one is its own matter.
    const stepsBackMs = [0, 0, 0, 0, 50, 90, 150, 10_000]
    const asks = asksWith({ windowsMs: [2000, 2000, 2000, 6000], waitsMs: [0, 0, 0, 0, 5, 30], stepsBackMs })
    await fc.assert(
      fc.asyncProperty(asks, (many) => decidesAlike(limiter, many, stepBack)),
      { numRuns: runs(20, 6) },
    )
  })

  it('makes a script over-admit that counts what lies before its raw time', async () => {
    const naive = createSlidingLog(redis, "redis.call('ZCOUNT', KEYS[1], now - ARGV[2], now)")
    expect(await admittedAfterStep(naive, HOUR_MS)).to.equal(ALLOW)
    naive.disconnect()
  })

  it('freezes a script that counts what lies after its raw time as well', async () => {
    const naive = createSlidingLog(redis, "redis.call('ZCARD', KEYS[1])")
    expect(await admitsAWindowAfterStep(naive)).to.equal(false)
    naive.disconnect()
  })

  /** How many are admitted although `ALLOW` were just before the step, within the same minute of real time. */
  async function admittedAfterStep(admitter: Admitter, stepMs: number): Promise<number> {
    const quota = quotaFor({ allow: ALLOW, windowMs: 60_000 })
    for (let ask = 0; ask < ALLOW; ask++) expect((await admitter.admit([quota])).admitted).to.equal(true)
    stepBack(stepMs)
    let admitted = 0
    for (let ask = 0; ask < 2 * ALLOW; ask++) if ((await admitter.admit([quota])).admitted) admitted += 1
    return admitted
  }

  async function admitsAWindowAfterStep(admitter: Admitter): Promise<boolean> {
    const quota = quotaFor({ windowMs: 500 })
    await admitter.admit([quota])
    stepBack(HOUR_MS)
    await admitter.admit([quota])
    await sleep(quota.windowMs * 1.1 + 1)
    return (await admitter.admit([quota])).admitted
  }
})

/** A log of admission times under Redis's raw clock; `used` is the script's way to count them. */
function createSlidingLog({ url }: RedisServer, used: string) {
  const client = new Redis(url)
  const script = `
    local time = redis.call('TIME')
    local now = time[1] * 1000000 + time[2]
    redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2])
    if ${used} >= tonumber(ARGV[1]) then return 0 end
    redis.call('ZADD', KEYS[1], now, now)
    return 1`
  return {
    async admit([quota = quotaFor({})]: Parameters<Admitter['admit']>[0]) {
      const admitted = (await client.eval(script, 1, quota.key, quota.allow, quota.windowMs * 1000)) === 1
      return { admitted, quotas: [], retryAfterMs: 0 }
    },
    disconnect: () => client.disconnect(),
  }
}
