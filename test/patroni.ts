/** Three throw-away nodes of PostgreSQL under Patroni with etcd, as deploy/patroni/patroni.yml sets them up. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chownSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { parse, stringify } from 'yaml'
import { endNow, endWithTests, removeFolder, removeWithTests } from './ends-with-tests.ts'
import { program } from './programs.ts'
import { freePort } from './redis.ts'
import { until } from './until.ts'

const EXAMPLE = new URL('../deploy/patroni/patroni.yml', import.meta.url)
const USER = 'sallyport'
/** A former primary recovers, rewinds and starts again: minutes, on a busy machine. */
const WHOLE_WITHIN_MS = 600_000
/** Of the example, but for short tests. */
const SOONER = { ttl: 5, loop_wait: 1, retry_timeout: 2 }

export interface PatroniCluster {
  readonly nodes: readonly PatroniNode[]
  /** With all hosts. */
  readonly url: string
  /** The node that takes writes; waits for one other than `former`. */
  primary(former?: PatroniNode): Promise<PatroniNode>
  /** Waits until all nodes follow the primary, and one is synchronous. */
  whole(): Promise<void>
  remove(): Promise<void>
}

interface Place {
  readonly folder: string
  readonly user: { readonly uid?: number; readonly gid?: number }
  readonly etcd: string
}

export class PatroniNode {
  readonly name: string
  readonly port: number
  readonly #place: Place
  readonly #rest: number
  #child: ChildProcess | undefined

  constructor(name: string, { port, rest }: { readonly port: number; readonly rest: number }, place: Place) {
    this.name = name
    this.port = port
    this.#rest = rest
    this.#place = place
  }

  start(): void {
    const { folder, user } = this.#place
    const file = join(folder, `${this.name}.yml`)
    writeFileSync(file, this.#configuration())
    const env = { ...process.env, HOME: folder }
    this.#child = endWithTests(spawn(program('patroni'), [file], { ...user, cwd: folder, env }))
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on('data', (chunk) => writeFileSync(join(folder, `${this.name}.log`), chunk, { flag: 'a' }))
    }
  }

