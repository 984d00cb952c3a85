/** Limits in a Redis Cluster of six: exact while slots move, bounded when a primary is lost, one call a node and turn. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import { Cluster } from 'ioredis'
import { examineRedis } from '../../src/limits/examine-redis.ts'
import { createMemoryLimiter } from '../../src/limits/memory.ts'
import { callScript, type RedisLimiter, redisScript } from '../../src/limits/redis.ts'
import { createClusterLimiter } from '../../src/limits/redis-cluster.ts'
import { type ClusterPlace, readRedisUrl } from '../../src/limits/redis-url.ts'
import { COUNTED } from '../../src/limits/sliding-window.ts'
import { GIVE_BACK_SCRIPT } from '../../src/limits/sliding-window-script.ts'
import { freePort, PATIENT_MS, type RedisServer, startRedis } from '../redis.ts'
import { ask, isNow, type RedisCluster, startCluster } from '../redis-groups.ts'
import { runs, soak } from '../runs.ts'
import { until } from '../until.ts'
import { keepsTheContract, quotaFor, uniqueKey } from './contract.ts'
import { asksWith, decidesAlike } from './decides-alike.ts'
import { admittedOf } from './load.ts'
import { logOf, mostOf, startAskers } from './many-instances.ts'
import { end, onEnd, open } from './on-redis.ts'

describe('a limiter in a Redis Cluster', function () {
  this.timeout(300_000)

  let cluster: RedisCluster
  let limiter: RedisLimiter

  before(async () => {
    cluster = await startCluster()
    limiter = createClusterLimiter(readRedisUrl(cluster.url) as ClusterPlace, PATIENT_MS)
    await limiter.connect()
  })

  after(async () => {
    limiter.disconnect()
    await cluster.stop()
  })

  afterEach(end)

  const primaries = () => cluster.nodes.slice(0, 3)

  /** How many scripts each primary ran since the last time. */
  async function calls(): Promise<readonly number[]> {
    return Promise.all(
      primaries().map(async (node) => {
        const text = await ask(node, 'INFO', 'commandstats')
        await ask(node, 'CONFIG', 'RESETSTAT')
        return Number(/cmdstat_evalsha:calls=(\d+)/.exec(text)?.[1] ?? 0)
      }),
    )
  }

  keepsTheContract(() => limiter)

  it('decides requests of one caller as the in-process limiter would at the same times', async () => {
    const asks = asksWith({ windowsMs: [20, 20, 60], waitsMs: [0, 0, 0, 1, 5, 19, 30], stepsBackMs: [0] })
    const ofOneCaller = {
      ...limiter,
      admit: (quotas: Parameters<RedisLimiter['admit']>[0]) =>
        limiter.admit(quotas.map((quota) => ({ ...quota, caller: quota.key.slice(0, -1) }))),
    }
    await fc.assert(
      fc.asyncProperty(asks, (many) => decidesAlike(ofOneCaller, many, () => {})),
      { numRuns: runs(40, 8) },
    )
  })

  it('counts as the in-process limiter does, on whatever nodes the limits of a request lie', async () => {
    const asks = asksWith({ windowsMs: [60_000], waitsMs: [0], stepsBackMs: [0] })
    let givenBack = 0
    await fc.assert(
      fc.asyncProperty(asks, async (many) => {
        const run = uniqueKey()
        const memory = createMemoryLimiter()
        for (const { quotas } of many) {
          const asked = quotas.map((quota) => ({ ...quota, key: run + quota.key }))
          const [here, there] = [memory.admit(asked), await limiter.admit(asked)]
          const figures = ({ admitted, quotas: states }: typeof here) => ({
            admitted,
            states: states.map(({ name, remaining, exceeded, resetMs }) => [name, remaining, exceeded, resetMs > 0]),
          })
          expect(figures(there)).to.deep.equal(figures(here))
          if (!there.admitted && there.quotas.some(({ exceeded }) => !exceeded)) givenBack += 1
        }
      }),
      { numRuns: runs(60, 10) },
    )
    expect(givenBack).to.be.greaterThan(0)
  })

  it('gives back in the sub-window in which it counted, also when that is past', async () => {
    const full = quotaFor({ name: 'full' })
    await limiter.admit([full])
    const wide = Array.from({ length: 8 }, (_, i) => quotaFor({ name: `wide ${i}`, allow: 20, windowMs: 2000 }))
    for (let round = 0; round < 30; round++) {
      expect((await limiter.admit([full, ...wide])).admitted).to.equal(false)
      await sleep(round % 7)
    }
    const { quotas } = await limiter.admit(wide)
    expect(quotas.map(({ remaining }) => remaining)).to.deep.equal(wide.map(() => 19))
  })

  it('leaves the counts of others as they are when it gives one back', async () => {
    const quota = quotaFor({ allow: 9, windowMs: 2000 })
    const step = 100_000
    const first = await limiter.admit([quota])
    await until(async () => (await limiter.admit([quotaFor({})])).atMicros > first.atMicros + 2 * step)
    const second = await limiter.admit([quota])
    const client = new Cluster(cluster.nodes.map(({ host, port }) => ({ host, port })))
    await callScript(client, redisScript(GIVE_BACK_SCRIPT), 1, [`sallyport:${quota.key}`, first.atMicros])
    client.disconnect()
    const third = await limiter.admit([quota])
    const endsMicros = (Math.floor(second.atMicros / step) + COUNTED) * step
    const resetMs = Math.ceil((endsMicros - third.atMicros) / 1000)
    expect(third.quotas[0]).to.deep.include({ remaining: 7, resetMs })
  })

  it('asks each node once in a turn, whoever the callers are', async () => {
    await admittedOf(limiter, 50)
    const quotas = Array.from({ length: 30 }, () => quotaFor({}))
    await calls()
    await Promise.all(quotas.map((quota) => limiter.admit([quota])))
    expect(await calls()).to.deep.equal([1, 1, 1])
    // The negative control: one after the other, each has a call.
    for (const quota of quotas) await limiter.admit([quota])
    expect((await calls()).reduce((sum, one) => sum + one)).to.equal(30)
  })

  it('asks one node for all limits of a caller, whatever the name', async () => {
    for (const caller of ['s:alice', 's:', 'a:::1', 's:}{', `s:{}${'x'.repeat(300)}`, 's:ключ']) {
      await calls()
      const quotas = ['one', 'two', 'three'].map((name) => quotaFor({ name, key: `${name}:${caller}`, caller }))
      await limiter.admit(quotas)
      expect((await calls()).toSorted(), caller).to.deep.equal([0, 0, 1])
    }
  })

  it('counts exactly while the slot of a caller moves under load, and degrades no instance', async () => {
    const caller = uniqueKey()
    const slot = Number(await ask(cluster.nodes[0] as RedisServer, 'CLUSTER', 'KEYSLOT', caller))
    const shared = await Promise.all([open(cluster.url), open(cluster.url)])
    const quota = quotaFor({ caller, allow: soak(20_000, 1000), windowMs: 3_600_000 })
    const [wide, full] = [quotaFor({ caller, allow: 9 }), quotaFor({ caller, windowMs: 3_600_000 })]
    await limiter.admit([full])
    let [admitted, others, moves, isAsking] = [0, 0, 0, true]
    const askers = shared.map(async ({ limiter: one }) => {
      for (; isAsking; others++) {
        // Keys that exist, and new ones of the same slot.
        const fresh = [quotaFor({ caller, windowMs: 20 }), quotaFor({ caller, windowMs: 20 })]
        const answers = await Promise.all([one.admit([quota]), one.admit([quota]), one.admit(fresh)])
        admitted += answers.slice(0, 2).filter((answer) => answer.admitted).length
        expect(answers[2]?.quotas.map(({ remaining }) => remaining)).to.deep.equal([0, 0])
        expect((await one.admit([wide, full])).admitted).to.equal(false)
      }
    })
    while (moves < soak(40, 6) || admitted < quota.allow) {
      await move(cluster, slot, moves)
      moves += 1
    }
    isAsking = false
    await Promise.all(askers)
    expect(admitted).to.equal(quota.allow)
    expect((await limiter.admit([wide])).quotas[0]?.remaining).to.equal(8)
    expect(others).to.be.greaterThan(0)
    expect(shared.flatMap(({ kinds }) => kinds())).to.deep.equal([])
  })

  const FAULTS: readonly (readonly [string, (node: RedisServer) => unknown])[] = [
    ['is killed', ({ pid }) => process.kill(pid, 'SIGKILL')],
    ['hangs', ({ pid }) => process.kill(pid, 'SIGSTOP')],
  ]
  for (const [fault, happen] of FAULTS.slice(0, soak(2, 1))) {
    it(`answers all the time while a primary ${fault}, and admits no more than it says`, async () => {
      const own = await startCluster()
      onEnd(own.stop)
      const key = uniqueKey()
      const primary = await primaryOf(own, `sallyport:${key}`)
      const askers = await startAskers(own.url, { allow: 400, everyMs: soak(2, 10), key })
      await until(() => askers.admitted().length > 40)
      const at = performance.now()
      await happen(primary)
      const replica = own.nodes[own.nodes.indexOf(primary) + 3] as RedisServer
      await until(() => isNow('master', replica))
      await until(() => askers.states().every((state) => state === 'ok'))
      await until(() => askers.refused() > 200)
      const admitted = await askers.stop()
      expect(admitted.length).to.be.at.least(400)
      expect(admitted.length).to.be.at.most(mostOf(askers, admitted, at))
    })
  }

  it('admits again what the replica never heard of, and not more', async () => {
    const own = await startCluster()
    onEnd(own.stop)
    const quota = quotaFor({ allow: 100 })
    const primary = await primaryOf(own, `sallyport:${quota.key}`)
    const replica = own.nodes[own.nodes.indexOf(primary) + 3] as RedisServer
    const one = createClusterLimiter(readRedisUrl(own.url) as ClusterPlace, PATIENT_MS)
    onEnd(one.disconnect)
    await one.connect()
    expect(await admittedOf(one, 60, quota)).to.equal(60)
    await until(async () => (await offsetOf(primary)) === (await offsetOf(replica)))
    await ask(primary, 'ACL', 'SETUSER', 'default', '-psync', '-sync')
    await ask(primary, 'CLIENT', 'KILL', 'TYPE', 'replica')
    expect(await admittedOf(one, 25, quota)).to.equal(25)
    await primary.kill()
    await until(() =>
      one.connect().then(
        () => true,
        () => false,
      ),
    )
    expect(await admittedOf(one, 200, quota)).to.equal(40)
    // One primary that doesn't answer, and nobody to take over: the others alone are not enough.
    await replica.kill()
    expect(await one.connect().catch((error) => error)).to.be.an('error')
  })

  describe('says in one sentence, and in doctor, that', () => {
    let guarded: RedisServer
    let single: RedisServer
    before(async () => {
      guarded = await startRedis({ args: ['--cluster-enabled', 'yes', '--requirepass', 'sesame'] })
      single = await startRedis()
    })
    after(() => Promise.all([guarded.kill(), single.kill()]))

    const CASES: Readonly<Record<string, readonly [() => string | Promise<string>, string, RegExp]>> = {
      'a Redis has no cluster mode': [
        () => `redis-cluster://127.0.0.1:${single.port}`,
        'REDIS_URL names a Redis without cluster mode; write `redis:` in place of `redis-cluster:`',
        /^REDIS_URL='redis:\/\/127\.0\.0\.1:\d+' \{again\}$/,
      ],
      'no node is there': [
        async () => `redis-cluster://:secret@127.0.0.1:${await freePort()},127.0.0.1:${await freePort()}`,
        'Redis does not answer',
        /^redis-cli -h 127\.0\.0\.1 -p \d+ --askpass ping$/,
      ],
      'the password is wrong': [
        () => `redis-cluster://:secret-wrong@127.0.0.1:${guarded.port}`,
        'Redis refuses the user or the password of REDIS_URL',
        /^REDIS_URL='redis-cluster:\/\/:<password>@127\.0\.0\.1:\d+' \{again\}$/,
      ],
      'a password is missing': [
        () => `redis-cluster://127.0.0.1:${guarded.port}`,
        'Redis refuses the user or the password of REDIS_URL',
        /^REDIS_URL='redis-cluster:\/\/:<password>@127\.0\.0\.1:\d+' \{again\}$/,
      ],
    }
    for (const [what, [faulty, sentence, fix]] of Object.entries(CASES)) {
      it(what, async () => {
        const { logged, state } = await logOf(await faulty())
        expect({ said: logged.map(({ text }) => text), state }).to.deep.equal({
          said: [`${sentence}: this process counts rate limits alone`],
          state: 'degraded',
        })
        const found = await examineRedis(await faulty())
        expect(found.map((one) => one.state)).to.deep.equal(['fault'])
        expect(found[0]?.fix).to.match(fix)
        expect(JSON.stringify([logged, found])).to.not.match(/sesame|secret/)
      })
    }

    it('a slot has no node', async () => {
      const own = await startRedis({ args: ['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1'] })
      onEnd(own.kill)
      await ask(own, 'CLUSTER', 'ADDSLOTSRANGE', 0, 16_000)
      const url = `redis-cluster://127.0.0.1:${own.port}`
      const { logged, state } = await logOf(url)
      expect(state).to.equal('degraded')
      expect(logged[0]?.details).to.match(/no node of the Redis Cluster has slot 16001/)
      expect((await examineRedis(url)).map((one) => one.message).join('\n')).to.match(/a Cluster that is down/)
    })

    it('nothing is wrong, where nothing is', async () => {
      expect(await logOf(cluster.url)).to.deep.equal({ logged: [], state: 'ok' })
      const found = await examineRedis(cluster.url)
      expect(found.filter(({ state }) => state !== 'ok')).to.deep.equal([])
      expect(found.filter(({ message }) => message.includes('replica'))).to.have.length(3)
    })
  })
})

