/**
 * Three instances, real processes, on one PostgreSQL with a synchronous replica behind HAProxy, and one Redis. The first
 * instance reaches the database through a TCP proxy that tests can stall. Or on three nodes of Patroni, without proxies.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { endWithTests, removeNow, removeWithTests } from '../ends-with-tests.ts'
import { type HaProxy, startHaProxy } from '../haproxy.ts'
import { type PatroniCluster, startPatroni } from '../patroni.ts'
import { type PostgresServer, startPostgres } from '../postgres.ts'
import { fakeClock, freePort, type RedisServer, startRedis } from '../redis.ts'
import { startTcpProxy, type TcpProxy } from '../tcp-proxy.ts'
import { SCHEMAS } from './world.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const STARTED_WITHIN_MS = 120_000

export interface ClusterOptions {
  /** By instance, the seconds by which its clock is ahead. */
  readonly clocks?: readonly number[]
  /** A folder for the data of the primary. */
  readonly databaseFolder?: string
  readonly databaseSettings?: readonly string[]
  /** The database is three nodes of Patroni. */
  readonly patroni?: boolean
  /** Further settings of the instances. */
  readonly environment?: Readonly<Record<string, string>>
}

export interface LogLine {
  /** By the clock of the tests. */
  readonly at: number
  readonly instance: string
  readonly line: Readonly<Record<string, unknown>>
}

/** `serve` with its settings; it can be killed and started again on the same port. */
export class Instance {
  readonly name: string
  readonly port: number
  readonly folder: string
  readonly #env: Readonly<Record<string, string>>
  readonly #lines: LogLine[] = []
  #child: ChildProcess | undefined

  constructor(name: string, port: number, folder: string, env: Readonly<Record<string, string>>) {
    this.name = name
    this.port = port
    this.folder = folder
    this.#env = env
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  get log(): readonly LogLine[] {
    return this.#lines
  }

  /** The lines of its decision log. */
  get decisions(): readonly string[] {
    return readFileSync(join(this.folder, 'decisions.log'), 'utf8').split('\n')
  }

  async start(): Promise<void> {
    const env = { ...process.env, ...this.#env, INSTANCE: this.name, PORT: `${this.port}`, DATA_DIR: this.folder }
    const stdio = ['ignore', 'ignore', 'pipe'] as const
    const child = endWithTests(
      spawn(process.execPath, ['bin/sallyport.js', 'serve'], { cwd: ROOT, env, stdio: [...stdio] }),
    )
    this.#child = child
    child.stderr?.pipe(createWriteStream(join(this.folder, 'server.log'), { flags: 'a' }))
    let rest = ''
    child.stderr?.on('data', (chunk) => {
      const lines = `${rest}${chunk}`.split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) this.#lines.push({ at: performance.now(), instance: this.name, line: parse(line) })
    })
    await until(async () => child.exitCode !== null || (await this.isReady()))
    if (child.exitCode !== null) throw new Error(`${this.name} ended: ${JSON.stringify(this.#lines.slice(-5))}`)
  }

  async isReady(): Promise<boolean> {
    return fetch(`${this.url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )
  }

  kill(): Promise<void> {
    return this.#end('SIGKILL')
  }

  /** As an operator does: requests in flight are completed. */
  stop(): Promise<void> {
    return this.#end('SIGTERM')
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    if (!this.#child || this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const closed = once(this.#child, 'close')
    this.#child.kill(signal)
    await closed
  }
}

export class Cluster {
  readonly folder = removeWithTests(mkdtempSync(join(tmpdir(), 'sallyport-scale-')))
  readonly instances: Instance[] = []
  readonly secret = randomBytes(32).toString('base64url')
  primary!: PostgresServer
  replica!: PostgresServer
  proxy!: HaProxy
  redis!: RedisServer
  /** Between the first instance and HAProxy. */
  network!: TcpProxy
  patroni: PatroniCluster | undefined

  /** `prepare` runs before the first instance: it publishes the policy. */
  static async start(options: ClusterOptions, prepare: (cluster: Cluster) => Promise<void>): Promise<Cluster> {
    const cluster = new Cluster()
    try {
      await cluster.#startDatabase(options)
      await prepare(cluster)
      await cluster.#startInstances(options)
      return cluster
    } catch (error) {
      await cluster.remove()
      throw error
    }
  }

  /** Through HAProxy, or through another port that leads to it. */
  databaseUrl(port = this.proxy?.port): string {
    if (this.patroni) return this.patroni.url
    return `postgres://sallyport@127.0.0.1:${port}/postgres`
  }

  get signingKey(): string {
    return join(this.folder, 'policy.pem')
  }

  get schemas(): string {
    return join(this.folder, 'schemas')
  }

  /** The replica takes over, as an operator or a tool like Patroni does it. */
  promote(): Promise<void> {
    return this.#tellReplica('select pg_promote()')
  }

  /** The replica gets nothing more of the primary. */
  async stopReplication(): Promise<void> {
    await this.#tellReplica("alter system set primary_conninfo = ''")
    await this.#tellReplica('select pg_reload_conf()')
  }

  async #tellReplica(statement: string): Promise<void> {
    const client = new pg.Client({ connectionString: this.replica.url })
    await client.connect()
    await client.query(statement)
    await client.end()
  }

  async restartRedis(): Promise<void> {
    this.redis = await startRedis({ port: this.redis.port })
  }

  async remove(): Promise<void> {
    await Promise.all(this.instances.map((instance) => instance.kill()))
    await this.network?.close()
    await this.proxy?.stop()
    await this.redis?.kill()
    await this.patroni?.remove()
    await this.replica?.remove()
    await this.primary?.remove()
    removeNow(this.folder)
  }

  async #startDatabase({ databaseFolder, databaseSettings = [], patroni = false }: ClusterOptions): Promise<void> {
    this.redis = await startRedis()
    if (patroni) {
      this.patroni = await startPatroni()
      return
    }
    // Commits wait until the replica has them on disk.
    const settings = ['synchronous_standby_names=*', ...databaseSettings]
    const parent = databaseFolder === undefined ? {} : { parent: databaseFolder }
    this.primary = await startPostgres({ settings, ...parent })
    this.replica = await startPostgres({ replicaOf: this.primary })
    this.proxy = await startHaProxy([this.primary, this.replica])
    this.network = await startTcpProxy(this.proxy.port)
  }

