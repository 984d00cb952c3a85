/** A throw-away HAProxy in front of instances, as a Service of Kubernetes is: it leads to those that are ready. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { endNow, endWithTests, removeNow, removeWithTests } from '../ends-with-tests.ts'
import { program } from '../programs.ts'
import { freePort } from '../redis.ts'
import { until } from '../until.ts'

interface Server {
  readonly name: string
  readonly port: number
  readonly adminPort: number
}

export interface HttpProxy {
  readonly url: string
  /** New requests go to other servers; resolves when no connection of a client is on it. */
  takeOut(name: string): Promise<void>
  /** Resolves when it is asked again. */
  takeIn(name: string): Promise<void>
  stop(): Promise<void>
}

/** Of its line of statistics: https://docs.haproxy.org/2.6/management.html#9.1 */
const COLUMNS = { name: 1, requests: 4, status: 17 }

export async function startHttpProxy(servers: readonly Server[]): Promise<HttpProxy> {
  const directory = removeWithTests(mkdtempSync(join(tmpdir(), 'sallyport-proxy-')))
  const port = await freePort()
  const socket = join(directory, 'admin')
  const file = join(directory, 'haproxy.cfg')
  writeFileSync(file, configuration({ port, socket, servers }))
  const child = endWithTests(spawn(program('haproxy'), ['-db', '-f', file], { stdio: 'ignore' }))
  const tell = async (command: string): Promise<string> => {
    const connection = connect(socket)
    await once(connection, 'connect')
    connection.write(`${command}\n`)
    return text(connection)
  }
  const rowOf = async (name: string) =>
    (await tell('show stat'))
      .split('\n')
      .map((line) => line.split(','))
      .find((columns) => columns[COLUMNS.name] === name) ?? []
  const isUp = async (name: string) => (await rowOf(name))[COLUMNS.status] === 'UP'
  await until(() =>
    Promise.all(servers.map(({ name }) => isUp(name))).then(
      (all) => all.every(Boolean),
      () => false,
    ),
  )
  return {
    url: `http://127.0.0.1:${port}`,
    takeOut: async (name) => {
      await tell(`set server api/${name} state drain`)
      await until(async () => (await rowOf(name))[COLUMNS.requests] === '0')
    },
    takeIn: async (name) => {
      await tell(`set server api/${name} state ready`)
      await until(() => isUp(name))
    },
    stop: async () => {
      await endNow(child)
      removeNow(directory)
    },
  }
}

interface Places {
  readonly port: number
  readonly socket: string
  readonly servers: readonly Server[]
}

/** It repeats no request, so that a client sees each failure. */
function configuration({ port, socket, servers }: Places): string {
  const lines = servers.map(
    ({ name, port: at, adminPort }) => `  server ${name} 127.0.0.1:${at} check port ${adminPort}`,
  )
  return `global
  stats socket ${socket} level admin
defaults
  mode http
  retries 0
  timeout connect 10s
  timeout client 1h
  timeout server 1h
  timeout check 10s
listen api
  bind 127.0.0.1:${port}
  option httpchk GET /readyz
  default-server inter 200ms fall 2 rise 1
${lines.join('\n')}
`
}
