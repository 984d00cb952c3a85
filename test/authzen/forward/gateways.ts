/** Real gateways in front of an application, with the example configurations of deploy/gateways/ as they stand there. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { endWithTests, removeNow, removeWithTests } from '../../ends-with-tests.ts'
import { program } from '../../programs.ts'
import { freePort } from '../../redis.ts'

const EXAMPLES = new URL('../../../deploy/gateways/', import.meta.url).pathname

const STARTED_WITHIN_MS = 60_000

export interface Gateway {
  readonly url: string
  stop(): Promise<void>
}

/** `sallyport` and `application`: host and port. */
interface Behind {
  readonly sallyport: string
  readonly application: string
  readonly key: string
}

export const GATEWAYS = { nginx: startNginx, caddy: startCaddy } as const

export type GatewayName = keyof typeof GATEWAYS

async function startNginx({ sallyport, application, key }: Behind): Promise<Gateway> {
  const folder = removeWithTests(mkdtempSync(join(tmpdir(), 'sallyport-nginx-')))
  const port = await freePort()
  writeFileSync(join(folder, 'sallyport-key.conf'), `proxy_set_header X-Sallyport-Key "${key}";\n`)
  writeFileSync(
    join(folder, 'site.conf'),
    readFileSync(join(EXAMPLES, 'nginx.conf'), 'utf8')
      .replace('sallyport.internal:3000', sallyport)
      .replace('application.internal:8080', application)
      .replace('listen 80;', `listen 127.0.0.1:${port};`),
  )
  writeFileSync(join(folder, 'nginx.conf'), mainConfiguration(folder))
  const args = ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr']
  return run(spawn(program('nginx'), args, { stdio: ['ignore', 'ignore', 'pipe'] }), { port, folder })
}

/** What nginx needs around a site: nothing outside of the folder is written. */
function mainConfiguration(folder: string): string {
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return [
    'daemon off; master_process off; error_log stderr crit;',
    `pid ${folder}/pid;`,
    'events {}',
    `http { access_log off; ${places.map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}`,
    '  include site.conf; }',
  ].join('\n')
}

async function startCaddy({ sallyport, application, key }: Behind): Promise<Gateway> {
  const folder = removeWithTests(mkdtempSync(join(tmpdir(), 'sallyport-caddy-')))
  const port = await freePort()
  const file = join(folder, 'Caddyfile')
  // Its administration would listen on one port for all of them.
  writeFileSync(file, `{\n\tadmin off\n}\n${readFileSync(join(EXAMPLES, 'Caddyfile'), 'utf8')}`)
  const settings = { LISTEN: `:${port}`, SALLYPORT: sallyport, APPLICATION: application, SALLYPORT_KEY: key }
  const env = { ...process.env, HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder, ...settings }
  const args = ['run', '--config', file, '--adapter', 'caddyfile']
  return run(spawn(program('caddy'), args, { env, stdio: ['ignore', 'ignore', 'pipe'] }), { port, folder })
}

async function run(
  spawned: ChildProcess,
  { port, folder }: { readonly port: number; readonly folder: string },
): Promise<Gateway> {
  const child = endWithTests(spawned)
  let said = ''
  child.stderr?.on('data', (chunk) => (said = `${said}${chunk}`.slice(-10_000)))
  const gone = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const stop = async () => {
    child.kill('SIGKILL')
    await gone
    removeNow(folder)
  }
  for (const until = Date.now() + STARTED_WITHIN_MS; !(await listens(port)); await sleep(30)) {
    if (child.exitCode !== null || Date.now() > until) {
      await stop()
      throw new Error(`the gateway did not start: ${said}`)
    }
  }
  return { url: `http://127.0.0.1:${port}`, stop }
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const settle = (does: boolean) => {
      socket.destroy()
      resolve(does)
    }
    socket.once('connect', () => settle(true)).once('error', () => settle(false))
  })
}

/** A request as the application behind a gateway got it. */
interface Received {
  readonly method: string
  readonly url: string
  /** By lower-case name; all values of a repeated one. */
  readonly headers: ReadonlyMap<string, readonly string[]>
  readonly body: string
}

export interface Application {
  /** Host and port. */
  readonly at: string
  /** Since the start, or since `forget`. */
  readonly received: readonly Received[]
  /** The paths of requests whose connections became tunnels. */
  readonly upgraded: readonly string[]
  forget(): void
  stop(): Promise<void>
}

/** It answers 200 to everything, and upgrades a connection to whatever is asked for. */
export async function startApplication(): Promise<Application> {
  const received: Received[] = []
  const upgraded: string[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => (body += chunk))
    request.on('end', () => {
      received.push(receivedOf(request, body))
      response.end('from the application')
    })
  })
  server.on('upgrade', ({ url = '', headers }, socket) => {
    upgraded.push(url)
    socket.on('error', () => undefined)
    const answer = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', `Upgrade: ${headers.upgrade}`, '', '']
    socket.end(answer.join('\r\n'))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    at: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    upgraded,
    forget: () => {
      received.splice(0)
      upgraded.splice(0)
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function receivedOf({ method = '', url = '', rawHeaders }: IncomingMessage, body: string): Received {
  const headers = new Map<string, string[]>()
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] ?? '').toLowerCase()
    headers.set(name, [...(headers.get(name) ?? []), rawHeaders[i + 1] ?? ''])
  }
  return { method, url, headers, body }
}
