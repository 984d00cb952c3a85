/** `sallyport access` beside a running server: people, keys, tokens, what ends their access, and what is asked wrongly. */
import { readFile } from 'node:fs/promises'
import Ajv2020 from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { expect } from 'chai'
import type { OfReport } from '../../src/tools/access/of.ts'
import type { AccessReport } from '../../src/tools/access/report.ts'
import type { WhoReport } from '../../src/tools/access/who.ts'
import { sallyport } from '../command.ts'
import { ENGINES, type OnEngine } from '../data/each-engine.ts'

const ADD_KEY = ['key', 'add', '--role', 'admin', '--expires', '90d', '--name', 'a test', '--format', 'json']

const SHAPES = new URL('../../docs/schemas/', import.meta.url)

const POLICY = `g, support, member
p, member, orders, list|read, owner, *, allow
p, support, orders, list|read, office, *, allow
p, admin, orders, list|read|delete, any, *, allow
p, auditor, orders, read, any, *, allow, until=2099-01-31T00:00:00Z
p, user:eve, orders, read, any, *, allow
p, user:zoe, orders, delete, any, *, allow
p, blocked, orders, read, any, *, allow
`
const ROLES = ['member', 'support', 'admin', 'auditor', 'blocked']

for (const [name, onEngine] of ENGINES) {
  describe(`access on ${name}`, () => {
    let on: OnEngine
    let path: string
    let key: string

    const command = (args: readonly string[]) => {
      return sallyport(args, { env: on.env })
    }
    const addKey = (subject: string) => command([...ADD_KEY, '--subject', subject])
    const report = async (word: string, ...words: readonly string[]) => {
      const { stdout, stderr } = await command(['access', word, ...words, '--format', 'json'])
      expect(stdout, stderr).to.not.equal('')
      const found = JSON.parse(stdout)
      const shape = await readFile(new URL(`access-${word}.schema.json`, SHAPES), 'utf8')
      const ajv = addFormats.default(new Ajv2020.default({ strict: false }))
      expect(ajv.validate(JSON.parse(shape), found), ajv.errorsText()).to.equal(true)
      return found
    }
    const who = (...words: string[]): Promise<WhoReport> => report('who', ...words)
    const of = (...words: string[]): Promise<OfReport> => report('of', ...words)
    const named = ({ who: rows }: WhoReport) =>
      rows.map(({ kind, subject, roles, when }) => [kind, subject ?? roles.join(), ...when].join(' '))

    before(async () => {
      const files = {
        'policies/policy.csv': POLICY,
        'policies/guarantees.yaml': '[]\n',
        'policies/roles.yaml': ROLES.map((role) => `${role}: { description: A role. }\n`).join(''),
        'policies/conditions.yaml': 'office: { network: [192.0.2.0/24] }\n',
        'policies/blocked.txt': 'user:bill\n',
      }
      on = await onEngine({ files, uncheckedBecause: 'roles of its own' })
      const person = (id: string, ...roles: string[]) => ({
        id,
        document: { email: `${id}@example.com`, name: id, roles },
      })
      await on.server.app.seeding.insert('users', [
        person('ada', 'admin'),
        person('alice', 'member'),
        person('audrey', 'auditor'),
        person('bill', 'admin'),
        person('bob', 'member'),
        person('dora', 'admin'),
        person('eve'),
        person('sam', 'support'),
      ])
      await on.server.app.seeding.insert('orders', [
        { id: 'o1', document: { customerId: 'alice', status: 'draft', item: 'tea', quantity: 1 } },
        { id: 'o2', document: { customerId: 'bob', status: 'placed', item: 'tea', quantity: 1 } },
      ])
      path = '/api/orders/o1'
      const disabled = await command(['user', 'disable', 'dora'])
      expect(disabled.code, disabled.stderr).to.equal(0)
      const { stdout } = await addKey('robot')
      key = JSON.parse(stdout).key
    })
    after(() => on.stop())

    it('lists people, keys and tokens, and nobody who is blocked, disabled or without a rule', async () => {
      const report = await who('GET', path)
      expect(report.undecided).to.deep.equal([])
      expect(named(report)).to.deep.equal([
        'token member owner',
        'token support owner office',
        'token admin',
        'token auditor',
        'token blocked',
        'person ada',
        'person alice',
        'person audrey',
        'person eve',
        'person sam office',
        'key robot',
      ])
      const row = (subject: string) => report.who.find((one) => one.subject === subject)
      expect(row('alice')).to.deep.include({
        rules: ['policy.csv:2'],
        relations: [{ name: 'owner', through: ['orders/o1'] }],
        ends: null,
      })
      expect(row('audrey')?.ends).to.equal('2099-01-31T00:00:00Z')
      expect(row('robot')?.ends).to.not.equal(null)
      expect(report.conditions).to.deep.equal([{ name: 'office', meaning: 'the address is in 192.0.2.0/24' }])
    })

    it('names whom a rule names by id, though nobody has that record', async () => {
      const report = await who('DELETE', path)
      expect(named(report)).to.deep.equal(['token admin', 'token zoe', 'person ada', 'key robot'])
    })

    it('no longer lists a key that is revoked, nor a rule that has ended', async () => {
      const { stdout } = await addKey('other')
      const other = JSON.parse(stdout)
      const keys = async () => (await who('GET', path)).who.flatMap((one) => one.key ?? [])
      expect(await keys()).to.have.length(2)
      const revoked = await command(['key', 'revoke', other.id])
      expect(revoked.code, revoked.stderr).to.equal(0)
      expect(await keys()).to.have.length(1)
      const later = await who('GET', path, '--at', '2099-02-01')
      expect(named(later)).to.not.include('person audrey')
    })

    it('tells when each did it last, by the decision log', async () => {
      const { server } = on
      const before = Date.now()
      const token = await server.token('alice', 'member')
      expect((await server.ask('GET', path, { token })).status).to.equal(200)
      expect((await server.ask('GET', path, { token: key })).status).to.equal(200)
      await server.lastDecision({ subject: 'robot' })
      const report = await who('GET', path)
      const last = Object.fromEntries(report.who.map(({ subject, lastDone }) => [subject, lastDone]))
      expect(Date.parse(last.alice ?? '')).to.be.at.least(before)
      expect(Date.parse(last.robot ?? '')).to.be.at.least(before)
      expect(last.ada).to.equal(null)
      const missing = await command(['access', 'who', 'GET', path, '--log', 'none.log'])
      expect([missing.code, missing.stderr]).to.deep.equal([
        2,
        'sallyport: there is no decision log none.log: name another file with --log\n',
      ])
    })

    it('answers about one field', async () => {
      const fields = (report: WhoReport) => report.who.find(({ subject }) => subject === 'ada')?.fields
      expect(fields(await who('GET', path, '--field', 'status'))).to.include('status')
      const { code, stderr } = await command(['access', 'who', 'GET', path, '--field', 'stats'])
      expect(code).to.equal(2)
      expect(stderr).to.include('`orders` has no field `stats`: name one of')
    })

    it('as text has a line for each, and the lines of the policy below', async () => {
      const { stdout, code } = await command(['access', 'who', 'get', path])
      expect(code).to.equal(0)
      expect(stdout).to.match(/^alice \(member\) +always +:2 +owner \(orders\/o1\)/m)
      expect(stdout).to.match(/^sam \(support\) +office +:3/m)
      expect(stdout).to.include('policy.csv:2  p, member, orders, list|read, owner, *, allow')
      expect(stdout).to.include('office: the address is in 192.0.2.0/24')
      expect(stdout).to.include('5 people, 1 API key, 0 undecided\n')
    })

    it('says what a person can do, with the number of objects and their ids', async () => {
      const alice = await of('user:alice', '--objects')
      expect(alice).to.deep.include({ status: 'active', roles: ['member'], key: null, undecided: [] })
      const orders = alice.resources.find(({ resource }) => resource === 'orders')
      expect(orders?.objects).to.equal(2)
      expect(orders?.actions.map(({ action, objects, ids }) => [action, objects, ids])).to.deep.equal([
        ['list', 1, ['o1']],
        ['read', 1, ['o1']],
      ])
      const sam = await of('user:sam')
      const read = sam.resources[0]?.actions.filter(({ action }) => action === 'read')
      expect(read?.map(({ when, objects }) => [when, objects])).to.deep.equal([[['office'], 2]])
    })

    it('says that a key, a blocked and a disabled person can do what they can', async () => {
      const { stdout } = await command(['key', 'list', '--format', 'json'])
      const keys: { id: string; state: string }[] = JSON.parse(stdout).keys
      const named = (state: string) => `key:${keys.find((one) => one.state === state)?.id}`
      const robot = await of(named('active'))
      expect(robot).to.deep.include({ subject: 'robot', roles: ['admin'], status: 'active' })
      expect(robot.resources[0]?.actions.map(({ action, objects }) => [action, objects])).to.deep.equal([
        ['list', 2],
        ['read', 2],
        ['delete', 2],
      ])
      for (const [subject, status] of [
        [named('revoked'), 'ended'],
        ['user:bill', 'blocked'],
        ['user:dora', 'disabled'],
      ] as const) {
        expect(await of(subject)).to.deep.include({ status, resources: [] })
      }
    })

    it('says that a person without a users record may have more by a token', async () => {
      const zoe = await of('user:zoe')
      expect(zoe.undecided.map(({ resource }) => resource)).to.deep.equal(['*'])
      expect(zoe.resources[0]?.actions).to.deep.equal([
        { action: 'delete', when: [], objects: 2, byValues: 0, fields: [] },
      ])
    })

    it('says it as text', async () => {
      const { stdout } = await command(['access', 'of', 'user:alice'])
      expect(stdout).to.match(/^alice \(member\) at .*: can$/m)
      expect(stdout).to.match(/^ {2}read +always +1 +id customerId/m)
      const faulty = await command(['access', 'of', 'alice'])
      expect([faulty.code, faulty.stderr]).to.deep.equal([
        2,
        'sallyport: `alice` names nobody: write user:<id> of a person, or key:<id> of an API key\n',
      ])
    })

    it('reports everybody, as `of` does for each, with what a review should look at', async () => {
      const { server } = on
      const token = await server.token('alice', 'member')
      expect((await server.ask('GET', path, { token })).status).to.equal(200)
      await server.lastDecision({ subject: 'alice' })
      const all: AccessReport = await report('report')
      const rows = (resource: string, subject: string) =>
        all.rows.filter((row) => row.resource === resource && row.subject === subject).map(({ action }) => action)
      for (const id of ['ada', 'alice', 'audrey', 'bob', 'eve', 'sam']) {
        const { resources } = await of(`user:${id}`)
        const own = all.rows.filter(({ subject }) => subject === id)
        const named = resources.flatMap(({ resource, actions }) => actions.map((row) => ({ resource, ...row })))
        const plain = own.map(({ subject: _, key: _key, roles: _roles, ...row }) => row)
        expect(plain).to.have.deep.members(named)
      }
      expect(rows('orders', 'robot')).to.have.members(['list', 'read', 'delete'])
      expect([...rows('orders', 'bill'), ...rows('orders', 'dora')]).to.deep.equal([])
      const findings = all.findings.map(({ code, about }) => `${code} ${about}`)
      expect(findings).to.include.members([
        'out-with-rules bill',
        'out-with-rules dora',
        'rule-without-person zoe',
        'role-without-holder blocked',
        'role-never-used audrey',
        'role-never-used bob',
      ])
      // She has read her order, as the decision log says.
      expect(findings).to.not.include('role-never-used alice')
      const { stdout } = await addKey('idle')
      const after: AccessReport = await report('report')
      const unused = after.findings.filter(({ code }) => code === 'key-never-used').map(({ about }) => about)
      expect(unused).to.include(`key ${JSON.parse(stdout).id}`)
    })

    it('reports as a table and as a page', async () => {
      const csv = (await command(['access', 'report'])).stdout.split('\r\n')
      expect(csv[0]).to.equal('"resource","action","subject","key","roles","when","objects","by values","fields"')
      expect(csv).to.include(
        '"orders","read","sam","","support","office","2","0","id customerId status currency items note createdAt updatedAt"',
      )
      expect(csv.some((line) => line.startsWith('"finding","rule-without-person","zoe"'))).to.equal(true)
      const { stdout } = await command(['access', 'report', '--format', 'html'])
      expect(stdout).to.match(/^<!doctype html>/)
      expect(stdout).to.include('<li>bill is blocked, and still has the rules')
      expect(stdout).to.include('<td>sam</td>')
    })

    it('names in every format the resources that it leaves out, and no others', async () => {
      const printed = async (...args: readonly string[]) => (await command(['access', ...args])).stdout
      const left = ['access', 'access-requests', 'batch', 'health', 'keys', 'openapi', 'policy', 'tokens'].map(
        (one) => `system/${one}`,
      )
      for (const args of [['of', 'user:alice'], ['report'], ['compare', '--from', on.env.POLICIES ?? '']]) {
        const { leftOut } = JSON.parse(await printed(...args, '--format', 'json'))
        expect(leftOut).to.have.members(left)
      }
      const asText = [
        ['of', 'user:alice'],
        ['compare', '--from', on.env.POLICIES ?? ''],
      ]
      for (const args of [...asText, ['report'], ['report', '--format', 'html']]) {
        const [, names = ''] = /left out, without objects to count: (.*) \(/.exec(await printed(...args)) ?? []
        expect(names.split(' ')).to.have.members(left)
      }
    })

    it('quotes the id of an object that a terminal would obey or show as two', async () => {
      const id = 'o\u202e 3'
      const document = { customerId: 'alice', status: 'draft', item: 'tea', quantity: 1 }
      await on.server.app.seeding.insert('orders', [{ id, document }])
      const { stdout, stderr } = await command(['access', 'who', 'GET', `/api/orders/${encodeURIComponent(id)}`])
      expect(stdout, stderr).to.include('owner ("orders/o\\u{202e} 3")')
      expect(stdout).to.not.include('\u202e')
    })

    for (const [asked, sentence] of [
      [['GET', '/api/orders/none'], 'no object of `orders` has the id `none`, so everybody gets 404: name another one'],
      [['GET', '/api/planes/1'], 'nobody can: no resource has this path; is it /api'],
      [['GET', '/api/orders?limit=1'], 'the path has a query string: omit it'],
      [['DELETE', '/api/orders/o1', '--field', 'status'], 'DELETE concerns no field: omit --field'],
    ] as const) {
      it(`can't say who ${asked.join(' ')}`, async () => {
        const { code, stdout, stderr } = await command(['access', 'who', ...asked])
        expect([code, stdout]).to.deep.equal([2, ''])
        expect(stderr).to.include(sentence)
      })
    }
  })
}
