/**
 * Three instances on one PostgreSQL behind HAProxy are restarted in turn, as Kubernetes does it by deploy/kubernetes/:
 * first the proxy is told, then the instance (preStop). What the manifests say is held by kubernetes.test.ts, and the
 * drain of one server by test/request/drain.test.ts.
 */
import { randomBytes } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { sallyport } from '../command.ts'
import { removeNow, removeWithTests } from '../ends-with-tests.ts'
import { type PostgresServer, startPostgres } from '../postgres.ts'
import { freePort } from '../redis.ts'
import { Instance } from '../scale/cluster.ts'
import { until } from '../until.ts'
import { type HttpProxy, startHttpProxy } from './http-proxy.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const CLIENTS = 12
/** Before, during and after each restart, the clients get as many answers. */
const ANSWERS = 200
const MOST_KILLS = 10
/** Then it isn't about restarts. */
const MOST_FAILURES = 1000

describe('three instances behind HAProxy, under load', function () {
  this.timeout(600_000)
  const folder = removeWithTests(mkdtempSync(join(tmpdir(), 'sallyport-rolling-')))
  const instances: Instance[] = []
  let database: PostgresServer
  let proxy: HttpProxy
  let load: Load

  before(async () => {
    database = await startPostgres()
    const env = {
      DATABASE_URL: database.url,
      KEYS_SECRET: randomBytes(32).toString('base64'),
      POLICIES: unlimited(folder),
    }
    const adminPorts: number[] = []
    for (const name of ['api-1', 'api-2', 'api-3']) {
      mkdirSync(join(folder, name))
      const adminPort = await freePort()
      adminPorts.push(adminPort)
      instances.push(new Instance(name, await freePort(), join(folder, name), { ...env, ADMIN_PORT: `${adminPort}` }))
      await instances.at(-1)?.start()
    }
    proxy = await startHttpProxy(
      instances.map(({ name, port }, at) => ({ name, port, adminPort: adminPorts[at] as number })),
    )
    const token = await sallyport(['token', '--subject', 'alice', '--role', 'member'], { cwd: ROOT, env })
    load = new Load(proxy.url, token.stdout.trim())
  })

  afterEach(() => load?.stop())

  after(async () => {
    await Promise.all(instances.map((instance) => instance.kill()))
    await proxy?.stop()
    await database?.remove()
    removeNow(folder)
  })

  it('answer every read and every write while each is restarted in turn', async () => {
    load.start()
    for (const instance of instances) {
      await load.answers(ANSWERS)
      await proxy.takeOut(instance.name)
      await instance.stop()
      await load.answers(ANSWERS)
      await instance.start()
      await proxy.takeIn(instance.name)
    }
    await load.answers(ANSWERS)
    await load.stop()
    expect(load.failures).to.deep.equal([])
    expect(load.answered).to.be.at.least(7 * ANSWERS)
  })

  it('lose requests if one is killed in place of draining, so the test above can fail', async () => {
    const [instance] = instances as [Instance]
    load.start()
    for (let kills = 0; kills < MOST_KILLS && load.failures.length === 0; kills += 1) {
      await load.answers(ANSWERS)
      await instance.kill()
      await load.answers(ANSWERS)
      await instance.start()
      await proxy.takeIn(instance.name)
    }
    await load.stop()
    expect(load.failures).not.to.deep.equal([])
  })
})

/** The shipped policy without its limits. */
function unlimited(folder: string): string {
  const policies = join(folder, 'policies')
  cpSync(join(ROOT, 'policies'), policies, { recursive: true })
  writeFileSync(join(policies, 'limits.yaml'), 'body: 100kb\npage: { default: 50, max: 200 }\nlimits: {}\n')
  return policies
}

/** Clients that create, change and read notes, one request after the other, over connections that stay open. */
class Load {
  answered = 0
  failures: string[] = []
  readonly #url: string
  readonly #token: string
  #running: Promise<unknown> = Promise.resolve()
  #stopped = false

  constructor(url: string, token: string) {
    this.#url = url
    this.#token = token
  }

  start(): void {
    this.answered = 0
    this.failures = []
    this.#stopped = false
    this.#running = Promise.all(Array.from({ length: CLIENTS }, () => this.#client()))
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#running
  }

  /** Resolves after that many more. */
  async answers(more: number): Promise<void> {
    const enough = this.answered + more
    await until(() => this.answered >= enough || this.failures.length >= MOST_FAILURES)
    if (this.failures.length >= MOST_FAILURES) throw new Error(this.failures[0])
  }

  async #client(): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    while (!this.#stopped) {
      const created = await this.#ask(agent, 'POST', '/api/v1/notes', { title: 'a note' })
      const { id } = created ? JSON.parse(created) : {}
      if (id === undefined) continue
      await this.#ask(agent, 'GET', `/api/v1/notes/${id}`)
      await this.#ask(agent, 'PATCH', `/api/v1/notes/${id}`, { title: 'another title' })
      await this.#ask(agent, 'DELETE', `/api/v1/notes/${id}`)
    }
    agent.destroy()
  }

  /** The text of an answer; undefined for a failure. */
  async #ask(agent: Agent, method: string, path: string, body?: object): Promise<string | undefined> {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    const headers = { authorization: `Bearer ${this.#token}`, ...(body && { 'content-type': type }) }
    const { status, content } = await send(`${this.#url}${path}`, { agent, method, headers }, body)
    if (status >= 200 && status < 300) this.answered += 1
    else this.failures.push(`${method} ${path}: ${status} ${content}`)
    return status < 300 ? content : undefined
  }
}

interface Sent {
  readonly agent: Agent
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
}

/** A connection that ends without an answer has the status 599. */
function send(
  url: string,
  options: Sent,
  body?: object,
): Promise<{ readonly status: number; readonly content: string }> {
  return new Promise((resolve) => {
    const lost = (error: Error) => resolve({ status: 599, content: error.message })
    const sent = request(url, options, (answer) => {
      text(answer).then((content) => resolve({ status: answer.statusCode ?? 599, content }), lost)
    })
    sent.once('error', lost)
    sent.end(body && JSON.stringify(body))
  })
}
