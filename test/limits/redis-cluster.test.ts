/** A node of a Redis Cluster that is named as if it were alone counts nothing, and the start and doctor say so. */
import { expect } from 'chai'
import { Redis } from 'ioredis'
import { examineRedis } from '../../src/limits/examine-redis.ts'
import { type RedisServer, startRedis } from '../redis.ts'
import { logOf } from './many-instances.ts'

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

  async function served(url: string) {
    const { logged, state } = await logOf(url)
    return { logged: logged.map(({ text }) => text), state }
  }

  it('is told at the start in one sentence, and never asked again', async () => {
    const told =
      'REDIS_URL names a node of a Redis Cluster; write `redis-cluster:` in place of `redis:`: ' +
      'this process counts rate limits alone'
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
