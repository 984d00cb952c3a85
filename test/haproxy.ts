/** A throw-away HAProxy in front of PostgreSQL servers: it leads to the one that takes writes. */
import { spawn } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { endWithTests, removeNow, removeWithTests } from './ends-with-tests.ts'
import { program } from './programs.ts'
import { freePort } from './redis.ts'

export interface HaProxy {
  readonly port: number
  stop(): Promise<void>
}

const STARTED_WITHIN_MS = 60_000
/** As many connections in a row must reach the primary. */
const CHECKS = 10

/** It finds a lost server within half a second, and ends the connections to it. */
export async function startHaProxy(servers: readonly { readonly port: number }[]): Promise<HaProxy> {
  const directory = removeWithTests(mkdtempSync(join(tmpdir(), 'sallyport-haproxy-')))
  const port = await freePort()
  const file = join(directory, 'haproxy.cfg')
  writeFileSync(file, configuration(port, servers))
  const child = endWithTests(spawn(program('haproxy'), ['-db', '-f', file], { stdio: ['ignore', 'ignore', 'pipe'] }))
  let said = ''
  child.stderr?.on('data', (chunk) => (said += chunk))
  const gone = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const stop = async () => {
    child.kill('SIGKILL')
    await gone
    removeNow(directory)
  }
  // Until its first checks, it leads to any server.
  for (let inARow = 0, until = Date.now() + STARTED_WITHIN_MS; inARow < CHECKS; await sleep(50)) {
    inARow = (await leadsToPrimary(port)) ? inARow + 1 : 0
    if (child.exitCode !== null || Date.now() > until) {
      await stop()
      throw new Error(`haproxy did not start: ${said}`)
    }
  }
  return { port, stop }
}

function configuration(port: number, servers: readonly { readonly port: number }[]): string {
  const lines = servers.map((server, i) => `  server postgres-${i + 1} 127.0.0.1:${server.port}`)
  return `defaults
  mode tcp
  timeout connect 1s
  timeout client 1h
  timeout server 1h
  timeout check 1s
listen postgres
  bind 127.0.0.1:${port}
  option tcp-check
  tcp-check connect
  tcp-check send-binary ${hex(START)}
  tcp-check send-binary ${hex(QUERY)}
  tcp-check expect binary ${hex(IS_PRIMARY)}
  default-server check inter 200ms fastinter 100ms fall 2 rise 1 on-marked-down shutdown-sessions
${lines.join('\n')}
`
}

/** https://www.postgresql.org/docs/current/protocol-message-formats.html */
function message(type: string, content: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeInt32BE(content.length + 4)
  return Buffer.concat([Buffer.from(type, 'latin1'), length, content])
}

const START = message('', Buffer.from('\0\x03\0\0user\0sallyport\0database\0postgres\0\0', 'latin1'))
const QUERY = message('Q', Buffer.from('select pg_is_in_recovery()\0', 'latin1'))
/** A row with one value: `f`. */
const IS_PRIMARY = message('D', Buffer.from('\0\x01\0\0\0\x01f', 'latin1'))

const DONE = Buffer.from('SELECT 1\0', 'latin1')

function hex(bytes: Buffer): string {
  return bytes.toString('hex')
}

function leadsToPrimary(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    let answered = Buffer.alloc(0)
    const settle = (leads: boolean) => {
      socket.destroy()
      resolve(leads)
    }
    socket.once('connect', () => socket.write(Buffer.concat([START, QUERY])))
    socket.on('data', (chunk: Buffer) => {
      answered = Buffer.concat([answered, chunk])
      if (answered.includes(DONE)) settle(answered.includes(IS_PRIMARY))
    })
    socket.once('error', () => settle(false))
    socket.once('close', () => settle(false))
  })
}
