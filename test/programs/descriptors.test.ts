/** A server whose descriptors have run out goes on, and takes later what it could not read meanwhile. */
import { type ChildProcess, spawn } from 'node:child_process'
import { appendFile, cp, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { embeddedKeyIn } from '../../bench/fixture/embedded-key.ts'
import { issueToken } from '../../src/identity/tokens/issue-token.ts'
import { endNow, removeFolder } from '../ends-with-tests.ts'
import { open } from '../request/raw.ts'
import { until } from '../until.ts'

const ROOT = new URL('../..', import.meta.url).pathname

/** Enough to start with; a connection takes one. */
const DESCRIPTORS = 64
const CONNECTIONS = 120

describe('a server without descriptors', () => {
  let folder: string
  let child: ChildProcess
  let said = ''
  let url = ''
  const sockets: Socket[] = []

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    await cp(join(ROOT, 'policies'), join(folder, 'policies'), { recursive: true })
    const env = {
      ...process.env,
      PORT: '0',
      ADMIN_PORT: '0',
      DATA_DIR: join(folder, 'data'),
      POLICIES: join(folder, 'policies'),
    }
    said = ''
    const command = `ulimit -n ${DESCRIPTORS} && exec ${process.execPath} ${join(ROOT, 'bin/sallyport.js')} serve`
    child = spawn('bash', ['-c', command], { cwd: ROOT, env, stdio: ['ignore', 'ignore', 'pipe'] })
    child.stderr?.on('data', (chunk) => {
      said += chunk
    })
    await until(() => said.includes('"msg":"listening"') || child.exitCode !== null)
    url = /"url":"([^"]+)"/.exec(said)?.[1] ?? said
  })
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy()
    await endNow(child)
    await removeFolder(folder)
  })

  it('in its first second goes on, and then answers whatever it is asked', async () => {
    await exhaust(2500)
    expect([child.exitCode, child.signalCode], said).to.deep.equal([null, null])
    release()
    await until(async () => (await answered('/livez')) === 200)
    const headers = { authorization: `Bearer ${await token()}`, 'content-type': 'application/json' }
    const note = await fetch(`${url}/api/v1/notes`, { method: 'POST', headers, body: '{"title":"t"}' })
    expect([note.status, await answered('/openapi.json'), await answered('/readyz')]).to.deep.equal([201, 200, 200])
    expect(said).to.not.contain('"level":60')
  })

  it('takes a block and a rule that were written meanwhile, once it can read them', async () => {
    const authorization = `Bearer ${await token()}`
    const users = async () =>
      JSON.parse(await (await fetch(`${url}/users`, { headers: { authorization } })).text()).code
    expect([await users(), await answered('/api/users')]).to.deep.equal(['forbidden', 401])
    const exhausted = exhaust(3000)
    await sleep(500)
    await appendFile(join(folder, 'policies/blocked.txt'), 'user:bob\n')
    const rules = await readFile(join(folder, 'policies/policy.csv'), 'utf8')
    const rule = 'p, everyone, users, list, any, public, allow\n'
    await writeFile(join(folder, 'policies/policy.csv'), rules.replace(/(?=# end of policy)/, rule))
    await exhausted
    // Else nothing was met that this is about.
    expect(said).to.contain('too many open files')
    release()
    // The first connections may still meet a server that has no descriptor for them.
    await until(async () => (await users().catch(() => undefined)) === 'blocked')
    await until(async () => (await answered('/api/users')) === 200)
    // Each part is told once, and again only after it could be read in between.
    const [refusals, between] = [said.split('policy refused').slice(1), /policy activated|valid again/]
    expect(refusals.length).to.be.within(1, 2 + 2 * refusals.slice(0, -1).filter((text) => between.test(text)).length)
  })

  /** More connections than there are descriptors, for so many milliseconds: those that are closed are opened again. */
  async function exhaust(milliseconds: number): Promise<void> {
    const deadline = performance.now() + milliseconds
    while (performance.now() < deadline) {
      const open = sockets.filter((socket) => !socket.destroyed).length
      for (let i = open; i < CONNECTIONS; i++) connect()
      await sleep(20)
    }
  }

  function connect(): void {
    const socket = open(url)
    sockets.push(socket)
    socket.on('end', () => socket.destroy())
    socket.resume()
    socket.write('GET /livez HTTP/1.1\r\n')
  }

  function release(): void {
    for (const socket of sockets.splice(0)) socket.destroy()
  }

  function answered(path: string): Promise<number> {
    return fetch(url + path).then(
      (response) => response.status,
      () => 0,
    )
  }

  async function token(): Promise<string> {
    const key = await embeddedKeyIn(join(folder, 'data'))
    const claims = { subject: 'bob', roles: ['member'], issuer: 'sallyport', audience: 'sallyport' }
    return issueToken(key, { ...claims, lifetimeSeconds: 600 })
  }
})
