/** Limits behind Redis Sentinel, with real ones: a primary that is killed, hangs or is cut off, and wrong settings. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect } from 'chai'
import { examineRedis } from '../../src/limits/examine-redis.ts'
import { createRedisLimiter } from '../../src/limits/redis.ts'
import { freePort, PATIENT_MS, type RedisServer, startRedis } from '../redis.ts'
import { ask, NAME, type SentinelGroup, startSentinels } from '../redis-groups.ts'
import { soak } from '../runs.ts'
import { until } from '../until.ts'
import { quotaFor, uniqueKey } from './contract.ts'
import { admittedOf } from './load.ts'
import { logOf, mostOf, startAskers } from './many-instances.ts'
import { causeOf, end, onEnd, open } from './on-redis.ts'

describe('a limiter behind Sentinels', function () {
  this.timeout(300_000)

  afterEach(end)

  async function started(options: Parameters<typeof startSentinels>[0] = {}): Promise<SentinelGroup> {
    const group = await startSentinels(options)
    onEnd(group.stop)
    return group
  }

  for (const fault of ['is killed', 'hangs']) {
    it(`answers all the time while the primary ${fault}, and admits no more than it says`, async () => {
      const { url, primary, replica } = await started({ sentinels: soak(3, 1) })
      const askers = await startAskers(url, { allow: 400, everyMs: soak(2, 10), key: uniqueKey() })
      await until(() => askers.admitted().length > 40)
      const at = performance.now()
      process.kill(primary.pid, fault === 'hangs' ? 'SIGSTOP' : 'SIGKILL')
      await until(() => askers.states().every((state) => state === 'degraded'))
      await until(() => askers.states().every((state) => state === 'ok'))
      expect(await ask(replica, 'ROLE')).to.match(/^master/)
      await until(() => askers.refused() > 200)
      const admitted = await askers.stop()
      expect(admitted.length).to.be.at.least(400)
      expect(admitted.length).to.be.at.most(mostOf(askers, admitted, at))
    })
  }

  it('follows the Sentinels to another primary, while the old one still answers', async () => {
    const { url, primary, replica, sentinels } = await started()
    const { limiter, kinds } = await open(url)
    const [sentinel = primary] = sentinels
    await until(() => ask(sentinel, 'SENTINEL', 'FAILOVER', NAME).then(Boolean, () => false))
    await until(() => kinds().length === 2)
    await limiter.admit([quotaFor({ key: 'afterwards' })])
    await until(async () => (await ask(replica, 'KEYS', '*')).includes('afterwards'))
    expect(kinds()).to.deep.equal(['lost', 'regained'])
    expect(await ask(primary, 'PING')).to.equal('PONG')
  })

  it('admits again what the replica never heard of, and not more', async () => {
    const { url, primary, replica } = await started()
    const quota = quotaFor({ allow: 100 })
    const limiter = createRedisLimiter(url, PATIENT_MS)
    onEnd(limiter.disconnect)
    await limiter.connect()
    expect(await admittedOf(limiter, 60, quota)).to.equal(60)
    await until(async () => (await offsetOf(primary)) === (await offsetOf(replica)))
    // From here on the replica gets nothing, which is the negative control too: a bound without these 25 doesn't hold.
    await ask(primary, 'ACL', 'SETUSER', 'default', '-psync', '-sync')
    await ask(primary, 'CLIENT', 'KILL', 'TYPE', 'replica')
    expect(await admittedOf(limiter, 25, quota)).to.equal(25)
    await primary.kill()
    await until(() =>
      limiter.connect().then(
        () =>
          limiter.admit([quotaFor({})]).then(
            () => true,
            () => false,
          ),
        () => false,
      ),
    )
    expect(await admittedOf(limiter, 200, quota)).to.equal(40)
  })

  it('counts alone while no replica follows, where min-replicas-to-write asks for one', async () => {
    const args = ['--min-replicas-to-write', '1', '--min-replicas-max-lag', '1']
    const { url, replica } = await started({ args })
    const { limiter, events } = await open(url)
    await until(() => limiter.state() === 'ok')
    await replica.kill()
    await until(async () => {
      await limiter.admit([quotaFor({})])
      return limiter.state() === 'degraded'
    })
    expect(causeOf(events.at(-1))).to.match(/NOREPLICAS/)
  })

  it('finds the one Sentinel that answers beside others that hang or are gone', async () => {
    const { url } = await started()
    const silent = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const server = createServer().listen(0, '127.0.0.1')
        onEnd(() => server.close())
        await once(server, 'listening')
        return `127.0.0.1:${(server.address() as AddressInfo).port}`
      }),
    )
    const { limiter } = await open(url.replace('//', `//${silent.join()},127.0.0.1:${await freePort()},`))
    await until(() => limiter.state() === 'ok')
  })

  describe('says in one sentence, and in doctor, that', () => {
    const ALONE = 'this process counts rate limits alone'
    let group: SentinelGroup
    before(async () => {
      const lines = ['requirepass sesame-of-sentinels', `sentinel auth-pass ${NAME} sesame`]
      group = await startSentinels({ lines, password: 'sesame' })
    })
    after(() => group.stop())

    const login = (word: string) => `//:${word}@`
    const url = (word = 'sesame', ofSentinels = '?sentinel_password=sesame-of-sentinels') =>
      group.url.replace('//', login(word)) + ofSentinels

    const CASES: Readonly<Record<string, readonly [() => string | Promise<string>, string, RegExp]>> = {
      'nobody has the name': [
        () => url().replace(`/${NAME}?`, '/nobody?'),
        'no Sentinel of REDIS_URL knows `nobody`',
        /^REDIS_URL='redis-sentinel:\/\/127.0.0.1:\d+\/<name>' \{again\}$/,
      ],
      'no Sentinel is there': [
        async () => `redis-sentinel://:sesame@127.0.0.1:${await freePort()},127.0.0.1:${await freePort()}/${NAME}`,
        'no Sentinel of REDIS_URL answers',
        /^redis-cli -h 127\.0\.0\.1 -p \d+ --askpass ping$/,
      ],
      'the Sentinels want a password': [
        () => url('sesame', ''),
        'the Sentinels of REDIS_URL refuse its sentinel_username or sentinel_password',
        /sentinel_password=<password>' \{again\}$/,
      ],
      'the Sentinels have another password': [
        () => url('sesame', '?sentinel_password=secret-wrong'),
        'the Sentinels of REDIS_URL refuse its sentinel_username or sentinel_password',
        /sentinel_password=<password>' \{again\}$/,
      ],
      'Redis has another password': [
        () => url('secret-wrong'),
        'Redis refuses the user or the password of REDIS_URL',
        /^REDIS_URL='redis-sentinel:\/\/:<password>@127.0.0.1:\d+\/limits' \{again\}$/,
      ],
    }
    for (const [what, [faulty, sentence, fix]] of Object.entries(CASES)) {
      it(what, async () => {
        const { logged, state } = await logOf(await faulty())
        expect({ said: logged.map(({ text }) => text), state }).to.deep.equal({
          said: [`${sentence}: ${ALONE}`],
          state: 'degraded',
        })
        const found = await examineRedis(await faulty())
        expect(found.map(({ state }) => state)).to.deep.equal(['fault'])
        expect(found[0]?.fix).to.match(fix)
        expect(JSON.stringify([logged, found])).to.not.match(/sesame|secret/)
      })
    }

    it('nothing is wrong, where nothing is', async () => {
      expect(await logOf(url())).to.deep.equal({ logged: [], state: 'ok' })
      const found = await examineRedis(url())
      expect(found.map(({ message }) => message).join('\n')).to.match(
        /^redis-sentinel:\/\/127\.0\.0\.1:\d+\/limits answers/,
      )
      expect(found.filter(({ state }) => state === 'fault')).to.deep.equal([])
      expect(found.find(({ message }) => message.includes('replica'))?.state).to.equal('ok')
    })

    it('a primary with two replicas counts without them', async () => {
      const { primary } = group
      const follow = ['--replicaof', '127.0.0.1', `${primary.port}`, '--masterauth', 'sesame']
      const second = await startRedis({ args: [...follow, '--requirepass', 'sesame'] })
      onEnd(second.kill)
      const info = () => ask({ ...primary, password: 'sesame' }, 'INFO', 'replication')
      await until(async () => (await info()).includes('connected_slaves:2'))
      const warnings = async () => (await examineRedis(url())).filter(({ message }) => message.includes('min-replicas'))
      const [told] = await warnings()
      expect(told?.fix).to.match(/^redis-cli -h 127\.0\.0\.1 -p \d+ --askpass config set min-replicas-to-write 1$/)
      await ask({ ...primary, password: 'sesame' }, 'CONFIG', 'SET', 'min-replicas-to-write', 1)
      expect(await warnings()).to.deep.equal([])
    })
  })
})

async function offsetOf(redis: RedisServer): Promise<string | undefined> {
  return /^(?:master|slave)_repl_offset:(\d+)/m.exec(await ask(redis, 'INFO', 'replication'))?.[1]
}