  /** As a machine that is lost: Patroni and PostgreSQL end at once. */
  async kill(): Promise<void> {
    const server = this.#server()
    await endNow(this.#child)
    for (const pid of server) tell(pid, 'SIGKILL')
  }

  /** As a machine that hangs: it keeps its connections, and answers none. */
  freeze(): void {
    for (const pid of this.#all()) tell(pid, 'SIGSTOP')
  }

  /** PostgreSQL wakes up as the primary that it was, and no Patroni tells it that there is another one. */
  async wakeAlone(): Promise<void> {
    await endNow(this.#child)
    for (const pid of this.#server()) tell(pid, 'SIGCONT')
  }

  /** What it has logged. */
  log(): string {
    return readFileSync(join(this.#place.folder, `${this.name}.log`), 'utf8')
  }

  /** Undefined while it doesn't answer. */
  async ask(text: string, withinMs = 1000): Promise<string | undefined> {
    const client = new pg.Client({ host: '127.0.0.1', port: this.port, user: USER, database: 'postgres' })
    const bound = setTimeout(() => (client as unknown as Sockets).connection.stream.destroy(), withinMs)
    client.on('error', () => undefined)
    try {
      await client.connect()
      const { rows } = await client.query({ text, rowMode: 'array' })
      return String(rows[0]?.[0])
    } catch {
      return undefined
    } finally {
      clearTimeout(bound)
      void client.end().catch(() => undefined)
    }
  }

  /** What Patroni tells of all nodes. */
  async members(): Promise<readonly Member[]> {
    try {
      const answer = await fetch(`http://127.0.0.1:${this.#rest}/cluster`, { signal: AbortSignal.timeout(1000) })
      return ((await answer.json()) as { readonly members: readonly Member[] }).members
    } catch {
      return []
    }
  }

  /** PostgreSQL's first process, and those that it has started. */
  #server(): readonly number[] {
    try {
      const [first = ''] = readFileSync(join(this.#data, 'postmaster.pid'), 'utf8').split('\n')
      return [Number(first), ...childrenOf(Number(first))]
    } catch {
      return []
    }
  }

  #all(): readonly number[] {
    return [this.#child?.pid ?? 0, ...this.#server()].filter((pid) => pid > 0)
  }

  get #data(): string {
    return join(this.#place.folder, this.name)
  }

  #configuration(): string {
    const { folder, etcd } = this.#place
    const example = parse(readFileSync(EXAMPLE, 'utf8'))
    const [rest, server] = [`127.0.0.1:${this.#rest}`, `127.0.0.1:${this.port}`]
    return stringify({
      ...example,
      name: this.name,
      restapi: { listen: rest, connect_address: rest },
      etcd3: { hosts: [etcd] },
      bootstrap: { ...example.bootstrap, dcs: { ...example.bootstrap.dcs, ...SOONER } },
      postgresql: {
        listen: server,
        connect_address: server,
        data_dir: this.#data,
        bin_dir: dirname(realpathSync(program('postgres'))),
        pgpass: join(folder, `${this.name}.pgpass`),
        authentication: { superuser: { username: USER }, replication: { username: USER }, rewind: { username: USER } },
        // No machine is lost, so what is written is there after a kill.
        parameters: { unix_socket_directories: folder, fsync: 'off' },
        pg_hba: ['local all all trust', 'host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust'],
      },
      watchdog: { mode: 'off' },
    })
  }
}

interface Member {
  readonly role: string
  readonly state: string
  readonly lag?: number | string
}

interface Sockets {
  readonly connection: { readonly stream: { destroy(): void } }
}

export async function startPatroni(): Promise<PatroniCluster> {
  const folder = removeWithTests(mkdtempSync(join(tmpdir(), 'sallyport-patroni-')))
  const { etcd, address } = await startEtcd(folder)
  const user = ownerOf(folder)
  const ports = await Promise.all(Array.from({ length: 6 }, freePort))
  const nodes = [0, 1, 2].map((at) => {
    const own = { port: ports[at] ?? 0, rest: ports[at + 3] ?? 0 }
    return new PatroniNode(`db${at + 1}`, own, { folder, user, etcd: address })
  })
  const cluster = clusterOf(nodes, async () => {
    for (const node of nodes) await node.kill()
    await endNow(etcd)
    await removeFolder(folder)
  })
  try {
    for (const node of nodes) node.start()
    await cluster.whole()
  } catch (error) {
    const logs = readdirSync(folder).filter((name) => name.endsWith('.log'))
    const said = logs.map((name) => readFileSync(join(folder, name), 'utf8').slice(-2000)).join('\n')
    await cluster.remove()
    throw new Error(`Patroni did not start: ${said}`, { cause: error })
  }
  return cluster
}

function clusterOf(nodes: readonly PatroniNode[], remove: () => Promise<void>): PatroniCluster {
  return {
    nodes,
    url: `postgres://${USER}@${nodes.map(({ port }) => `127.0.0.1:${port}`).join()}/postgres?target_session_attrs=read-write`,
    primary: async (former) => {
      let found: PatroniNode | undefined
      await until(async () => {
        const others = nodes.filter((node) => node !== former)
        const answers = await Promise.all(others.map((node) => node.ask('select pg_is_in_recovery()')))
        found = others[answers.indexOf('false')]
        return found !== undefined
      })
      return found as PatroniNode
    },
    whole: async () => {
      const end = Date.now() + WHOLE_WITHIN_MS
      for (let isWhole = false; !isWhole; await sleep(200)) {
        if (Date.now() > end) throw new Error('the nodes of Patroni do not follow a primary')
        const told = await Promise.all(nodes.map((node) => node.members()))
        isWhole = told.every((members) => {
          const roles = members.map(({ role }) => role).toSorted()
          const run = members.every(({ state, lag }) => /running|streaming/.test(state) && lag !== 'unknown')
          return run && roles.join() === 'leader,replica,sync_standby'
        })
      }
    },
    remove,
  }
}

async function startEtcd(folder: string) {
  const [client, peer] = await Promise.all([freePort(), freePort()])
  const address = `127.0.0.1:${client}`
  const data = join(folder, 'etcd')
  mkdirSync(data, { mode: 0o700 })
  const urls = (flag: string) => [`--listen-${flag}-urls`, `http://127.0.0.1:${flag === 'client' ? client : peer}`]
  const args = ['--data-dir', data, ...urls('client'), ...urls('peer'), '--advertise-client-urls', `http://${address}`]
  const etcd = endWithTests(spawn(program('etcd'), [...args, '--unsafe-no-fsync'], { stdio: 'ignore' }))
  await until(() =>
    fetch(`http://${address}/health`).then(
      ({ ok }) => ok,
      () => false,
    ),
  )
  return { etcd, address }
}

/** PostgreSQL refuses to run as root. */
function ownerOf(folder: string): Place['user'] {
  if (process.getuid?.() !== 0) return {}
  program('postgres')
  const [uid = 0, gid = 0] = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, 'postgres'])))
  chownSync(folder, uid, gid)
  return { uid, gid }
}

function childrenOf(parent: number): readonly number[] {
  const task = `/proc/${parent}/task/${parent}/children`
  return readFileSync(task, 'utf8').split(' ').map(Number).filter(Boolean)
}

function tell(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended.
  }
}
