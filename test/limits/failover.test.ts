/** Redis lost in every way it can be, with the real thing: the process limits by itself at once, and hands back. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { Redis } from 'ioredis'
import { CONNECTION, createRedisLimiter } from '../../src/limits/redis.ts'
import { freePort, startRedis } from '../redis.ts'
import { until } from '../until.ts'
import { quotaFor } from './contract.ts'
import { admittedOf, millisecondsFor, oneByOne, startLoad } from './load.ts'
import { causeOf, command, end, keysOf, onEnd, open, start, startLoading } from './on-redis.ts'
import { startSlowProxy } from './slow-proxy.ts'

/** The promise is 250 ms; the rest is for a machine with other things to do. A Redis that is lost would take for ever. */
const TAKEN_OVER_MS = 1000

describe('a limiter on Redis', () => {
  before(async () => {
    await (await startRedis()).stop()
  })

  afterEach(end)

  it('shares its counts with other instances, and says nothing', async () => {
    const redis = await start()
    const [one, other] = [await open(redis.url), await open(redis.url)]
    const quota = quotaFor({ allow: 10 })
    expect(await admittedOf(one.limiter, 7, quota)).to.equal(7)
    expect(await admittedOf(other.limiter, 7, quota)).to.equal(3)
    expect(one.limiter.state()).to.equal('ok')
    expect([...one.events, ...other.events]).to.deep.equal([])
  })

  it('answers all the time while Redis is killed under load and comes back', async () => {
    const redis = await start()
    const { limiter, kinds } = await open(redis.url)
    const load = startLoad(limiter)
    await sleep(100)
    await redis.kill()
    await until(() => limiter.state() === 'degraded')
    await sleep(300)
    const back = await start({ port: redis.port })
    await until(() => limiter.state() === 'ok')
    await sleep(100)
    expect(Math.max(...(await load.stop()))).to.be.below(TAKEN_OVER_MS)
    expect(kinds()).to.deep.equal(['lost', 'regained'])
    expect(await keysOf(back)).to.include('sallyport:load')
  })

  it('allows its share, at least 1, while Redis is lost', async () => {
    const { limiter } = await open(`redis://127.0.0.1:${await freePort()}`)
    expect(await admittedOf(limiter, 20, quotaFor({ allow: 11 }))).to.equal(2)
    expect(await admittedOf(limiter, 20, quotaFor({ allow: 3 }))).to.equal(1)
  })

  it('starts without Redis, says why, and takes it when it is there', async () => {
    const port = await freePort()
    const { limiter, events, kinds } = await open(`redis://127.0.0.1:${port}`)
    expect(limiter.state()).to.equal('degraded')
    expect(causeOf(events[0])).to.match(/ECONNREFUSED/)
    const redis = await start({ port })
    await until(() => limiter.state() === 'ok')
    await limiter.admit([quotaFor({ key: 'late' })])
    expect(kinds()).to.deep.equal(['lost', 'regained'])
    expect(await keysOf(redis)).to.include('sallyport:late')
  })

  it('takes over at once when answers take 5 s, then lets no request wait, and hands back', async () => {
    const redis = await start()
    const proxy = await startSlowProxy(redis.port)
    onEnd(proxy.close)
    const { limiter, events, kinds } = await open(proxy.url)
    proxy.delay(5000)
    expect(await millisecondsFor(() => admittedOf(limiter, 50, quotaFor({})))).to.be.below(TAKEN_OVER_MS)
    expect(limiter.state()).to.equal('degraded')
    expect(causeOf(events[0])).to.equal('no answer within 250 ms')
    expect(await millisecondsFor(() => oneByOne(limiter, 100))).to.be.below(TAKEN_OVER_MS)
    await sleep(700)
    expect(limiter.state()).to.equal('degraded')
    proxy.delay(0)
    await until(() => limiter.state() === 'ok')
    expect(kinds()).to.deep.equal(['lost', 'regained'])
  })

  it('takes over from a Redis that hangs, and hands back when it goes on', async () => {
    const redis = await start()
    const { limiter, kinds } = await open(redis.url)
    process.kill(redis.pid, 'SIGSTOP')
    expect(await millisecondsFor(() => oneByOne(limiter, 100))).to.be.below(TAKEN_OVER_MS)
    expect(limiter.state()).to.equal('degraded')
    process.kill(redis.pid, 'SIGCONT')
    await until(() => limiter.state() === 'ok')
    expect(kinds()).to.deep.equal(['lost', 'regained'])
  })

  const refusals: readonly (readonly [string, RegExp, readonly string[], readonly string[]])[] = [
    ['is full', /^OOM /, ['CONFIG', 'SET', 'maxmemory', '1'], ['CONFIG', 'SET', 'maxmemory', '0']],
    ['became read-only', /READONLY/, ['REPLICAOF', '127.0.0.1', '1'], ['REPLICAOF', 'NO', 'ONE']],
  ]
  for (const [state, message, begin, end] of refusals) {
    it(`takes over from a Redis that ${state}, and hands back`, async () => {
      const redis = await start()
      const { limiter, events, kinds } = await open(redis.url)
      await command(redis, begin)
      expect(await admittedOf(limiter, 20, quotaFor({ allow: 8 }))).to.equal(2)
      expect(causeOf(events[0])).to.match(message)
      await sleep(700)
      expect(limiter.state()).to.equal('degraded')
      await command(redis, end)
      await until(() => limiter.state() === 'ok')
      expect(kinds()).to.deep.equal(['lost', 'regained'])
    })
  }

  it('starts without a Redis that is loading, and takes it once that is done', async () => {
    const redis = await startLoading()
    const { limiter, events, kinds } = await open(redis.url)
    expect(causeOf(events[0])).to.match(/^LOADING /)
    await until(() => limiter.state() === 'ok')
    expect(kinds()).to.deep.equal(['lost', 'regained'])
  })

  it('notices a connection that ends, with no request to find out', async () => {
    const redis = await start()
    const { limiter, kinds } = await open(redis.url)
    await command(redis, ['CLIENT', 'KILL', 'TYPE', 'normal'])
    await until(() => kinds().length === 2)
    expect(kinds()).to.deep.equal(['lost', 'regained'])
    expect(limiter.state()).to.equal('ok')
  })

  it('stays quiet about a password that is wrong, but for the event', async () => {
    const redis = await start({ args: ['--requirepass', 'right'] })
    const { events } = await open(redis.url.replace('//', '//:wrong@'))
    expect(causeOf(events[0])).to.match(/^WRONGPASS /)
  })

  it('lets its process end, and prints nothing, when it is closed', async () => {
    expect(await endOfProcess((await start()).url, 'close')).to.deep.equal({ code: 0, printed: '' })
  })

  it('keeps no process alive that has lost Redis, and prints nothing', async () => {
    const url = `redis://127.0.0.1:${await freePort()}`
    expect(await endOfProcess(url, 'close')).to.deep.equal({ code: 0, printed: '' })
    expect(await endOfProcess(url, 'leave')).to.deep.equal({ code: 0, printed: '' })
  })

  it('still answers when it is closed, on what was the way', async () => {
    const redis = await start()
    const { limiter, events } = await open(redis.url)
    const waiting = admittedOf(limiter, 10, quotaFor({ allow: 100 }))
    await limiter.close()
    expect(await waiting).to.equal(10)
    expect(events).to.deep.equal([])
  })
})

