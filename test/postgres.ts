/** A throw-away PostgreSQL for tests, on a free port; it doesn't run as root, because PostgreSQL refuses that. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chownSync, mkdtempSync, realpathSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { endWithTests, removeNow, removeWithTests } from './ends-with-tests.ts'
import { program } from './programs.ts'
import { freePort } from './redis.ts'

export interface PostgresServer {
  readonly port: number
  /** Of the database `postgres`, as its superuser. */
  readonly url: string
  readonly directory: string
  /** Ends it without warning, with all its processes, and waits until it is gone. */
  kill(): Promise<void>
  /** Starts it again, on the same port. */
  start(): Promise<void>
  /** Starts it again if it has ended by itself. */
  startIfEnded(): Promise<void>
  /** What it has logged. */
  log(): string
  /** Ends it and deletes its data. */
  remove(): Promise<void>
}

interface PostgresOptions {
  /** Settings of the server, like `max_connections=20`. */
  readonly settings?: readonly string[]
  /** It begins as a copy of this server, and then follows it (streaming replication). */
  readonly replicaOf?: PostgresServer
  /** Its data is in a throw-away folder of this one. */
  readonly parent?: string
}

const STARTED_WITHIN_MS = 60_000
const USER = 'sallyport'
/** The server keeps what its replica has not got yet. */
const SLOT = 'replica'

export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const { settings = [], replicaOf, parent = tmpdir() } = options
  const directory = removeWithTests(mkdtempSync(join(parent, 'sallyport-postgres-')))
  const owner = ownerOf(directory)
  const data = join(directory, 'data')
  const postgres = realpathSync(program('postgres'))
  const [tool, ...flags] = replicaOf
    ? [
        'pg_basebackup',
        '-D',
        data,
        '-U',
        USER,
        '-h',
        '127.0.0.1',
        '-p',
        `${replicaOf.port}`,
        '-R',
        '-c',
        'fast',
        '-N',
        '-C',
        '-S',
        SLOT,
      ]
    : ['initdb', '-D', data, '-U', USER, '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync', '--no-instructions']
  execFileSync(join(dirname(postgres), `${tool}`), flags, { ...owner, stdio: 'pipe', cwd: directory })
  const port = await freePort()
  let said = ''
  let server = await run()

  async function run(): Promise<Running> {
    const given = ['max_connections=60', 'listen_addresses=127.0.0.1', `port=${port}`, 'jit=off', ...settings]
    const args = ['-D', data, '-k', directory, ...given.flatMap((setting) => ['-c', setting])]
    const child = endWithTests(spawn(postgres, args, { ...owner, cwd: directory }))
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk))
    return runServer(child, port, () => said)
  }

  async function start(): Promise<void> {
    // The processes of the killed server end when they notice; until then the new one refuses to start.
    for (let attempt = 1; ; attempt += 1) {
      try {
        server = await run()
        return
      } catch (error) {
        if (attempt === 20) throw error
        await sleep(200)
      }
    }
  }

  return {
    port,
    url: `postgres://${USER}@127.0.0.1:${port}/postgres`,
    directory,
    log: () => said,
    kill: () => server.end('SIGKILL'),
    start,
    startIfEnded: async () => {
      if (server.hasEnded()) await start()
    },
    remove: async () => {
      await server.end('SIGQUIT')
      removeNow(directory)
    },
  }
}

interface Running {
  hasEnded(): boolean
  end(signal: NodeJS.Signals): Promise<void>
}

async function runServer(child: ChildProcess, port: number, said: () => string): Promise<Running> {
  const gone = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal)
    await gone
  }
  const until = Date.now() + STARTED_WITHIN_MS
  while (!(await isReady(port))) {
    if (child.exitCode !== null || Date.now() > until) {
      await end('SIGKILL')
      throw new Error(`postgres did not start: ${said()}`)
    }
    await sleep(30)
  }
  return { end, hasEnded: () => child.exitCode !== null || child.signalCode !== null }
}

/** Asks as a client does: the port is open before the server takes clients. */
function isReady(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const start = Buffer.from(`\0\0\0\0\0\x03\0\0user\0${USER}\0\0`, 'latin1')
    start.writeInt32BE(start.length)
    socket.once('connect', () => socket.write(start))
    // R asks for authentication (https://www.postgresql.org/docs/current/protocol-message-formats.html).
    socket.once('data', (answer) => settle(answer.toString('latin1', 0, 1) === 'R'))
    socket.once('error', () => settle(false))
    socket.once('close', () => settle(false))
    const settle = (ready: boolean) => {
      socket.destroy()
      resolve(ready)
    }
  })
}

/** The user that the package of PostgreSQL made, if the tests run as root. */
function ownerOf(directory: string): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {}
  program('postgres')
  const [uid = 0, gid = 0] = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, 'postgres'])))
  chownSync(directory, uid, gid)
  return { uid, gid }
}

let shared: Promise<PostgresServer> | undefined

/** One server for all tests of this process; it ends with the process. Nothing of it outlives a crash of the machine. */
export function sharedPostgres(): Promise<PostgresServer> {
  shared ??= startPostgres({ settings: ['fsync=off', 'max_connections=200', 'deadlock_timeout=100ms'] })
  return shared
}
