/** A PostgreSQL of its own for a measurement: on a free port, with the settings that ship, beside the load. */
import { execFileSync } from 'node:child_process'
import { chownSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { BenchFailure } from '../failure.ts'
import { freePort, type Running, start } from './processes.ts'
import { pathOf } from './programs.ts'
import { removeScratch, scratchFolder } from './scratch.ts'
import { cpuMicrosWithEnded } from './usage.ts'

export interface PostgresServer {
  /** Creates an empty database; the result is its URL. */
  create(name: string): Promise<string>
  /** User and system time of all its processes since the start, in microseconds. */
  cpuMicros(): number
  stop(): Promise<void>
}

const START_MS = 60_000
const USER = 'sallyport'

/** Commits are durable, as always: `fsync` is on. Throws BenchFailure. */
export async function startPostgres(): Promise<PostgresServer> {
  const folder = scratchFolder()
  const owner = ownerOf(folder)
  const data = join(folder, 'data')
  // initdb refuses to run as root. The new files needn't survive a crash of the machine.
  const flags = ['-D', data, '-U', USER, '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync', '--no-instructions']
  execFileSync(pathOf('initdb'), flags, { ...owner, stdio: 'pipe', cwd: folder })
  const port = await freePort()
  const settings = ['listen_addresses=127.0.0.1', `port=${port}`].flatMap((setting) => ['-c', setting])
  const command = [pathOf('postgres'), '-D', data, '-k', folder, ...settings]
  const running = start(command, { cpu: 'load', owner: { ...owner, cwd: folder } })
  const urlOf = (database: string) => `postgres://${USER}@127.0.0.1:${port}/${database}`
  const stop = async () => {
    await running.stop()
    removeScratch(folder)
  }
  try {
    await untilItAnswers(running, urlOf('postgres'))
  } catch (error) {
    await stop()
    throw error
  }
  return {
    create: async (name) => {
      await ask(urlOf('postgres'), `create database ${name}`)
      return urlOf(name)
    },
    cpuMicros: () => [running.pid, ...childrenOf(running.pid)].reduce((sum, pid) => sum + cpuMicrosWithEnded(pid), 0),
    stop,
  }
}

/** Runs one statement on a connection of its own. */
async function ask(url: string, statement: string): Promise<void> {
  const client = new pg.Client(url)
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query(statement)
  } finally {
    await client.end()
  }
}

async function untilItAnswers(running: Running, url: string): Promise<void> {
  for (const end = performance.now() + START_MS; performance.now() < end; await sleep(50)) {
    if (running.exitCode() !== undefined) throw new BenchFailure(`\`postgres\` ended: ${running.complaint()}`)
    const answered = await ask(url, 'select 1').then(
      () => true,
      () => false,
    )
    if (answered) return
  }
  throw new BenchFailure('`postgres` was started and does not answer')
}

/** The user that the package of PostgreSQL made, if the bench runs as root. */
function ownerOf(folder: string): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const [uid = 0, gid = 0] = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, 'postgres'])))
  chownSync(folder, uid, gid)
  return { uid, gid }
}

/** PostgreSQL has a process for each connection, all children of the first one. */
function childrenOf(parent: number): readonly number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map(Number).filter((pid) => parentOf(pid) === parent)
}

function parentOf(pid: number): number | undefined {
  try {
    return Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
  } catch {
    // It has ended meanwhile.
    return undefined
  }
}
