/** Idempotency keys over processes: two servers on one database, and a server that is killed (-9) while it creates. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { embeddedKeyIn } from '../../bench/fixture/embedded-key.ts'
import { issueToken } from '../../src/identity/tokens/issue-token.ts'
import { endNow, removeFolder } from '../ends-with-tests.ts'
import { freePort } from '../redis.ts'
import { soak } from '../runs.ts'
import { sleep } from './raw.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const LAUNCHER = join(ROOT, 'bin/sallyport.js')
const REPEATS = soak(200, 60)
const ROUNDS = soak(3, 1)
const WORKERS = soak(6, 4)

const NOTE: Posted = { path: '/api/v1/notes', body: { title: 't' } }

interface Posted {
  readonly path: string
  readonly body: unknown
}

interface Running {
  readonly url: string
  kill(): Promise<void>
}

/** Undefined where no answer came. */
type Reply = { readonly status: number; readonly id: string | undefined; readonly replayed: boolean } | undefined

describe('an idempotency key, over processes', () => {
  let begun: string
  let folder: string
  let token: string
  const children = new Set<ChildProcess>()

  /** What a server has made at its first start, with the key of tokens. */
  before(async () => {
    begun = await mkdtemp(join(tmpdir(), 'sallyport-'))
    folder = begun
    const first = await start()
    const key = await embeddedKeyIn(join(folder, 'data'))
    token = await issueToken(key, {
      subject: 'ann',
      roles: ['admin'],
      issuer: 'sallyport',
      audience: 'sallyport',
      lifetimeSeconds: 600,
    })
    await first.kill()
  })
  after(() => removeFolder(begun))
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    await cp(begun, folder, { recursive: true })
  })
  afterEach(async () => {
    for (const child of [...children]) await endNow(child)
    await removeFolder(folder)
  })

  async function start(): Promise<Running> {
    const port = await freePort()
    const env = { ...process.env, DATA_DIR: join(folder, 'data'), PORT: String(port), ADMIN_PORT: '0' }
    const child = spawn(process.execPath, [LAUNCHER, 'serve'], { cwd: ROOT, env })
    children.add(child)
    const gone = once(child, 'close').then(() => children.delete(child))
    let stderr = ''
    const listening = new Promise<void>((resolve) => {
      child.stderr.on('data', (chunk) => {
        stderr += chunk
        if (stderr.includes('"msg":"listening"')) resolve()
      })
    })
    await Promise.race([listening, gone])
    if (!children.has(child)) throw new Error(`the server ended at once: ${stderr}`)
    const kill = async () => {
      child.kill('SIGKILL')
      await gone
    }
    return { url: `http://127.0.0.1:${port}`, kill }
  }

  async function post({ url }: Running, key: string | undefined, { path, body } = NOTE): Promise<Reply> {
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    }
    try {
      const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
      const { id } = (await response.json()) as { id?: string }
      return { status: response.status, id, replayed: response.headers.has('idempotency-replayed') }
    } catch {
      return undefined
    }
  }

  async function total({ url }: Running): Promise<number> {
    const headers = { authorization: `Bearer ${token}` }
    const response = await fetch(`${url}/api/v1/notes?count=exact&limit=1`, { headers })
    return ((await response.json()) as { total: number }).total
  }

  it(`${REPEATS} parallel repeats to two servers on one database create exactly one object`, async () => {
    const servers = await Promise.all([start(), start()])
    for (let round = 1; round <= ROUNDS; round++) {
      const replies = await Promise.all(
        Array.from({ length: REPEATS }, (_, i) => post(servers[i % 2] as Running, `parallel-${round}`)),
      )
      const created = replies.filter((reply) => reply?.status === 201)
      expect(replies.filter((reply) => reply?.status !== 201 && reply?.status !== 409)).to.deep.equal([])
      expect(created.filter((reply) => !reply?.replayed)).to.have.length(1)
      expect(new Set(created.map((reply) => reply?.id)).size).to.equal(1)
      for (const server of servers) expect(await total(server)).to.equal(round)
    }
  })

  for (const [name, posted] of [
    ['', () => NOTE],
    [
      ', also where a unique field is what conflicts',
      (round: number) => ({ path: '/api/users', body: { email: `u${round}@example.com`, displayName: 'U' } }),
    ],
  ] as const) {
    it(`of two servers that both found the key free, one creates and the other replays that${name}`, async () => {
      const servers = await Promise.all([start(), start()])
      const database = new DatabaseSync(join(folder, 'data/sallyport.db'), { timeout: 5000 })
      for (let round = 1; round <= ROUNDS; round++) {
        // Both look the key up, and then wait to write.
        database.exec('begin immediate')
        const asked = Promise.all(servers.map((server) => post(server, `held-${round}`, posted(round))))
        await sleep(300)
        database.exec('commit')
        const [one, other] = await asked
        expect([one?.status, other?.status, one?.id === other?.id]).to.deep.equal([201, 201, true])
        expect([one?.replayed, other?.replayed].filter(Boolean)).to.have.length(1)
      }
      database.close()
    })
  }

  /** Creates until the server is killed; what was asked, and what was answered. */
  async function createUntilKilled(server: Running, round: number, keyOf: (name: string) => string | undefined) {
    const replies = new Map<string, Reply>()
    let alive = true
    const workers = Array.from({ length: WORKERS }, async (_, worker) => {
      for (let n = 0; alive; n++) {
        const name = `r${round}-w${worker}-${n}`
        const reply = await post(server, keyOf(name))
        replies.set(name, reply)
        if (reply === undefined) return
      }
    })
    while (replies.size < 5 * round) await sleep(5)
    await server.kill()
    alive = false
    await Promise.all(workers)
    return replies
  }

  it('creates each object once, however a server dies between the write and the answer', async () => {
    const sent = new Map<string, Reply>()
    let server = await start()
    for (let round = 1; round <= ROUNDS; round++) {
      for (const [name, reply] of await createUntilKilled(server, round, (name) => name)) sent.set(name, reply)
      server = await start()
      for (const [name, reply] of sent) {
        const again = await post(server, name)
        expect(again?.status, name).to.equal(201)
        // What was answered is there; what wasn't is there or is created now, and from then on is the same.
        if (reply) expect([again?.id, again?.replayed], name).to.deep.equal([reply.id, true])
        sent.set(name, again)
      }
      expect(await total(server)).to.equal(sent.size)
    }
    expect(sent.size).to.be.greaterThan(ROUNDS * WORKERS)
  })

  it('would be found to create twice without keys', async () => {
    const server = await start()
    const sent = await createUntilKilled(server, ROUNDS, () => undefined)
    const again = await start()
    for (const name of sent.keys()) expect((await post(again, undefined))?.status, name).to.equal(201)
    expect(await total(again)).to.be.greaterThan(sent.size)
  })
})
