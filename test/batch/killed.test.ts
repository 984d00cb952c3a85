/** A server that is killed (-9) within atomic batches: each batch is stored as a whole, or not at all. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { embeddedKeyIn } from '../../bench/fixture/embedded-key.ts'
import { issueToken } from '../../src/identity/tokens/issue-token.ts'
import { endNow, removeFolder } from '../ends-with-tests.ts'
import { addRules } from '../policy-text.ts'
import { freePort } from '../redis.ts'
import { sleep } from '../request/raw.ts'
import { soak } from '../runs.ts'
import { until } from '../until.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const ROUNDS = soak(5, 1)
/** Of a batch. */
const NOTES = 50

describe('a server that is killed within atomic batches', () => {
  let folder: string
  const children = new Set<ChildProcess>()
  let answered = 0

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    await cp(join(ROOT, 'policies'), join(folder, 'policies'), { recursive: true })
    await addRules(join(folder, 'policies/policy.csv'), 'p, member, system/batch, send, any, *, allow')
  })
  after(async () => {
    for (const child of [...children]) await endNow(child)
    await removeFolder(folder)
  })

  async function start() {
    const port = await freePort()
    const env = {
      ...process.env,
      DATA_DIR: join(folder, 'data'),
      POLICIES: join(folder, 'policies'),
      PORT: String(port),
      ADMIN_PORT: '0',
      CONSOLE_PORT: 'off',
    }
    const child = spawn(process.execPath, [join(ROOT, 'bin/sallyport.js'), 'serve'], { cwd: ROOT, env })
    children.add(child)
    const gone = once(child, 'close').then(() => children.delete(child))
    const listening = new Promise<void>((resolve) => {
      let told = ''
      child.stderr.on('data', (chunk) => {
        told += chunk
        if (told.includes('"msg":"listening"')) resolve()
      })
    })
    await Promise.race([listening, gone.then(() => Promise.reject(new Error('the server has ended')))])
    return { url: `http://127.0.0.1:${port}`, child, gone }
  }

  async function sendUntilGone(url: string, token: string): Promise<void> {
    const requests = Array.from({ length: NOTES }, (_, at) => ({
      id: `r${at}`,
      method: 'POST',
      path: '/api/v1/notes',
      body: { title: 't' },
    }))
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
    const body = JSON.stringify({ atomic: true, requests })
    for (;;) {
      const answer = await fetch(`${url}/batch`, { method: 'POST', headers, body }).catch(() => undefined)
      if (!answer || !(await answer.text().catch(() => undefined))) return
      expect(answer.status).to.equal(200)
      answered += 1
    }
  }

  it('has stored each batch as a whole or not at all, and those that it answered', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const { url, child, gone } = await start()
      const key = await embeddedKeyIn(join(folder, 'data'))
      const claims = { issuer: 'sallyport', audience: 'sallyport', lifetimeSeconds: 600 }
      const token = (subject: string) => issueToken(key, { subject, roles: ['member'], ...claims })
      const sending = ['ann', 'bob'].map(async (name) => sendUntilGone(url, await token(name)))
      const before = answered
      await until(() => answered > before + 2)
      await sleep(Math.random() * 50)
      child.kill('SIGKILL')
      await gone
      await Promise.all(sending)
    }
    const database = new DatabaseSync(join(folder, 'data/sallyport.db'))
    const stored = Number(database.prepare('select count(*) as many from objects_notes').get()?.many)
    database.close()
    expect(stored % NOTES).to.equal(0)
    expect(stored / NOTES).to.be.within(answered, answered + 2 * ROUNDS)
  })
})
