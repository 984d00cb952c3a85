/** `at-most`: a write never leaves more people with the role than the guarantee allows, however many come at once. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { createApiKey, hashOfSecret } from '../../../src/identity/directory/api-key.ts'
import { type Ended, ROOT, sallyport } from '../../command.ts'
import { data } from '../../data/command.ts'
import { ENGINES, type OnEngine } from '../../data/each-engine.ts'
import { withRules } from '../../policy-text.ts'

const AT_MOST = '- name: at most three admins\n  at-most: { role: admin, people: 3 }\n'
const HOUR = 3_600_000

async function filesWith(guarantees: string) {
  const [roles, policy] = await Promise.all(
    ['roles.yaml', 'policy.csv'].map((name) => readFile(join(ROOT, 'policies', name), 'utf8')),
  )
  return {
    'policies/roles.yaml': `${roles}boss:\n  description: Inherits admin.\n`,
    'policies/policy.csv': withRules(policy ?? '', 'g, boss, admin'),
    'policies/guarantees.yaml': guarantees,
  }
}

for (const [name, open] of ENGINES) {
  describe(`a bound on the people with a role, on ${name}`, () => {
    let on: OnEngine
    let root: string
    let emails = 0
    const start = async (guarantees = AT_MOST) => {
      // As a served one does.
      on = await open({ files: await filesWith(guarantees), writer: 'thread' })
      root = await on.server.token('root', 'admin')
    }
    afterEach(() => on.stop())

    const ask = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
      on.server.ask(method, path, { token: root, body, headers })
    const create = (roles: readonly string[]) => {
      emails += 1
      return ask('POST', '/api/users', { email: `p${emails}@example.com`, displayName: 'P', roles })
    }
    const give = (id: string, ...roles: readonly string[]) => ask('PATCH', `/api/users/${id}`, { roles })
    const ids = async (count: number, ...roles: readonly string[]): Promise<readonly string[]> => {
      const made = await Promise.all(Array.from({ length: count }, () => create(roles)))
      expect(made.map(({ status }) => status)).to.deep.equal(Array(count).fill(201))
      return made.map(({ body }) => body.id)
    }
    const admins = async () => {
      const { body } = await ask('GET', '/api/users?limit=200')
      return body.items.filter((one: { roles?: string[] }) => one.roles?.some((role) => /admin|boss/.test(role))).length
    }
    const command = async (...args: readonly string[]): Promise<Ended> => {
      const { folder } = on.server
      const env = { DATA_DIR: join(folder, 'data'), DATABASE_URL: on.url, POLICIES: join(folder, 'policies') }
      const ended = await sallyport(args, { cwd: folder, env })
      // A busy machine may not connect in time, and then nothing was done.
      return ended.stderr.includes('connection timeout') ? command(...args) : ended
    }
    const addKey = (subject: string) =>
      command('key', 'add', '--subject', subject, '--role', 'boss', '--expires', '1d', '--format', 'json')
    const SENTENCE =
      'sallyport: at most 3 people may have the role `admin` (guarantee `at most three admins`); take it from somebody first\n'

    it('is exact while 20 promotions and 20 creations come at once, and commands beside the server', async () => {
      await start()
      const members = await ids(20, 'member')
      const promotions = members.map((id, i) => give(id, i % 2 ? 'admin' : 'boss', 'member'))
      const creations = Array.from({ length: 20 }, () => create(['admin']))
      const commands = members.slice(0, 3).map((id) => command('user', 'roles', id, '--role', 'admin'))
      const answers = await Promise.all([...promotions, ...creations])
      const given = (await Promise.all(commands)).filter(({ code }) => code === 0).length
      const statuses = answers.map(({ status }) => status)
      expect(new Set(statuses).difference(new Set([200, 201, 403, 409]))).to.deep.equal(new Set())
      expect(await admins()).to.equal(3)
      expect(statuses.filter((status) => status < 300).length + given).to.be.at.least(3)
      const { body } = answers.find(({ status }) => status === 403) ?? {}
      expect(body).to.include({ code: 'too-many-with-role', type: 'urn:sallyport:problem:too-many-with-role' })
      expect(body.errors).to.deep.equal([
        { pointer: '/roles', detail: 'gives `admin` to more than 3 people', code: 'at-most' },
      ])
      const records = (await on.server.decisions()).filter(({ problem }) => problem === 'too-many-with-role')
      expect(records).to.have.length(statuses.filter((status) => status === 403).length)
    })

    it('is not there without the guarantee (control)', async () => {
      await start('[]\n')
      const members = await ids(20, 'member')
      await Promise.all(members.map((id) => give(id, 'admin')))
      expect(await admins()).to.equal(20)
    })

    it('lets a person who has the role change, and anybody lose it, over the bound too', async () => {
      await start()
      const old = Array.from({ length: 5 }, (_, i) => `old${i}`)
      const document = (id: string) => ({ email: `${id}@example.com`, displayName: 'Old', roles: ['admin'] })
      await on.server.app.seeding.insert(
        'users',
        old.map((id) => ({ id, document: document(id) })),
      )
      const [member = ''] = await ids(1, 'member')
      expect((await ask('PATCH', '/api/users/old0', { displayName: 'New' })).status).to.equal(200)
      expect((await give('old0', 'boss', 'member')).status).to.equal(200)
      expect((await give('old1')).status).to.equal(200)
      expect((await give(member, 'admin')).status).to.equal(403)
      expect((await command('user', 'roles', 'old2', '--none')).code).to.equal(0)
      expect((await give(member, 'admin')).status).to.equal(403)
      expect((await ask('DELETE', '/api/users/old3', undefined, { 'if-match': '*' })).status).to.equal(204)
      expect((await give(member, 'admin')).status).to.equal(200)
      expect((await create(['admin'])).status).to.equal(403)
    })

    it('counts enabled people and working keys of subjects without a record, each once', async () => {
      await start()
      const [one = '', two = '', three = '', four = ''] = await ids(4, 'member')
      for (const id of [one, two]) expect((await give(id, 'admin')).status).to.equal(200)
      // A key of a person gives what the record gives.
      expect((await addKey(one)).code).to.equal(0)
      expect((await addKey(three)).code).to.equal(0)
      const robot = await addKey('robot')
      expect(robot.code).to.equal(0)
      expect((await addKey('robot')).code).to.equal(0)
      expect((await give(three, 'admin')).body.code).to.equal('too-many-with-role')
      const refused = await addKey('other')
      expect([refused.code, refused.stdout, refused.stderr]).to.deep.equal([2, '', SENTENCE])
      // Who is disabled doesn't count, and is enabled only where there is room.
      expect((await command('user', 'disable', two)).code).to.equal(0)
      expect((await give(three, 'admin')).status).to.equal(200)
      const enabled = await command('user', 'enable', two)
      expect([enabled.code, enabled.stderr]).to.deep.equal([2, SENTENCE])
      const keys = JSON.parse((await command('key', 'list', '--format', 'json')).stdout).keys
      for (const { id, subject } of keys) if (subject === 'robot') await command('key', 'revoke', id)
      expect((await command('user', 'enable', two)).code).to.equal(0)
      const added = ['user', 'add', '--email', 'x@example.com', '--name', 'X', '--role', 'admin'] as const
      expect(await command(...added)).to.include({ code: 2, stderr: SENTENCE })
      expect(await command('user', 'roles', four, '--role', 'boss')).to.include({ code: 2, stderr: SENTENCE })
      expect(await admins()).to.equal(3)
      // A key that has ended doesn't count either.
      expect((await give(one, 'member')).status).to.equal(200)
      const { id, secret } = createApiKey()
      const parts = { id, secretHash: hashOfSecret(secret), subject: 'late', roles: ['admin'], name: '' }
      await on.server.app.directory.addKey({ ...parts, createdAt: 0, expiresAt: Date.now() - HOUR })
      expect((await give(four, 'admin')).status).to.equal(200)
    })

    it('is held in imports and migrations, and data check counts who is there from before', async () => {
      await start()
      const { folder } = on.server
      const row = (i: number) => ({ email: `i${i}@example.com`, displayName: 'I', roles: ['admin'] })
      const rows = Array.from({ length: 5 }, (_, i) => JSON.stringify({ resource: 'users', object: row(i) }))
      await writeFile(join(folder, 'rows.ndjson'), `${rows.join('\n')}\n{"end":{"objects":5}}\n`)
      const args = ['import', join(folder, 'rows.ndjson'), '--as', 'root', '--role', 'admin', '--database', on.url]
      const report = JSON.parse((await data([...args, '--format', 'json'], { folder })).stdout)
      expect(report).to.include({ written: 3, refused: 2 })
      expect(report.refusedLines[0]).to.include({ status: 403, code: 'too-many-with-role' })

      const check = async () =>
        JSON.parse((await data(['check', '--database', on.url, '--format', 'json'], on.server)).stdout)
      expect((await check()).findings).to.deep.equal([])
      const late = { email: 'late@example.com', displayName: 'L', roles: ['boss'] }
      await on.server.app.seeding.insert('users', [{ id: 'late', document: late }])
      expect((await check()).findings).to.deep.equal([
        {
          resource: 'users',
          code: 'too-many-with-role',
          pointer: '/roles',
          message: 'people have the role `admin`, and `at most three admins` allows 3',
          hint: 'take the role from some of them: `sallyport user list` and `sallyport key list` show who has it',
          objects: 4,
          ids: [],
        },
      ])

      await ids(1, 'support')
      await mkdir(join(folder, 'migrations'), { recursive: true })
      const map = '{ from: [support], to: [admin] }'
      const text = `resources: { users: [map: { field: roles, values: [${map}], others: keep }] }\n`
      await writeFile(join(folder, 'migrations/0001-roles.yaml'), text)
      const place = { folder, env: { DATABASE_URL: on.url } }
      const migrated = await data(['migrate', '--no-backup'], place)
      expect(migrated.code).to.equal(1)
      expect(migrated.stdout).to.include('a migration gives nobody the role `admin`')
    })
  })
}

describe('a bound in guarantees.yaml', () => {
  it('names a known role and at least one person, and is held at each write', async () => {
    const [, open] = ENGINES[0] as (typeof ENGINES)[number]
    const on = await open({ files: await filesWith(AT_MOST) })
    try {
      const { folder } = on.server
      const check = () => sallyport(['policy', 'check', join(folder, 'policies'), '--format', 'json'], { cwd: folder })
      expect(JSON.parse((await check()).stdout).guarantees[0].status).to.equal('held at each write')
      for (const form of ['{ role: admn, people: 3 }', '{ role: admin, people: 0 }', '{ role: admin }']) {
        await writeFile(join(folder, 'policies/guarantees.yaml'), `- name: a\n  at-most: ${form}\n`)
        expect((await check()).code, form).to.equal(1)
      }
    } finally {
      await on.stop()
    }
  })
})
