/** `roles-apart`: nobody gets two of the roles by a write of any kind, and who has two of them has none. */
import { appendFile, cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { createApiKey, hashOfSecret } from '../../../src/identity/directory/api-key.ts'
import { ROOT, sallyport } from '../../command.ts'
import { data } from '../../data/command.ts'
import { ENGINES, type OnEngine } from '../../data/each-engine.ts'
import { addRules, withRules } from '../../policy-text.ts'
import { type Answer, startTestServer } from '../../server.ts'
import { until } from '../../until.ts'

const APART = '- name: auditors change nothing\n  roles-apart: [auditor, admin]\n'
const HOUR = 3_600_000

async function filesWith(guarantees: string, rules = 'g, boss, admin') {
  const [roles, policy] = await Promise.all(
    ['roles.yaml', 'policy.csv'].map((name) => readFile(join(ROOT, 'policies', name), 'utf8')),
  )
  return {
    'policies/roles.yaml': `${roles}boss:\n  description: Inherits admin.\n`,
    'policies/policy.csv': withRules(policy ?? '', rules),
    'policies/guarantees.yaml': guarantees,
    'policies/callers.yaml': 'pdp-client:\n  subjects: { person: { asserted: [auditor, admin, member] } }\n',
  }
}

for (const [name, open] of ENGINES) {
  describe(`roles that must stay apart, on ${name}`, () => {
    let on: OnEngine
    let root: string
    let count = 0
    before(async () => {
      on = await open({ files: await filesWith(APART) })
      root = await on.server.token('root', 'admin')
    })
    after(() => on.stop())

    const ask = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
      on.server.ask(method, path, { token: root, body, headers })
    const someone = async (...roles: readonly string[]): Promise<string> => {
      count += 1
      const body = { email: `u${count}@example.com`, displayName: 'U', roles }
      const made = await ask('POST', '/api/users', body)
      expect(made.status).to.equal(201)
      return made.body.id
    }
    const rolesOf = async (id: string): Promise<readonly string[]> => (await ask('GET', `/api/users/${id}`)).body.roles
    /** As it was stored before there was the guarantee. */
    const withBoth = async (...more: readonly string[]): Promise<string> => {
      const id = crypto.randomUUID()
      const document = { email: `${id}@example.com`, displayName: 'Old', roles: ['auditor', 'admin', ...more] }
      await on.server.app.seeding.insert('users', [{ id, document }])
      return id
    }
    const key = async (subject: string, roles: readonly string[]): Promise<string> => {
      const { id, text, secret } = createApiKey()
      const [createdAt, expiresAt] = [Date.now(), Date.now() + HOUR]
      const parts = { id, secretHash: hashOfSecret(secret), subject, roles, name: '', createdAt, expiresAt }
      await on.server.app.directory.addKey(parts)
      return text
    }
    const command = (...args: readonly string[]) => sallyport(args, { cwd: on.server.folder, env: on.env })
    const isRefused = ({ status, body }: Answer) => {
      expect([status, body.code, body.type]).to.deep.equal([403, 'roles-apart', 'urn:sallyport:problem:roles-apart'])
      expect(body.errors).to.deep.equal([
        { pointer: '/roles', detail: 'gives `auditor` and `admin`, which must stay apart', code: 'roles-apart' },
      ])
    }

    it('are refused in every form of a write, by inheritance too, and nothing is written', async () => {
      const id = await someone('auditor')
      const path = `/api/users/${id}`
      const record = { email: 'new@example.com', displayName: 'N' }
      for (const roles of [
        ['auditor', 'admin'],
        ['member', 'boss', 'auditor'],
      ]) {
        isRefused(await ask('POST', '/api/users', { ...record, roles }))
        isRefused(await ask('PUT', path, { ...record, roles }))
        isRefused(await ask('PATCH', path, { roles }))
        const patch = [{ op: 'replace', path: '/roles', value: roles }]
        isRefused(await ask('PATCH', path, patch, { 'content-type': 'application/json-patch+json' }))
      }
      const add = [{ op: 'add', path: '/roles/-', value: 'boss' }]
      isRefused(await ask('PATCH', path, add, { 'content-type': 'application/json-patch+json' }))
      expect(await rolesOf(id)).to.deep.equal(['auditor'])
      const { body } = await ask('GET', '/api/users?limit=200')
      expect(body.items.filter(({ email }: { email: string }) => email === record.email)).to.deep.equal([])
      expect(await on.server.lastDecision({ method: 'PATCH' })).to.include({
        outcome: 'refused',
        problem: 'roles-apart',
      })
    })

    it('may be had each alone, and beside others', async () => {
      for (const roles of [['auditor'], ['admin', 'boss'], ['auditor', 'member', 'support']]) await someone(...roles)
    })

    it('may stay and be taken away where a record has them from before, but none is given anew', async () => {
      const id = await withBoth()
      const path = `/api/users/${id}`
      expect((await ask('PATCH', path, { displayName: 'Renamed' })).status).to.equal(200)
      expect((await ask('PATCH', path, { roles: ['admin', 'auditor', 'member'] })).status).to.equal(200)
      expect((await ask('PATCH', path, { roles: ['admin'] })).status).to.equal(200)
      isRefused(await ask('PATCH', path, { roles: ['admin', 'auditor'] }))
    })

    it('are refused in an import and in commands, with one sentence', async () => {
      const file = join(on.server.folder, 'rows.ndjson')
      const object = { email: 'i@example.com', displayName: 'I', roles: ['auditor', 'boss'] }
      await writeFile(file, `${JSON.stringify({ resource: 'users', object })}\n{"end":{"objects":1}}\n`)
      const args = ['import', file, '--as', 'root', '--role', 'admin', '--database', on.url, '--format', 'json']
      const imported = JSON.parse((await data(args, { folder: on.server.folder })).stdout)
      expect(imported.refusedLines.map(({ status, code }: Record<string, unknown>) => [status, code])).to.deep.equal([
        [403, 'roles-apart'],
      ])
      const id = await someone('auditor')
      const given = (...words: readonly string[]) => command(...words, '--role', 'auditor', '--role', 'boss')
      for (const ended of [
        await given('user', 'add', '--email', 'c@example.com', '--name', 'C'),
        await given('user', 'roles', id),
        await given('key', 'add', '--subject', 'robot', '--expires', '1d'),
      ]) {
        expect(ended.code).to.equal(2)
        expect(ended.stdout).to.equal('')
        expect(ended.stderr).to.equal(
          'sallyport: nobody may have the roles `auditor` and `admin` together (guarantee `auditors change nothing`); ' +
            'give at most one of them\n',
        )
      }
      expect(await rolesOf(id)).to.deep.equal(['auditor'])
      expect((await command('user', 'roles', id, '--role', 'boss')).code).to.equal(0)
    })

    it('are never both there after two writes at once', async () => {
      const json = { 'content-type': 'application/json-patch+json' }
      const add = (id: string, value: string) =>
        ask('PATCH', `/api/users/${id}`, [{ op: 'add', path: '/roles/-', value }], json)
      const ids = await Promise.all(Array.from({ length: 20 }, () => someone('member')))
      const answers = await Promise.all(ids.flatMap((id) => [add(id, 'auditor'), add(id, 'admin')]))
      expect(new Set(answers.map(({ status }) => status))).to.deep.equal(new Set([200, 403]))
      for (const id of ids) expect(await rolesOf(id)).to.have.length(2)
    })

    const statusOf = async (token: string) => (await on.server.ask('GET', '/api/accounts', { token })).status

    it('are both lost by a token, a session and a key that have them, and the record says so', async () => {
      expect(await statusOf(await on.server.token('t', 'auditor'))).to.equal(200)
      expect(await statusOf(await on.server.token('t', 'admin'))).to.equal(200)
      expect(await statusOf(await on.server.token('t', 'auditor', 'boss'))).to.equal(403)
      expect(await on.server.lastDecision({ method: 'GET' })).to.deep.include({
        roles: ['auditor', 'boss'],
        rolesLost: ['auditor', 'boss'],
        problem: 'forbidden',
      })
      // The other roles count.
      expect(await statusOf(await on.server.token('t', 'member', 'auditor', 'admin'))).to.equal(200)
      expect(await on.server.lastDecision({ method: 'GET' })).to.deep.include({ rolesLost: ['auditor', 'admin'] })
      expect(await statusOf(await on.server.token('t', 'member'))).to.equal(200)
      expect(await on.server.lastDecision({ method: 'GET' })).to.not.have.property('rolesLost')
      expect(await statusOf(await key('robot', ['auditor', 'admin']))).to.equal(403)
      expect(await statusOf(await key('robot', ['auditor']))).to.equal(200)
    })

    it('are lost by a person who has both, by a key with one of them too, and by the tokens of a sign-in', async () => {
      const id = await withBoth()
      expect(await statusOf(await key(id, ['auditor']))).to.equal(403)
      expect(await on.server.lastDecision({ method: 'GET' })).to.deep.include({
        roles: ['auditor'],
        rolesLost: ['auditor', 'admin'],
      })
      const signedIn = await command('user', 'password', id, '--generate', '--format', 'json')
      const { password } = JSON.parse(signedIn.stdout)
      const credentials = { email: `${id}@example.com`, password }
      const { body } = await on.server.ask('POST', '/api/tokens', { body: credentials })
      const claims = JSON.parse(Buffer.from(body.access_token.split('.')[1], 'base64url').toString())
      expect(claims.roles).to.deep.equal([])
      expect(await statusOf(body.access_token)).to.equal(403)
      expect((await ask('PATCH', `/api/users/${id}`, { roles: ['auditor'] })).status).to.equal(200)
      expect(await statusOf(body.access_token)).to.equal(200)
    })

    it('are lost by the subjects that other services ask about', async () => {
      const token = await on.server.token('pep', 'pdp-client')
      const id = await someone()
      const asked = async (roles: readonly string[]) => {
        const subject = { type: 'person', id: 'x', properties: { roles } }
        const body = { subject, action: { name: 'read' }, resource: { type: 'users', id } }
        return (await on.server.ask('POST', '/access/v1/evaluation', { token, body })).body.decision
      }
      expect(await asked(['auditor'])).to.equal(true)
      expect(await asked(['auditor', 'admin'])).to.equal(false)
      const { asked: questions } = (await on.server.lastDecision({ action: 'evaluate' })) ?? {}
      expect((questions as Record<string, unknown>[])[0]).to.deep.include({ rolesLost: ['auditor', 'admin'] })
    })

    it('are found by data check in records and working keys, and by nothing else', async () => {
      const [id, text] = [await withBoth(), await key('both', ['boss', 'auditor'])]
      const ended = await data(['check', '--database', on.url, '--format', 'json'], on.server)
      expect(ended.code).to.equal(1)
      const report = JSON.parse(ended.stdout)
      const shape = JSON.parse(await readFile(join(ROOT, 'docs/schemas/data-check.schema.json'), 'utf8'))
      expect(new Ajv2020({ strict: true }).compile(shape)(report)).to.equal(true)
      const found = report.findings.filter(({ code }: { code: string }) => code === 'roles-apart')
      const [keys] = found.filter(({ resource, message }: Record<string, string>) => {
        return resource === 'API keys' && message?.includes('`auditor` and `admin`')
      })
      expect(keys.ids).to.include(text.split('_')[1])
      const [users, ...others] = found.filter(({ resource }: { resource: string }) => resource === 'users')
      expect(others).to.deep.equal([])
      expect(users.ids).to.include(id)
      expect(users).to.include({
        pointer: '/roles',
        message: 'gives the roles `auditor` and `admin` together, which `auditors change nothing` keeps apart',
      })
      expect((await data(['check', '--database', on.url], on.server)).stdout).to.include('[roles-apart]')
    })
  })
}

describe('a guarantee of roles that stay apart', () => {
  const check = (folder: string, format = 'text') =>
    sallyport(['policy', 'check', join(folder, 'policies'), '--format', format], { cwd: folder })

  it('counts from its activation on, and no longer than it stands in the file', async () => {
    const server = await startTestServer({ files: await filesWith('[]\n') })
    try {
      const token = await server.token('t', 'auditor', 'admin')
      const status = async () => (await server.ask('GET', '/api/accounts', { token })).status
      const record = { email: 'a@example.com', displayName: 'A', roles: ['auditor', 'admin'] }
      const root = await server.token('root', 'admin')
      const made = await server.ask('POST', '/api/users', { token: root, body: record })
      expect([await status(), made.status]).to.deep.equal([200, 201])
      const file = join(server.folder, 'policies/guarantees.yaml')
      await writeFile(file, APART)
      await until(async () => (await status()) === 403)
      await writeFile(file, '[]\n')
      await until(async () => (await status()) === 200)
    } finally {
      await server.stop()
    }
  })

  it('is answered as held at each write, in the order of the file', async () => {
    const reads = '- name: auditors read\n  always: { subjects: [auditor], resource: orders, actions: [list] }\n'
    const server = await startTestServer({ files: await filesWith(APART + reads) })
    try {
      const { code, stdout } = await check(server.folder, 'json')
      const told = JSON.parse(stdout)
      const shape = JSON.parse(await readFile(join(ROOT, 'docs/schemas/policy-check.schema.json'), 'utf8'))
      expect(new Ajv2020({ strict: true, validateFormats: false }).compile(shape)(told)).to.equal(true)
      expect(code).to.equal(0)
      expect(told.guarantees.map(({ status }: { status: string }) => status)).to.deep.equal([
        'held at each write',
        'proven',
      ])
      expect((await check(server.folder)).stdout).to.include(
        '1 guarantee about people held at each write: `sallyport data check` finds who breaks them\n',
      )
    } finally {
      await server.stop()
    }
  })

  it('is broken by a role that inherits two of them: an error at the line, and the server does not start', async () => {
    for (const [rules, line] of [
      ['g, boss, admin\ng, boss, auditor\ng, boss, member', 'g, boss, auditor'],
      ['g, auditor, boss\ng, boss, admin', 'g, auditor, boss'],
    ] as const) {
      const files = await filesWith(APART, rules)
      const error = await startTestServer({ files }).then(
        (server) => server.stop().then(() => undefined),
        (reason: Error) => reason,
      )
      const at = files['policies/policy.csv'].split('\n').indexOf(line) + 1
      expect(error?.message, error?.message).to.match(
        new RegExp(`policy.csv:${at}:1: whoever has .* keeps apart .*\\[roles-apart\\]`),
      )
    }
  })

  it('names known roles, two at least', async () => {
    const server = await startTestServer({ files: await filesWith('[]\n') })
    try {
      const file = join(server.folder, 'policies/guarantees.yaml')
      await writeFile(file, '- name: a\n  roles-apart: [auditor, admn]\n')
      expect((await check(server.folder)).stdout).to.match(
        /guarantees\.yaml:2:26: error: the role `admn` is not declared.*\[unknown-role\][\s\S]*`admin`/,
      )
      await writeFile(file, '- name: a\n  roles-apart: [auditor]\n')
      expect((await check(server.folder)).code).to.equal(1)
    } finally {
      await server.stop()
    }
  })

  it('is told by explain, and refuses a migration that gives both', async () => {
    const server = await startTestServer({ files: await filesWith(APART) })
    const { folder } = server
    try {
      const words = ['policy', 'explain', '--policies', join(folder, 'policies'), 'GET', '/api/accounts']
      const explained = await sallyport([...words, '--role', 'auditor', '--role', 'admin'], { cwd: folder })
      expect(explained.stdout).to.include('a guarantee keeps `auditor` and `admin` apart')
      const document = { email: 'm@example.com', displayName: 'M', roles: ['auditor'] }
      await server.app.seeding.insert('users', [{ id: 'm', document }])
      await mkdir(join(folder, 'migrations'), { recursive: true })
      const migration = join(folder, 'migrations/0001-roles.yaml')
      const mapped = (to: string) =>
        `resources: { users: [map: { field: roles, values: [{ from: [auditor], to: ${to} }], others: keep }] }\n`
      await writeFile(migration, mapped('[auditor, boss]'))
      const migrate = () => data(['migrate', '--no-backup', '--format', 'json'], { folder })
      const refused = await migrate()
      expect(refused.code).to.equal(1)
      expect(refused.stdout).to.include('nobody may have the roles `auditor` and `admin` together')
      await writeFile(migration, mapped('[auditor, member]'))
      expect((await migrate()).code).to.equal(0)
    } finally {
      await server.stop()
    }
  })

  it('is known to matrices and to the diff, which then find nothing that only a caller with both could do', async () => {
    const apart = '- name: no gateway audits\n  roles-apart: [auditor, pdp-client]\n'
    const server = await startTestServer({ files: await filesWith(apart) })
    const { folder } = server
    const run = async (...args: readonly string[]) => (await sallyport(args, { cwd: folder })).stdout
    try {
      const cells = async () => {
        const roles = ['--role', 'auditor', '--role', 'auditor+pdp-client']
        const told = await run('policy', 'matrix', '--resource', 'accounts', ...roles)
        return /GET HEAD owner +all +(\S+)/.exec(told)?.[1]
      }
      const tested = async (answer: string) => {
        const matrix = `method,path,object,body,auditor,auditor+pdp-client\nGET,/api/accounts,none,,200 [all],${answer}\n`
        await writeFile(join(folder, 'both.csv'), matrix)
        return (await sallyport(['matrix', 'test', 'both.csv'], { cwd: folder })).code
      }
      const base = join(folder, 'base')
      const diff = async () => (await run('policy', 'diff', base, 'policies')).replaceAll(/\n {4,}/g, ' ')
      await cp(join(folder, 'policies'), base, { recursive: true })
      await addRules(join(folder, 'policies/policy.csv'), 'p, pdp-client, notes, read, any, *, deny')
      await writeFile(join(folder, 'policies/guarantees.yaml'), apart)
      expect([await cells(), await tested('403')]).to.deep.equal(['-', 0])
      expect(await diff())
        .to.include('pdp-client together with')
        .and.not.include('auditor')
      // Control: without the guarantee, the same are found.
      for (const policies of [base, join(folder, 'policies')])
        await writeFile(join(policies, 'guarantees.yaml'), '[]\n')
      expect([await cells(), await tested('200 [all]')]).to.deep.equal(['all', 0])
      expect(await diff()).to.include('auditor')
    } finally {
      await server.stop()
    }
  })

  it('writes nothing of itself where the file has none (control)', async () => {
    const server = await startTestServer({ files: await filesWith('[]\n') })
    try {
      await appendFile(join(server.folder, 'policies/roles.yaml'), '')
      const token = await server.token('root', 'admin')
      const json = { 'content-type': 'application/json-patch+json' }
      const body = { email: 'c@example.com', displayName: 'C', roles: [] }
      const { id } = (await server.ask('POST', '/api/users', { token, body })).body
      const add = (value: string) =>
        server.ask('PATCH', `/api/users/${id}`, {
          token,
          body: [{ op: 'add', path: '/roles/-', value }],
          headers: json,
        })
      await Promise.all([add('auditor'), add('admin')])
      const { roles } = (await server.ask('GET', `/api/users/${id}`, { token })).body
      expect(roles.toSorted()).to.deep.equal(['admin', 'auditor'])
    } finally {
      await server.stop()
    }
  })
})