async function primaryOf({ nodes }: RedisCluster, key: string): Promise<RedisServer> {
  const slot = Number(await ask(nodes[0] as RedisServer, 'CLUSTER', 'KEYSLOT', key))
  return nodes[Math.floor((slot * 3) / 16_384)] as RedisServer
}

async function offsetOf(redis: RedisServer): Promise<string | undefined> {
  return /^(?:master|slave)_repl_offset:(\d+)/m.exec(await ask(redis, 'INFO', 'replication'))?.[1]
}

/** As `redis-cli --cluster reshard` does it: the keys go one by one, and new ones are asked for meanwhile. */
async function move({ nodes, ids }: RedisCluster, slot: number, nth: number): Promise<void> {
  const home = Math.floor((slot * 3) / 16_384)
  const [from, to] = [(home + nth) % 3, (home + nth + 1) % 3]
  const [source, target] = [nodes[from] as RedisServer, nodes[to] as RedisServer]
  await ask(target, 'CLUSTER', 'SETSLOT', slot, 'IMPORTING', ids[from] ?? '')
  await ask(source, 'CLUSTER', 'SETSLOT', slot, 'MIGRATING', ids[to] ?? '')
  for (;;) {
    const keys = (await ask(source, 'CLUSTER', 'GETKEYSINSLOT', slot, 10)).split(',').filter((key) => key !== '')
    if (keys.length === 0) break
    for (const key of keys) await ask(source, 'MIGRATE', '127.0.0.1', target.port, key, 0, 5000)
  }
  await ask(target, 'CLUSTER', 'SETSLOT', slot, 'NODE', ids[to] ?? '')
  await ask(source, 'CLUSTER', 'SETSLOT', slot, 'NODE', ids[to] ?? '')
}
