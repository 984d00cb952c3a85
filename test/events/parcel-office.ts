/** Parcels on servers of several processes, with people who follow them, and a receiver of webhooks. */
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { appendFile, mkdtemp, readdir, readlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { withDatabase } from '../../bench/fixture/environment.ts'
import { ROOT, sallyport } from '../command.ts'
import { type HttpCollector, makeCertificate, startHttpCollector } from '../decision-log/send/collectors.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { childrenOf, type ServedCluster, startCluster } from '../serve/cluster.ts'
import { createSchema, type TestSchema } from '../store/postgres-schemas.ts'
import { until } from '../until.ts'
import { EVENTS_WORLD } from './events-world.ts'
import { FollowingClient, type FollowOptions } from './follow.ts'

export class ParcelOffice {
  readonly folder: string
  readonly receiver: HttpCollector
  readonly #schema: TestSchema | undefined
  readonly #clusters = new Set<ServedCluster>()
  readonly #clients = new Set<FollowingClient>()
  readonly #tokens = new Map<string, string>()

  private constructor(folder: string, receiver: HttpCollector, schema: TestSchema | undefined) {
    this.folder = folder
    this.receiver = receiver
    this.#schema = schema
  }

  static async make(engine: 'SQLite' | 'PostgreSQL'): Promise<ParcelOffice> {
    const folder = await mkdtemp(join(tmpdir(), 'sallyport-parcels-'))
    for (const name of ['policies', 'schemas']) cpSync(join(ROOT, name), join(folder, name), { recursive: true })
    mkdirSync(join(folder, 'schemas/commands'), { recursive: true })
    mkdirSync(join(folder, 'migrations'))
    const unlimited = { 'policies/limits.yaml': 'body: 100kb\npage: { default: 50, max: 200 }\nlimits: {}\n' }
    for (const [name, text] of Object.entries({ ...EVENTS_WORLD, ...unlimited }))
      writeFileSync(join(folder, name), text)
    makeCertificate(folder)
    const schema = engine === 'PostgreSQL' ? await createSchema() : undefined
    return new ParcelOffice(folder, await startHttpCollector(folder), schema)
  }

  get env(): Readonly<Record<string, string>> {
    return {
      DATA_DIR: join(this.folder, 'served'),
      POLICIES: join(this.folder, 'policies'),
      SCHEMAS: join(this.folder, 'schemas'),
      MIGRATIONS: join(this.folder, 'migrations'),
      ...withDatabase(this.#schema?.url ?? `sqlite:${join(this.folder, 'parcels.db')}`),
      CONSOLE_PORT: 'off',
      WEBHOOK_NETWORKS: '127.0.0.0/8',
      WEBHOOK_CA: join(this.folder, 'crt.pem'),
    }
  }

  async start(name: string, workers: number, env: Readonly<Record<string, string>> = {}): Promise<ServedCluster> {
    const own = { ...this.env, DATA_DIR: join(this.folder, name), INSTANCE: name }
    mkdirSync(own.DATA_DIR, { recursive: true })
    const started = await startCluster(this.folder, { ...own, ...env }, workers)
    this.#clusters.add(started)
    return started
  }

  async stop(cluster: ServedCluster, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    this.#clusters.delete(cluster)
    cluster.child.kill(signal)
    await cluster.exit
  }

  async command(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await sallyport(args, { env: this.env })
    expect(code, stderr).to.equal(0)
    return stdout.trim()
  }

  /** A token of somebody with this role. */
  async tokenOf(subject: string, role: string): Promise<string> {
    const token = this.#tokens.get(subject) ?? (await this.command('token', '--subject', subject, '--role', role))
    this.#tokens.set(subject, token)
    return token
  }

  async keyOf(subject: string, role: string): Promise<{ readonly id: string; readonly text: string }> {
    const text = await this.command('key', 'add', '--subject', subject, '--role', role, '--expires', '1d')
    return { id: text.split('_')[1] ?? '', text }
  }

  /** On a connection of its own, so that the processes take turns. */
  async follow({ url }: ServedCluster, token: string, options: FollowOptions = {}): Promise<FollowingClient> {
    const client = await FollowingClient.open(url, token, options)
    this.#clients.add(client)
    await until(() => client.heard.length > 0 || options.lastEventId !== undefined)
    return client
  }

  /** Returns the id; each write is another connection. */
  async make({ url }: ServedCluster, fields: Readonly<Record<string, string>> = {}): Promise<string> {
    const headers = {
      authorization: `Bearer ${await this.tokenOf('ada', 'admin')}`,
      'content-type': 'application/json',
      connection: 'close',
    }
    const answer = await fetch(`${url}/parcels`, { method: 'POST', headers, body: JSON.stringify(fields) })
    expect(answer.status).to.equal(201)
    return ((await answer.json()) as { id: string }).id
  }

  async subscribe(key: string): Promise<void> {
    const text = `erp: { url: "https://127.0.0.1:${this.receiver.port}/hook", key: ${key}, resource: parcels }\n`
    await writeFile(join(this.folder, 'policies/subscriptions.yaml'), text)
  }

  block(subject: string): Promise<void> {
    return appendFile(join(this.folder, 'policies/blocked.txt'), `user:${subject}\n`)
  }

  /** What the receiver was sent of parcels: the number of the change, and the id of the object. */
  get received(): readonly { readonly number: number; readonly id: string }[] {
    return this.receiver.taken.flatMap(({ body, headers }) => {
      const { type, data } = JSON.parse(body)
      return type === 'parcels.reset'
        ? []
        : [{ number: Number(String(headers['webhook-id']).split('.')[1]), id: data.id }]
    })
  }

  async remove(): Promise<void> {
    for (const client of this.#clients) client.close()
    await Promise.all([...this.#clusters].map((cluster) => this.stop(cluster)))
    await this.receiver.stop()
    await this.#schema?.remove()
    await removeFolder(this.folder)
  }
}

/** How many sockets each worker has open. */
export async function socketsOfWorkers({ child }: ServedCluster): Promise<readonly number[]> {
  return Promise.all(
    (await childrenOf(child)).map(async (pid) => {
      const open = await readdir(`/proc/${pid}/fd`)
      const links = await Promise.all(open.map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')))
      return links.filter((link) => link.startsWith('socket:')).length
    }),
  )
}
