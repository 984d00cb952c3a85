/** A node of a Redis Cluster counts nothing, and says so in one sentence: at the start, and in doctor. */
import { expect } from 'chai'
import { Redis } from 'ioredis'
import type { Logger } from 'pino'
import { readConfig } from '../../src/config/config.ts'
import { examineRedis } from '../../src/limits/examine-redis.ts'
import type { Metrics } from '../../src/server/observe/metrics.ts'
import { openLimiter } from '../../src/server/parts/open-limiter.ts'
import { type RedisServer, startRedis } from '../redis.ts'
import { quotaFor } from './contract.ts'

describe('a node of a Redis Cluster', () => {
  let node: RedisServer
  let single: RedisServer
  before(async () => {
    ;[node, single] = await Promise.all([startRedis({ args: ['--cluster-enabled', 'yes'] }), startRedis()])
    for (const { url } of [node, single]) {
      const admin = new Redis(url)
      await admin.call('ACL', 'SETUSER', 'mute', 'on', '>sesame', '~*', '+@all', '-info')
      admin.disconnect()
    }
    const admin = new Redis(node.url)
    await admin.call('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383)
    admin.disconnect()
  })
  after(async () => {
    await Promise.all([node.stop(), single.stop()])
  })

  /** What is logged for a start and ten requests, and how the limiter stands then. */
  async function served(url: string): Promise<{ readonly logged: readonly string[]; readonly state: string }> {
    const logged: string[] = []
    const log = { error: (_: unknown, text: string) => logged.push(text), info: (text: string) => logged.push(text) }
    const metrics = { limiterState: () => undefined } as unknown as Metrics
    const limiter = await openLimiter(readConfig({ REDIS_URL: url }), log as unknown as Logger, metrics)
    for (let i = 0; i < 10; i++) await limiter.admit([quotaFor({}), quotaFor({})])
    const state = limiter.state()
    await limiter.close()
    return { logged, state }
  }

  it('is told at the start in one sentence, and never asked again', async () => {
    const told =
      'REDIS_URL is a node of a Redis Cluster, which is not supported; ' +
      'set it to a Redis without cluster mode: this process counts rate limits alone'
    const mute = (url: string) => url.replace('//', '//mute:sesame@')
    for (const url of [node.url, mute(node.url)]) {
      expect(await served(url), url).to.deep.equal({ logged: [told], state: 'degraded' })
    }
    // The negative control: another Redis counts, also for a user who may not ask how it is set up.
    for (const url of [single.url, mute(single.url)]) {
      expect(await served(url), url).to.deep.equal({ logged: [], state: 'ok' })
    }
  })

  it('is a fault for doctor', async () => {
    const faultsOf = async (url: string) =>
      (await examineRedis(url)).filter((one) => JSON.stringify(one).includes('Cluster'))
    expect(await faultsOf(node.url)).to.have.length(1)
    expect(await faultsOf(single.url)).to.deep.equal([])
  })
})