  async #startInstances({ clocks = [], environment = {} }: ClusterOptions): Promise<void> {
    mkdirSync(this.schemas)
    for (const [name, text] of SCHEMAS) writeFileSync(join(this.schemas, name), text)
    const ports = await Promise.all([1, 2, 3].map(freePort))
    for (const [i, port] of ports.entries()) {
      const name = `api-${i + 1}`
      const folder = join(this.folder, name)
      mkdirSync(folder)
      const shared = this.#environment(i === 0 ? this.network?.port : this.proxy?.port)
      const env = { ...shared, ...environment, ...clock(folder, clocks[i]) }
      this.instances.push(new Instance(name, port, folder, env))
    }
    // The first one creates the tables.
    await this.instances[0]?.start()
    await Promise.all(this.instances.slice(1).map((instance) => instance.start()))
  }

  #environment(databasePort: number | undefined): Readonly<Record<string, string>> {
    return {
      ADMIN_PORT: '0',
      DATABASE_URL: this.databaseUrl(databasePort),
      KEYS_SECRET: this.secret,
      LIMIT_INSTANCES: '3',
      POLICIES: 'database:',
      POLICY_PUBLIC_KEYS: `${this.signingKey}.pub`,
      REDIS_URL: this.redis.url,
      SCHEMAS: this.schemas,
    }
  }

  makeSigningKey(): void {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    writeFileSync(this.signingKey, privateKey.export({ format: 'pem', type: 'pkcs8' }))
    writeFileSync(`${this.signingKey}.pub`, publicKey.export({ format: 'pem', type: 'spki' }))
  }
}

function clock(folder: string, seconds = 0): Readonly<Record<string, string>> {
  if (seconds === 0) return {}
  const file = join(folder, 'offset')
  writeFileSync(file, seconds < 0 ? `${seconds}` : `+${seconds}`)
  return fakeClock(file)
}

/** A process that is killed may leave half a line. */
function parse(line: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(line)
  } catch {
    return { msg: line }
  }
}

/** Throws when it doesn't come. */
export async function until(holds: () => boolean | Promise<boolean>, milliseconds = STARTED_WITHIN_MS): Promise<void> {
  for (const end = Date.now() + milliseconds; Date.now() < end; await sleep(50)) if (await holds()) return
  throw new Error('it did not come')
}
