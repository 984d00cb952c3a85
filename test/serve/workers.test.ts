/** A server of several processes: they share the port, the limits, the decision log and their end. */
import { once } from 'node:events'
import { appendFile, cp, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { embeddedKeyIn } from '../../bench/fixture/embedded-key.ts'
import { issueToken } from '../../src/identity/tokens/issue-token.ts'
import { requestLines } from '../decision-log/request-lines.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { freePort, type RedisServer, startRedis } from '../redis.ts'
import { until } from '../until.ts'
import { childrenOf, type ServedCluster, startCluster } from './cluster.ts'

const ROOT = new URL('../..', import.meta.url).pathname

interface Readiness {
  readonly status: string
  readonly checks: Readonly<Record<string, unknown>>
}

describe('serve --workers 2', () => {
  let folder: string
  let running: ServedCluster | undefined
  let redis: RedisServer | undefined

  async function makeFolder(): Promise<void> {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-workers-'))
    await cp(join(ROOT, 'policies'), join(folder, 'policies'), { recursive: true })
  }

  async function start(env: Record<string, string> = {}): Promise<ServedCluster> {
    running = await startCluster(folder, env)
    return running
  }

  const limit = (allow: number) =>
    writeFile(
      join(folder, 'policies/limits.yaml'),
      `body: 100kb\npage: { default: 50, max: 200 }\nlimits:\n  few: { per: address, allow: ${allow}, window: 60s }\n`,
    )

  async function alice(): Promise<Record<string, string>> {
    const key = await embeddedKeyIn(join(folder, 'data'))
    const claims = { subject: 'alice', roles: ['member'], issuer: 'sallyport', audience: 'sallyport' }
    return { authorization: `Bearer ${await issueToken(key, { ...claims, lifetimeSeconds: 600 })}` }
  }

  describe('that runs for several tests, and stops in the last one', () => {
    let shared: ServedCluster
    let consolePort: string

    before(async () => {
      await makeFolder()
      consolePort = String(await freePort())
      shared = await startCluster(folder, {
        CONSOLE_PORT: consolePort,
        DECISION_LOG_SEND: `http://127.0.0.1:${await freePort()}`,
      })
    })
    after(async () => {
      shared.child.kill('SIGKILL')
      await removeFolder(folder)
    })

    /** In the place of one that was killed. */
    const untilBack = (killed: number) =>
      until(async () => {
        const others = (await childrenOf(shared.child)).filter((pid) => pid !== killed)
        return others.length === 2 && (await ready()).status === 'ok'
      })
    const ready = async () => (await (await fetch(`${shared.adminUrl}/readyz`)).json()) as Readiness
    const allRecords = async () => {
      const text = await readFile(join(folder, 'data/decisions.log'), 'utf8')
      return text
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line))
    }

    it('ends connections that were handed to one that is killed, instead of leaving their clients to wait', async () => {
      const { url, child } = shared
      const [one = 0] = await childrenOf(child)
      process.kill(one, 'SIGSTOP')
      const ask = () =>
        fetch(`${url}/livez`, { headers: { connection: 'close' } }).then(
          ({ status }) => status,
          () => 0,
        )
      const answers = Promise.all(Array.from({ length: 4 }, ask))
      await sleep(300)
      process.kill(one, 'SIGKILL')
      expect((await answers).toSorted()).to.deep.equal([0, 200, 200, 200])
      await untilBack(one)
    })

    it('tells the metrics of all, and writes one record for each request, whichever process answers', async () => {
      const { url, adminUrl } = shared
      await Promise.all(Array.from({ length: 30 }, () => fetch(`${url}/readyz`)))
      const text = await (await fetch(`${adminUrl}/metrics`)).text()
      expect(text).to.match(/^sallyport_decisions_send_lag_seconds \d/m)
      expect(text).to.match(/request_duration_seconds_count\{method="GET",route="\/readyz",status="200"\} 30/)
      expect(text).to.match(/sallyport_policy_info\{revision="[0-9a-f]+"\} 1\n/)
      const records = async () => (await recordsIn(folder)).filter(({ route }) => route === '/readyz')
      await until(async () => (await records()).length === 30)
      expect(new Set((await records()).map(({ requestId }) => requestId)).size).to.equal(30)
    })

    it('keeps nothing of probes that were answered, one by one or many at once', async () => {
      const { adminUrl, log } = shared
      const probe = async () => (await fetch(`${adminUrl}/readyz`)).text()
      for (let i = 0; i < 15; i++) await probe()
      await Promise.all(Array.from({ length: 30 }, probe))
      expect(log()).not.to.contain('MaxListenersExceededWarning')
    })

    it('answers probes for all its processes on the admin port: degraded while one is missing', async () => {
      const { adminUrl, child } = shared
      expect(await ready()).to.deep.include({ status: 'ok' })
      const [one = 0] = await childrenOf(child)
      process.kill(one, 'SIGSTOP')
      const { status, checks } = await ready()
      expect([status, checks.workers]).to.deep.equal([
        'degraded',
        { status: 'degraded', detail: '1 of 2 workers answer' },
      ])
      expect((await fetch(`${adminUrl}/livez`)).status).to.equal(200)
      process.kill(one, 'SIGCONT')
      await until(async () => (await ready()).status === 'ok')
    })

    it('serve the console together, also while one is started again', async () => {
      const { child } = shared
      const ask = async () =>
        (await fetch(`http://127.0.0.1:${consolePort}/access`, { headers: { connection: 'close' } })).status
      const statuses = await Promise.all(Array.from({ length: 8 }, ask))
      const [one = 0] = await childrenOf(child)
      process.kill(one, 'SIGKILL')
      await until(async () => !(await childrenOf(child)).includes(one))
      expect([...statuses, await ask()]).to.deep.equal(new Array(9).fill(200))
      await untilBack(one)
    })

    it('drains all when it is told to stop, ends with 0, and notes the policy that its workers took last', async () => {
      const { url, child, exit } = shared
      const headers = { ...(await alice()), 'content-type': 'application/json' }
      const started = (await allRecords()).find(({ action }) => action === 'start')?.revision
      const changed = async () =>
        (await allRecords()).findLast(({ action, revision }) => action === 'policy' && revision !== started)?.revision
      await appendFile(join(folder, 'policies/policy.csv'), '# A remark.\n')
      await until(async () => (await changed()) !== undefined)
      const slow = request(`${url}/api/v1/notes`, { method: 'POST', headers })
      const answered = once(slow, 'response')
      slow.flushHeaders()
      await sleep(300)
      child.kill('SIGTERM')
      await sleep(300)
      // A terminal's Ctrl-C comes twice, by itself and by npm.
      child.kill('SIGTERM')
      await sleep(100)
      slow.end('{"title":"late"}')
      const [answer] = (await answered) as [IncomingMessage]
      expect(answer.statusCode).to.equal(201)
      answer.resume()
      expect(await exit).to.equal(0)
      expect((await recordsIn(folder)).at(-1)?.action).to.equal('create')
      const stopped = (await allRecords()).findLast(({ action }) => action === 'stop')
      expect(stopped?.revision).to.equal(await changed())
    })
  })

  describe('that is started for the test', () => {
    beforeEach(makeFolder)
    afterEach(async () => {
      running?.child.kill('SIGTERM')
      await running?.exit
      running = undefined
      await redis?.stop()
      redis = undefined
      await removeFolder(folder)
    })

    it('goes on answering while one is killed, starts another, and loses no record of a write', async () => {
      await limit(1_000_000)
      const { url, child } = await start()
      const headers = { ...(await alice()), 'content-type': 'application/json' }
      const [one = 0, two = 0] = await childrenOf(child)
      expect(two).to.be.greaterThan(0)
      const answers: { sentAt: number; status: number; id?: string }[] = []
      const write = async () => {
        for (const end = Date.now() + 2500; Date.now() < end; ) {
          const sentAt = Date.now()
          const answer = await fetch(`${url}/api/v1/notes`, { method: 'POST', headers, body: '{"title":"t"}' })
            .then(async (got) => ({ status: got.status, id: ((await got.json()) as { id: string }).id }))
            .catch(() => ({ status: 0 }))
          answers.push({ sentAt, ...answer })
        }
      }
      const writers = Array.from({ length: 4 }, write)
      await sleep(700)
      const killedAt = Date.now()
      process.kill(one, 'SIGKILL')
      await Promise.all(writers)
      expect(answers.filter(({ status }) => status !== 201 && status !== 0)).to.deep.equal([])
      // Those that were on their way in the one that was killed, or came to it before its end was known.
      const lost = answers.filter(({ status }) => status === 0)
      expect(lost.filter(({ sentAt }) => Math.abs(sentAt - killedAt) > 1000)).to.deep.equal([])
      expect(lost.length).to.be.at.most(16)
      expect(answers.filter(({ status, sentAt }) => status === 201 && sentAt > killedAt).length).to.be.greaterThan(20)
      const created = answers.flatMap(({ id }) => id ?? [])
      await until(async () => (await childrenOf(child)).filter((pid) => pid !== one).length === 2)
      const recorded = async () => (await recordsIn(folder)).filter(({ write }) => write !== undefined)
      await until(async () => new Set(created).isSubsetOf(new Set((await recorded()).map(({ objectId }) => objectId))))
      const numbers = (await recorded()).map(({ write }) => Number(write))
      expect(numbers).to.deep.equal([...new Set(numbers)].toSorted((a, b) => a - b))
    })

    it('keeps limits exact over its processes with Redis', async () => {
      await limit(20)
      redis = await startRedis()
      const { url, log } = await start({ REDIS_URL: redis.url })
      expect(await admitted(url)).to.equal(20)
      expect(log()).to.not.contain('without REDIS_URL')
    })

    it('says that limits are shared out without Redis, and admits no more than they allow', async () => {
      await limit(20)
      const { url, log } = await start()
      expect(log()).to.contain('without REDIS_URL each of 2 workers allows its part of a rate limit')
      expect(await admitted(url)).to.be.within(10, 20)
    })

    it('ends with 2 and the reason when its processes can not start', async () => {
      await writeFile(join(folder, 'policies/policy.csv'), 'p, nobody, notes, read, any, *, allow\n')
      const failure = await startCluster(folder, {}).catch((error) => String(error))
      expect(failure).to.match(/exit 2: .*unknown-role/s)
    })

    it('ends with 2 and the reason, and leaves no process behind, when the primary can not start', async () => {
      const taken = createServer().listen(0, '127.0.0.1')
      await once(taken, 'listening')
      const { port } = taken.address() as AddressInfo
      const failure = String(await startCluster(folder, { ADMIN_PORT: String(port) }).catch((error) => error))
      taken.close()
      expect(failure).to.match(/exit 2: .*ADMIN_PORT \d+ of 127\.0\.0\.1 can't be opened/s)
      expect(failure.match(/"draining"/g)).to.have.length(2)
    })

    it('starts none by the first part of a policy.csv that the others know to be incomplete', async () => {
      const { url, child, log } = await start()
      const [one = 0] = await childrenOf(child)
      const file = join(folder, 'policies/policy.csv')
      const text = await readFile(file, 'utf8')
      await writeFile(file, text.slice(0, text.lastIndexOf('\np, ') + 1))
      process.kill(one, 'SIGKILL')
      await until(() => log().includes('"startsAgainInMs":400'))
      expect(log()).to.contain('the file is incomplete: its last line `# end of policy` is missing')
      expect((await fetch(`${url}/livez`)).status).to.equal(200)
      await writeFile(file, text)
      await until(async () => (await fetch(`${url}/livez`)).ok && (await childrenOf(child)).length === 2)
    })

    it('goes on with the others when one that was killed can not start again, and tries less and less often', async () => {
      const { url, child, log } = await start()
      const [one = 0, two = 0] = await childrenOf(child)
      await writeFile(join(folder, 'policies/policy.csv'), 'p, nobody, notes, read, any, *, allow\n')
      process.kill(one, 'SIGKILL')
      await until(() => log().includes('"startsAgainInMs":800'))
      const waits = [...log().matchAll(/"startsAgainInMs":(\d+)/g)].map(([, wait]) => Number(wait))
      expect(waits).to.deep.equal([200, 400, 800])
      expect((await fetch(`${url}/livez`)).status).to.equal(200)
      expect(await childrenOf(child)).to.include(two)
    })
  })
})

async function recordsIn(folder: string): Promise<readonly Record<string, unknown>[]> {
  const text = await readFile(join(folder, 'data/decisions.log'), 'utf8').catch(() => '')
  return requestLines(text.slice(0, text.lastIndexOf('\n') + 1)).map((line) => JSON.parse(line))
}

/** Of sixty requests at once, each on a connection of its own. */
async function admitted(url: string): Promise<number> {
  const answers = await Promise.all(
    Array.from({ length: 60 }, () => fetch(`${url}/livez`, { headers: { connection: 'close' } })),
  )
  return answers.filter(({ status }) => status === 200).length
}
