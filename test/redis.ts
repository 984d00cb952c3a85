/** A throw-away Redis for tests, on a free port, with nothing kept; and the programs that this takes. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { endWithTests, removeNow, removeWithTests } from './ends-with-tests.ts'
import { faketimeLibrary, program } from './programs.ts'

export interface RedisServer {
  readonly host: string
  readonly port: number
  readonly url: string
  readonly pid: number
  /** Ends it as an operator would, and waits until it is gone. */
  stop(): Promise<void>
  /** Ends it without warning, and waits until it is gone. */
  kill(): Promise<void>
}

export interface RedisOptions {
  /** A free one by default. */
  readonly port?: number
  /** 127.0.0.1 by default. */
  readonly host?: string
  /** What runs it, in a network of its own for example. */
  readonly within?: readonly string[]
  readonly args?: readonly string[]
  /** The text of a configuration file, which it may change. */
  readonly configuration?: string
  readonly env?: Readonly<Record<string, string>>
  /** Where it may keep a snapshot that it is asked for; by default a directory that goes when it does. */
  readonly directory?: string
}

const STARTED_WITHIN_MS = 60_000

/** For a limiter whose counts are tested: its own 250 ms are for callers, and a busy machine may take longer. */
export const PATIENT_MS = 60_000

export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  const { host = '127.0.0.1', within = [], port = await freePort() } = options
  const directory = options.directory ?? removeWithTests(mkdtempSync(join(tmpdir(), 'sallyport-redis-')))
  const more = options.args ?? []
  // By default it would be the port and 10,000, which the system may have given to somebody.
  const bus =
    more.includes('--cluster-enabled') && !more.includes('--cluster-port')
      ? ['--cluster-port', `${await freePort()}`]
      : []
  const base = ['--port', `${port}`, '--bind', host, '--save', '', '--appendonly', 'no', '--dir', directory]
  const env = { ...process.env, ...options.env }
  const files = options.configuration === undefined ? [] : [join(directory, 'redis.conf')]
  for (const file of files) writeFileSync(file, `${options.configuration}\n`)
  const [command = '', ...args] = [...within, program('redis-server'), ...files, ...base, ...bus, ...more]
  const child = endWithTests(spawn(command, args, { env }))
  const output = collect(child)
  const gone = new Promise<void>((resolve) => child.once('close', () => resolve()))
  void gone.then(() => {
    if (options.directory === undefined) removeNow(directory)
  })
  const end = (signal: NodeJS.Signals) => {
    child.kill(signal)
    return gone
  }
  await untilListening({ host, port }, child).catch(async (cause) => {
    await end('SIGKILL')
    throw new Error(`redis-server did not start: ${output()}`, { cause })
  })
  return {
    host,
    port,
    url: `redis://${host}:${port}`,
    pid: child.pid ?? 0,
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
  }
}

/** The system gives these to nobody who asks for any port, so a server can also be started again on one of them. */
const [FIRST_PORT, LAST_PORT] = [10_000, 32_000]

export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT))
    if (await isFree(port)) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

/**
 * The environment in which a program's wall clock is shifted by what `offsetFile` says (`+0`, `-3600`: seconds).
 * jemalloc, which Debian's Redis uses, asks for the time before libfaketime is ready; glibc's other malloc comes first.
 */
export function fakeClock(offsetFile: string): Readonly<Record<string, string>> {
  return {
    LD_PRELOAD: `libc_malloc_debug.so.0:${faketimeLibrary()}`,
    FAKETIME_TIMESTAMP_FILE: offsetFile,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  }
}

function collect({ stdout, stderr }: ChildProcess): () => string {
  let output = ''
  for (const stream of [stdout, stderr]) {
    stream?.on('data', (chunk) => {
      output = (output + chunk).slice(-2000)
    })
  }
  return () => output
}

interface Address {
  readonly host: string
  readonly port: number
}

async function untilListening(address: Address, child: ChildProcess): Promise<void> {
  const deadline = performance.now() + STARTED_WITHIN_MS
  while (!(await isListening(address))) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error('it ended')
    if (performance.now() > deadline) throw new Error(`nothing listens on port ${address.port}`)
    await sleep(20)
  }
}

function isListening({ host, port }: Address): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host)
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}
