/** Child processes: each in a group of its own, on one CPU, ended with the bench whatever ends it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { BenchFailure } from '../failure.ts'
import { isInstalled } from './programs.ts'
import { removeScratch, scratchFolder } from './scratch.ts'

/** Servers run on one CPU, what asks them (and databases) on another, so that neither takes the other's time. */
type Cpu = 'server' | 'load' | 'any'

export interface StartOptions {
  readonly cpu: Cpu
  readonly environment?: Readonly<Record<string, string>>
  /** Reads the child's standard output; else it is thrown away. */
  readonly piped?: boolean
  /** Opens a channel for messages. */
  readonly channel?: boolean
  /** Another user than the bench's, and a folder that this user can enter. */
  readonly owner?: { readonly uid?: number; readonly gid?: number; readonly cwd: string }
}

export interface Running {
  readonly pid: number
  readonly child: ChildProcess
  /** Undefined while it runs. */
  exitCode(): number | undefined
  /** The end of what it wrote to standard error. */
  complaint(): string
  /** It takes no CPU time until it is resumed; connections and what they bring wait for it. */
  pause(): void
  resume(): void
  stop(): Promise<void>
}

const STOP_MS = 5_000

const live = new Set<number>()
process.on('exit', stopAll)
for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => process.exit(2))

/** All that run, at once. */
export function stopAll(): void {
  for (const pid of live) signal(pid, 'SIGKILL')
}

/** Whether each kind of process has a CPU for itself. */
export function pins(): boolean {
  return availableParallelism() > 1 && isInstalled('taskset')
}

export function start(
  command: readonly string[],
  { cpu, environment = {}, piped, channel, owner }: StartOptions,
): Running {
  const [program = '', ...args] =
    pins() && cpu !== 'any' ? ['taskset', '-c', cpu === 'server' ? '0' : '1', ...command] : command
  const folder = scratchFolder()
  const complaints = openSync(join(folder, 'stderr'), 'a')
  const child = spawn(program, args, {
    env: { ...process.env, ...environment },
    detached: true,
    ...owner,
    stdio: ['ignore', piped ? 'pipe' : 'ignore', complaints, ...(channel ? ['ipc' as const] : [])],
  })
  closeSync(complaints)
  // What can't be started has no process id, which is told below.
  child.once('error', () => undefined)
  if (child.pid === undefined) throw new BenchFailure(`\`${program}\` can't be started; is it installed?`)
  return running(child, child.pid, folder)
}

function running(child: ChildProcess, pid: number, folder: string): Running {
  live.add(pid)
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  // Its number may soon be another's.
  child.once('exit', () => live.delete(pid))
  return {
    pid,
    child,
    exitCode: () => child.exitCode ?? (child.signalCode === null ? undefined : -1),
    complaint: () => readFileSync(join(folder, 'stderr'), 'utf8').slice(-2000),
    pause: () => signal(pid, 'SIGSTOP'),
    resume: () => signal(pid, 'SIGCONT'),
    stop: async () => {
      signal(pid, 'SIGTERM')
      // One that is paused would not hear it.
      signal(pid, 'SIGCONT')
      const patience = new AbortController()
      const late = sleep(STOP_MS, undefined, { signal: patience.signal }).then(
        () => signal(pid, 'SIGKILL'),
        () => undefined,
      )
      await ended
      patience.abort()
      await late
      removeScratch(folder)
    },
  }
}

/** To the whole group. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(-pid, name)
  } catch {
    // It is gone already.
  }
}

/** Nobody listens on it now; whoever is given it should be quick. */
export function freePort(): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const probe = createServer()
  probe.once('error', reject)
  probe.listen(0, '127.0.0.1', () => {
    const address = probe.address()
    probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
  })
  return promise
}
