/** A server without users makes an admin, once, and tells the password once. */
import { spawn } from 'node:child_process'
import { mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { createApiKey, hashOfSecret } from '../../src/identity/directory/api-key.ts'
import { firstAdminText, makeFirstAdmin } from '../../src/server/parts/first-admin.ts'
import { StoreUnavailable } from '../../src/store/errors.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { LAUNCHER } from './processes.ts'

describe('the first admin', () => {
  let server: TestServer
  beforeEach(async () => {
    server = await startTestServer()
  })
  afterEach(() => server.stop())

  const post = (body: object) => server.ask('POST', '/api/tokens', { body })

  it('is made once, whoever asks at the same time, and signs in once', async () => {
    const made = await Promise.all([makeFirstAdmin(server.app), makeFirstAdmin(server.app)])
    const [admin, ...others] = made.filter((one) => one !== undefined)
    expect(others).to.deep.equal([])
    expect(await makeFirstAdmin(server.app)).to.equal(undefined)
    const { email = '', password = '' } = admin ?? {}
    expect([admin?.id, email]).to.deep.equal(['admin', 'admin@example.com'])
    const { body } = await post({ email, password })
    expect((await server.ask('GET', '/api/users', { token: body.access_token })).status).to.equal(200)
    expect((await post({ email, password })).status).to.equal(401)
  })

  it('is made whole or not at all', async () => {
    const database = new DatabaseSync(`${server.folder}/data/sallyport.db`)
    database.exec(`create trigger broken before insert on accounts begin select raise(abort, 'broken'); end`)
    const refused = await makeFirstAdmin(server.app).catch((error) => error)
    expect(refused).to.be.instanceOf(StoreUnavailable)
    expect(await server.app.directory.people()).to.deep.equal([])
    database.exec('drop trigger broken')
    database.close()
    const { email, password } = (await makeFirstAdmin(server.app)) ?? {}
    expect((await post({ email, password })).status).to.equal(200)
  })

  it('can not take the example for a password, which every server would then have', async () => {
    const admin = await makeFirstAdmin(server.app)
    if (!admin) throw new Error('none was made')
    const example = /-d '(.*)'/.exec(firstAdminText(server.url, admin))?.[1] ?? ''
    expect((await post(JSON.parse(example))).status).to.equal(400)
    expect((await post({ ...JSON.parse(example), newPassword: 'a password of mine' })).status).to.equal(200)
  })

  it('is not made where there is a user, nor where the first one has been deleted', async () => {
    const admin = await makeFirstAdmin(server.app)
    const token = await server.token('admin', 'admin')
    expect((await server.ask('DELETE', '/api/users/admin', { token })).status).to.equal(204)
    expect(admin).to.not.equal(undefined)
    expect(await makeFirstAdmin(server.app)).to.equal(undefined)
    const other = await startTestServer({ demo: true })
    expect(await makeFirstAdmin(other.app)).to.equal(undefined)
    await other.stop()
  })

  it('is not made where API keys have its role as often as a guarantee allows, and is made once one of them ends', async () => {
    const guarantees = '- name: one admin\n  at-most: { role: admin, people: 1 }\n'
    const other = await startTestServer({ files: { 'policies/guarantees.yaml': guarantees } })
    const { directory } = other.app
    const { id, secret } = createApiKey()
    const parts = { id, secretHash: hashOfSecret(secret), subject: 'robot', roles: ['admin'], name: '', createdAt: 0 }
    await directory.addKey({ ...parts, expiresAt: Date.now() + 3_600_000 })
    expect(await makeFirstAdmin(other.app)).to.equal(undefined)
    expect(await directory.people()).to.deep.equal([])
    await directory.revokeKey(id)
    expect((await makeFirstAdmin(other.app))?.role).to.equal('admin')
    await other.stop()
  })

  it('has no role where roles.yaml declares no admin, and says so', async () => {
    const other = await startTestServer({
      files: {
        'policies/roles.yaml': 'member:\n  description: A member.\n',
        'policies/policy.csv': 'p, member, notes, read, owner, *, allow\n',
      },
    })
    const admin = await makeFirstAdmin(other.app)
    expect(admin?.role).to.equal(undefined)
    if (admin) expect(firstAdminText(other.url, admin)).to.include('roles.yaml declares no role `admin`')
    expect((await other.app.directory.person('admin'))?.roles).to.deep.equal([])
    await other.stop()
  })
})

describe('a first start without --demo', () => {
  it('prints the password once, and logs it never', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    try {
      const first = await start(folder, 'until it has printed')
      const password = /password {2}(\S+)/.exec(first.stdout)?.[1] ?? ''
      expect(password).to.match(/^([a-z2-9]{5}-){3}[a-z2-9]{5}$/)
      const second = await start(folder, 'for a while')
      expect(second.stdout).to.equal('')
      const logs = first.stderr + second.stderr + (await readFile(join(folder, 'decisions.log'), 'utf8'))
      expect(logs).to.include('listening').and.not.include(password)
    } finally {
      await removeFolder(folder)
    }
  })
})

/** Serves, and ends it. */
function start(
  folder: string,
  how: 'until it has printed' | 'for a while',
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const env = { ...process.env, PORT: '0', ADMIN_PORT: '0', DATA_DIR: folder }
  const child = spawn(process.execPath, [LAUNCHER, 'serve'], { env })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (chunk) => {
    stdout += chunk
    child.kill('SIGTERM')
  })
  child.stderr.on('data', (chunk) => {
    stderr += chunk
    // Longer than it takes to make a password.
    if (how === 'for a while' && stderr.includes('"listening"')) setTimeout(() => child.kill('SIGTERM'), 1500)
  })
  return new Promise((resolve) => child.on('close', () => resolve({ stdout, stderr })))
}
