/**
 * Makes the files of this folder with the code of release 0.1.0: run once, with the path of a checkout of that release
 * (commit 622c4ba) that has its dependencies. The files must never be made again by a later release.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'

const HERE = import.meta.dirname
const PASSWORD = 'a long password of 0.1.0'
/** As long as the tests may run. */
const EVER = '36500d'

const release = process.argv[2]
if (release === undefined) throw new Error('name the checkout of the release')
const folder = await mkdtemp(join(tmpdir(), 'sallyport-release-'))
for (const name of ['policies', 'schemas']) await cp(join(release, name), join(folder, name), { recursive: true })

const log = join(folder, 'log')
const port = String(await freePort())
const env = {
  PATH: process.env.PATH,
  PORT: port,
  ADMIN_PORT: '0',
  DECISION_LOG_FILE: join(log, 'decisions.log'),
}
const launcher = join(release, 'bin/sallyport.js')
const run = (args: readonly string[], input = '') =>
  execFileSync(process.execPath, [launcher, ...args], { cwd: folder, env, input, encoding: 'utf8' }).trim()

async function serve() {
  await mkdir(log, { recursive: true })
  const child = spawn(process.execPath, [launcher, 'serve'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] })
  while (
    !(await ask('GET', '/readyz').then(
      ({ status }) => status === 200,
      () => false,
    ))
  )
    await sleep(100)
  return child
}

async function ask(method: string, path: string, token?: string, body?: unknown, more: Record<string, string> = {}) {
  const headers = {
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(body === undefined
      ? {}
      : { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' }),
    ...more,
  }
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return {
    status: response.status,
    etag: response.headers.get('etag'),
    body: text === '' ? undefined : JSON.parse(text),
  }
}

const first = await serve()
for (const [id, role] of [
  ['ada', 'admin'],
  ['bob', 'member'],
  ['gone', 'member'],
] as const) {
  run(['user', 'add', '--id', id, '--email', `${id}@example.com`, '--name', id, '--role', role])
}
for (const id of ['ada', 'bob']) run(['user', 'password', id], PASSWORD)
run(['user', 'disable', 'gone'])
const apiKey = run(['key', 'add', '--subject', 'robot', '--role', 'auditor', '--expires', EVER, '--name', 'a key'])
const oldToken = run(['token', '--subject', 'bob', '--role', 'member', '--expires', EVER])
run(['signing-keys', 'rotate'])
const newToken = run(['token', '--subject', 'ada', '--role', 'admin', '--expires', EVER])
await sleep(1500)
const replay = { 'idempotency-key': 'release-0.1.0' }
const note = await ask('POST', '/api/v1/notes', oldToken, { title: 'An old note', tags: ['ä', '\u{1f600}'] }, replay)
const changed = await ask('PATCH', `/api/v1/notes/${note.body.id}`, oldToken, { body: 'changed once' })
const order = await ask('POST', '/api/orders', newToken, {
  customerId: 'bob',
  currency: 'EUR',
  items: [{ sku: 'A', quantity: 2, unitPrice: 1999 }],
})
const signedIn = await ask('POST', '/api/tokens', undefined, { email: 'bob@example.com', password: PASSWORD })
await sleep(2000)

// Records of writes wait in the database while the log can't be written.
await rm(log, { recursive: true })
const waiting = await ask('POST', '/api/v1/notes', oldToken, { title: 'Its record waits' })
await sleep(500)
first.kill('SIGTERM')
await once(first, 'close')

await mkdir(join(HERE, 'keys'), { recursive: true })
for (const name of ['keys']) await cp(join(folder, 'data', name), join(HERE, name), { recursive: true })
for (const name of ['policies', 'schemas']) await cp(join(folder, name), join(HERE, name), { recursive: true })
await writeFile(
  join(HERE, 'sallyport.db.gz'),
  gzipSync(await readFile(join(folder, 'data/sallyport.db')), { level: 9 }),
)
const known = {
  madeAt: new Date().toISOString(),
  password: PASSWORD,
  apiKey,
  oldToken,
  newToken,
  refreshToken: signedIn.body.refresh_token,
  note: { ...changed.body },
  etag: changed.etag,
  order: order.body,
  waiting: waiting.body,
}
await writeFile(join(HERE, 'known.json'), `${JSON.stringify(known, null, 2)}\n`)
process.stdout.write(
  `${JSON.stringify({ statuses: [note, changed, order, signedIn, waiting].map(({ status }) => status) })}\n`,
)
await rm(folder, { recursive: true })

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port: found } = server.address() as { readonly port: number }
  server.close()
  return found
}
