/** A primary that the network cuts off from its peers, and that clients still reach: in a namespace of its own. */
import { expect } from 'chai'
import { makeNetwork, type OwnNetwork } from '../own-network.ts'
import type { RedisServer } from '../redis.ts'
import { ask, isNow, NAME, startCluster, startSentinels } from '../redis-groups.ts'
import { until } from '../until.ts'
import { quotaFor, uniqueKey } from './contract.ts'
import { type Askers, mostOf, startAskers } from './many-instances.ts'
import { end, onEnd, open } from './on-redis.ts'

/** So many that no window is full before the network is cut, and each is afterwards. */
const LOAD = { allow: 4000, everyMs: 4 }

describe('a primary of Redis that is cut off from the others', function () {
  this.timeout(300_000)

  afterEach(end)

  function started(): OwnNetwork {
    const network = makeNetwork()
    onEnd(network.remove)
    return network
  }

  async function admitsNoMore(askers: Askers, cut: () => void, replica: RedisServer): Promise<void> {
    await until(() => askers.admitted().length > 40)
    cut()
    await until(() => askers.states().includes('degraded'))
    const at = performance.now()
    await until(() => isNow('master', replica))
    await until(() => askers.states().every((state) => state === 'ok'))
    await until(() => askers.refused() > 1000)
    const admitted = await askers.stop()
    expect(admitted.length).to.be.at.least(LOAD.allow)
    expect(admitted.length).to.be.at.most(mostOf(askers, admitted, at))
  }

  it('stops behind Sentinels, where min-replicas-to-write says so, and its instances admit no more than it says', async () => {
    const network = started()
    const args = ['--min-replicas-to-write', '1', '--min-replicas-max-lag', '1']
    const group = await startSentinels({ network, sentinels: 3, args })
    onEnd(group.stop)
    // Once it is promoted, it has no replica.
    await ask(group.replica, 'CONFIG', 'SET', 'min-replicas-to-write', 0)
    const askers = await startAskers(group.url, { ...LOAD, key: uniqueKey() })
    await until(() => askers.states().every((state) => state === 'ok'))
    await admitsNoMore(askers, network.cut, group.replica)
    network.heal()
    await until(() => isNow('slave', group.primary))
  })

  it('counts on behind Sentinels where nothing says so: the negative control', async () => {
    const network = started()
    const group = await startSentinels({ network, sentinels: 3 })
    onEnd(group.stop)
    const { limiter, kinds } = await open(group.url)
    network.cut()
    const named = async (sentinel: RedisServer) =>
      (await ask(sentinel, 'SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME)).endsWith(`,${group.replica.port}`)
    for (const sentinel of group.sentinels) await until(() => named(sentinel))
    const quota = quotaFor({})
    expect((await limiter.admit([quota])).admitted).to.equal(true)
    const { limiter: other } = await open(group.url)
    expect((await other.admit([quota])).admitted).to.equal(true)
    expect([limiter.state(), other.state(), kinds()]).to.deep.equal(['ok', 'ok', []])
    // Sentinels end the connections of the former primary when they reach it.
    network.heal()
    await until(() => kinds().length === 2)
    expect((await limiter.admit([quota])).admitted).to.equal(false)
  })

  it('stops by itself in a Cluster, and the instances admit no more than it says', async () => {
    const network = started()
    const cluster = await startCluster({ network })
    onEnd(cluster.stop)
    const askers = await startAskers(cluster.url, { ...LOAD, key: await keyOfFirst(cluster.nodes) })
    await admitsNoMore(askers, network.cut, cluster.nodes[3] as RedisServer)
    network.heal()
    await until(() => isNow('slave', cluster.nodes[0] as RedisServer))
  })
})

/** A key whose slot the first primary has. */
async function keyOfFirst([first]: readonly RedisServer[]): Promise<string> {
  for (;;) {
    const key = uniqueKey()
    if (Number(await ask(first as RedisServer, 'CLUSTER', 'KEYSLOT', `sallyport:${key}`)) < 16_384 / 3) return key
  }
}
