/** A server whose Redis fails over: what clients, probes and the log see. */
import { spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { endNow, endWithTests, removeWithTests } from '../ends-with-tests.ts'
import { freePort, type RedisServer } from '../redis.ts'
import { startCluster, startSentinels } from '../redis-groups.ts'
import { until } from '../until.ts'
import { end, onEnd } from './on-redis.ts'

describe('a server whose Redis fails over', function () {
  this.timeout(300_000)

  afterEach(end)

  const GROUPS = {
    Sentinels: async () => {
      const group = await startSentinels({ sentinels: 3 })
      return { ...group, lost: group.primary }
    },
    'a Cluster': async () => {
      const group = await startCluster()
      return { ...group, lost: group.nodes[0] as RedisServer }
    },
  }
  for (const [name, start] of Object.entries(GROUPS)) {
    it(`behind ${name}: no request fails, /readyz is degraded until limits are shared again, and the log says so`, async () => {
      const { url, lost, stop } = await start()
      onEnd(stop)
      const server = await startServer(url)
      await until(async () => /"limiter":\{"status":"ok"/.test((await server.ready()).text))
      const asking = server.ask()
      await until(() => asking.statuses().length > 20)
      await lost.kill()
      await until(async () => /"limiter":\{"status":"degraded"/.test((await server.ready()).text))
      expect((await server.ready()).status).to.equal(200)
      await until(async () => /"limiter":\{"status":"ok"/.test((await server.ready()).text))
      const statuses = await asking.stop()
      expect([...new Set(statuses)].filter((status) => status !== 404 && status !== 429)).to.deep.equal([])
      expect(server.log()).to.match(
        /Redis does not answer: this process counts rate limits alone.*Redis answers again/s,
      )
    })
  }
})

/** The shipped policy and schemas; nothing is at the path that is asked for, and its address has a limit. */
async function startServer(redisUrl: string) {
  const [port, admin] = [await freePort(), await freePort()]
  const folder = removeWithTests(mkdtempSync(join(tmpdir(), 'sallyport-failover-')))
  const settings = {
    PORT: `${port}`,
    ADMIN_PORT: `${admin}`,
    DATA_DIR: folder,
    CONSOLE_PORT: 'off',
    REDIS_URL: redisUrl,
  }
  const cwd = new URL('../..', import.meta.url).pathname
  const args = [join(cwd, 'bin/sallyport.js'), 'serve', '--demo']
  const child = endWithTests(spawn(process.execPath, args, { cwd, env: { ...process.env, ...settings } }))
  onEnd(() => endNow(child))
  let log = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      log += chunk
    })
  }
  const get = async (at: number, path: string) => {
    const response = await fetch(`http://127.0.0.1:${at}${path}`).catch(() => undefined)
    return { status: response?.status ?? 0, text: (await response?.text()) ?? '' }
  }
  return {
    log: () => log,
    ready: () => get(admin, '/readyz'),
    ask: () => {
      const statuses: number[] = []
      let isAsking = true
      const asker = (async () => {
        while (isAsking) statuses.push((await get(port, '/nothing')).status)
      })()
      return {
        statuses: () => statuses,
        stop: async () => {
          isAsking = false
          await asker
          return statuses
        },
      }
    },
  }
}