describe('without the failover', () => {
  afterEach(end)

  it('requests fail when Redis is killed', async () => {
    const redis = await start()
    const limiter = createRedisLimiter(redis.url)
    await limiter.connect()
    await redis.kill()
    const outcome = await limiter.admit([quotaFor({})]).catch((cause) => cause)
    expect(outcome).to.be.an('error')
  })

  it('requests fail when Redis hangs, although its connection would wait', async () => {
    const redis = await start()
    const limiter = createRedisLimiter(redis.url)
    const client = new Redis(redis.url, CONNECTION)
    await Promise.all([limiter.connect(), client.connect()])
    process.kill(redis.pid, 'SIGSTOP')
    const waiting = client.ping()
    const outcome = await limiter.admit([quotaFor({})]).catch((cause) => cause)
    expect(outcome).to.be.an('error').with.property('message', 'no answer within 250 ms')
    expect(await Promise.race([waiting, sleep(TAKEN_OVER_MS, 'waiting')])).to.equal('waiting')
    process.kill(redis.pid, 'SIGCONT')
    expect(await waiting).to.equal('PONG')
    limiter.disconnect()
    client.disconnect()
  })
})

async function endOfProcess(redisUrl: string, farewell: 'close' | 'leave') {
  const script = fileURLToPath(new URL('leaving-client.ts', import.meta.url))
  const child = fork(script, [redisUrl, farewell], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
  onEnd(() => child.kill('SIGKILL'))
  let printed = ''
  const print = (chunk: unknown) => {
    printed += chunk
  }
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', print)
  const [code] = await once(child, 'close')
  return { code, printed }
}
