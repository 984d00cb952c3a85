/** Roles for a time: break-glass and requests, from the command to the decisions of a running server. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { type GrantText, requestText, signAboutGrant, signGrant } from '../../src/policy/published/access-grants.ts'
import { digestOfText } from '../../src/policy/published/signed-version.ts'
import { type Ended, sallyport } from '../command.ts'
import { holds } from '../output-shapes.ts'
import { withRules } from '../policy-text.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { createSchema, type TestSchema } from '../store/postgres-schemas.ts'
import { until } from '../until.ts'
import { ApprovedPolicies, type Name, Person } from './people.ts'

const NEEDS = `needs:
  widens: { people: 1 }
break-glass: { from: [security], roles: [admin, support], for: 2h, review: 24h }
requests: { roles: { support: { for: 8h, people: 1, from: [security] }, auditor: { for: 1h, people: 2 } } }
`
const withRule = async (rule: string) => withRules(await readFile(SHIPPED, 'utf8'), rule)
const SHIPPED = new URL('../../policies/policy.csv', import.meta.url)
const RULE = 'p, auditor, system/access-requests, create|read, any, *, allow\n'
const HOUR_MS = 60 * 60 * 1000

describe('a role for a time', () => {
  let approved: ApprovedPolicies
  let server: TestServer
  beforeEach(async () => {
    approved = await ApprovedPolicies.make(undefined, NEEDS, RULE)
    server = await approved.published.start({})
  })
  afterEach(() => approved.remove())

  const run = (...args: readonly string[]): Promise<Ended> => sallyport([...args], { env: approved.environment() })
  const as = (name: Name, ...args: readonly string[]) => run(...args, '--key', approved.keyOf(name))
  const breakGlass = (name: Name, role = 'admin', time = '1h') =>
    as(
      name,
      'policy',
      'break-glass',
      '--role',
      role,
      '--to',
      'user:alice',
      '--for',
      time,
      '--reason',
      'payments are down',
    )
  const request = (name: Name, role = 'support', ...more: readonly string[]) =>
    as(name, 'access', 'request', role, '--for', '30m', '--reason', 'ticket 7', ...more)
  const approvalsFile = () => join(approved.published.folder, 'approvals.yaml')
  const asks = async (subject = 'alice') =>
    (await server.ask('GET', '/api/orders/none', { token: await server.token(subject) })).status
  const grants = async () => {
    const { stdout } = await run('access', 'grants', '--format', 'json')
    await holds('access-grants', stdout)
    return JSON.parse(stdout).grants
  }

  it('is given at once by one person in an emergency, marks each decision, and waits for a review', async () => {
    expect(await asks()).to.equal(403)
    expect((await run('policy', 'status')).code).to.equal(0)
    const made = await breakGlass('ada')
    expect(made.stderr).to.equal('')
    expect(made.stdout)
      .to.contain('1  in force  admin for user:alice until ')
      .and.to.contain('Somebody else must review it until ')
    await until(async () => (await asks()) === 404)
    expect(await asks('bob')).to.equal(403)
    const record = await server.lastDecision({ subject: 'alice', status: 404 })
    expect(record).to.deep.include({ roles: ['admin'], grants: [1], breakGlass: 1 })
    const file = join(approved.published.root, 'record.json')
    await writeFile(file, JSON.stringify(record))
    const explained = await run('policy', 'explain', '--record', file, '--format', 'json')
    await holds('policy-explain', explained.stdout)
    expect(JSON.parse(explained.stdout).record.breakGlass, explained.stderr).to.equal(1)
    const asText = await run('policy', 'explain', '--record', file)
    expect(asText.stdout).to.contain('the caller had a role by break-glass 1')
    const status = await run('policy', 'status', '--format', 'json')
    await holds('policy-status', status.stdout)
    expect(status.code).to.equal(1)
    expect(JSON.parse(status.stdout).unreviewed[0]).to.contain('break-glass 1: `ada` gave user:alice the role `admin`')
    expect((await run('policy', 'status')).stdout).to.contain('sallyport policy review-glass 1')
    const doctor = await sallyport(['doctor'], { env: { ...approved.environment(), POLICIES: 'database:' } })
    expect([doctor.code, doctor.stdout.includes('sallyport policy review-glass 1')]).to.deep.equal([1, true])
    const own = await as('ada', 'policy', 'review-glass', '1', '--finding', 'all is well')
    expect([own.code, own.stderr.includes('somebody else must review it')]).to.deep.equal([2, true])
    const reviewed = await as('zoe', 'policy', 'review-glass', '1', '--finding', 'one order', '--format', 'json')
    await holds('access-grant', reviewed.stdout)
    expect((await run('policy', 'status')).code).to.equal(0)
    const [glass] = await grants()
    expect(glass).to.deep.include({ grant: 1, state: 'in force', by: 'ada', to: 'user:alice' })
    expect(glass.review).to.deep.include({ by: 'zoe', text: 'one order' })
    expect((await as('tim', 'access', 'revoke', '1')).code).to.equal(0)
    await until(async () => (await asks()) === 403)
    expect((await grants())[0].state).to.equal('revoked')
  })

  it('ends by itself', async () => {
    const made = await breakGlass('ada', 'admin', '12s')
    expect(made.code).to.equal(0)
    await until(async () => (await asks()) === 404)
    await until(async () => (await asks()) === 403)
    expect((await grants())[0].state).to.equal('ended')
    // A role that has ended is reviewed as well.
    expect((await run('policy', 'status')).code).to.equal(1)
  })

  it('is given once enough others have approved the request', async () => {
    const made = await request('kim', 'support', '--to', 'user:alice')
    expect(made.stdout).to.contain('It waits for 1 approval, `ada` or `zoe` or `tim` may: sallyport access approve 1')
    expect((await as('kim', 'access', 'approve', '1')).stderr).to.contain('nobody approves a request of their own')
    expect(await asks()).to.equal(403)
    const done = await as('zoe', 'access', 'approve', '1', '--reason', 'ticket 7')
    expect(done.stdout).to.contain('in force')
    await until(async () => (await asks()) === 404)
    const record = await server.lastDecision({ subject: 'alice', status: 404 })
    expect(record).to.deep.include({ roles: ['support'], grants: [1] })
    expect(record).to.not.have.property('breakGlass')
    expect((await run('policy', 'status')).code).to.equal(0)
  })

  it('is asked for by people for themselves, whose own approval counts for nothing', async () => {
    await request('zoe')
    const [one] = await grants()
    expect(one).to.deep.include({ to: 'user:zoe', by: 'zoe', state: 'waiting', missing: 1, open: ['ada', 'tim'] })
    await request('kim', 'support', '--to', 'user:ada')
    expect((await as('ada', 'access', 'approve', '2')).stderr).to.contain('nobody approves a request of their own')
  })

  it('is revoked also where somebody has deleted what a server read last', async () => {
    await breakGlass('ada')
    await request('kim', 'support', '--to', 'user:bob')
    const [token, alice] = [await server.token('bob'), await server.token('alice')]
    await as('zoe', 'access', 'approve', '2')
    await until(async () => (await server.ask('GET', '/api/orders/none', { token })).status === 404)
    approved.published.tamper('delete from policy_grants where number = 3')
    expect((await as('zoe', 'access', 'revoke', '1')).stdout).to.contain('revoked')
    await until(async () => (await server.ask('GET', '/api/orders/none', { token: alice })).status === 403)
    // What it has read still counts: nobody takes back a word by deleting it.
    approved.published.tamper('delete from policy_grants where number = 3')
    await as('ada', 'policy', 'break-glass', '--role', 'admin', '--to', 'user:carol', '--for', '1h', '--reason', 'x')
    await until(async () => (await asks('carol')) === 404)
    expect([await asks(), await asks('bob')]).to.deep.equal([403, 404])
  })

  it('is revoked by a second person too, so that it stays revoked when the first one is no longer in the file', async () => {
    await breakGlass('ada')
    expect((await as('kim', 'access', 'revoke', '1')).code).to.equal(0)
    expect((await as('kim', 'access', 'revoke', '1')).stderr).to.contain('was revoked: nothing was done')
    expect((await as('zoe', 'access', 'revoke', '1')).code).to.equal(0)
    await writeFile(approvalsFile(), (await readFile(approvalsFile(), 'utf8')).replace(/^ {2}kim: .*$\n/m, ''))
    const env = { ...approved.environment(), POLICY_SIGNING_KEY: approved.published.privateKey() }
    const apply = ['policy', 'apply', approved.published.folder, '--recover', '--yes', '--reason', 'kim has left']
    const { code, stderr } = await sallyport(apply, { env })
    expect([code, stderr]).to.deep.equal([0, ''])
    const [glass] = await grants()
    expect([glass.state, glass.revoked.by]).to.deep.equal(['revoked', 'zoe'])
  })

  it('is no reason for policy status to hide the instances from somebody without keys of the policy', async () => {
    await breakGlass('ada')
    const { POLICY_PUBLIC_KEYS: _, ...env } = approved.environment()
    const { code, stdout, stderr } = await sallyport(['policy', 'status'], { env })
    expect([code, stderr]).to.deep.equal([1, ''])
    expect(stdout)
      .to.contain('current')
      .and.to.contain('whether each break-glass was reviewed is unknown: POLICY_PUBLIC_KEYS is not set')
  })

  describe('asked for over HTTP', () => {
    const post = async (subject: string, body: unknown, ...roles: readonly string[]) =>
      server.ask('POST', '/access-requests', { token: await server.token(subject, 'auditor', ...roles), body })
    const own = async (subject: string) =>
      (await server.ask('GET', '/access-requests', { token: await server.token(subject, 'auditor') })).body.requests
    const SUPPORT = { role: 'support', for: '30m', reason: 'ticket 7' }

    it('counts once somebody else has approved it, for its caller alone', async () => {
      const made = await post('alice', SUPPORT)
      expect(made.status).to.equal(200)
      expect(made.body).to.deep.include({ number: 1, role: 'support', state: 'waiting', missing: 1 })
      expect(await asks()).to.equal(403)
      expect(await own('bob')).to.deep.equal([])
      const [stored] = await grants()
      expect(stored).to.deep.include({ to: 'user:alice', by: null, kind: 'request', state: 'waiting' })
      expect((await as('zoe', 'access', 'approve', '1')).code).to.equal(0)
      await until(async () => (await asks()) === 404)
      expect((await own('alice'))[0]).to.deep.include({ state: 'in force', missing: 0 })
      expect(await asks('bob')).to.equal(403)
    })

    it('is refused by a body that says what is wrong', async () => {
      const pointers = async (body: unknown) => {
        const { status, body: problem } = await post('alice', body)
        expect([status, problem.type]).to.deep.equal([400, 'urn:sallyport:problem:invalid-body'])
        return problem.errors.map((one: { pointer: string }) => one.pointer)
      }
      expect(await pointers({ ...SUPPORT, role: 'admin' })).to.deep.equal(['/role'])
      expect(await pointers({ ...SUPPORT, for: '9h' })).to.deep.equal(['/for'])
      expect(await pointers({ ...SUPPORT, for: 'long' })).to.deep.equal(['/for'])
      expect(await pointers({ ...SUPPORT, to: 'bob' })).to.deep.equal(['/to'])
      expect(await pointers({ ...SUPPORT, reason: ' ' })).to.deep.equal(['/reason'])
      expect(await grants()).to.deep.equal([])
    })

    it('is another one if it is asked for twice in a millisecond', async () => {
      const at = new Date()
      const still = await approved.published.start({}, { now: () => at })
      const token = await still.token('alice', 'auditor')
      const ask = async () => (await still.ask('POST', '/access-requests', { token, body: SUPPORT })).body.number
      expect([await ask(), await ask(), await ask()]).to.deep.equal([1, 2, 3])
    })

    it('waits five times at most, also if a caller asks many times at once', async () => {
      const answers = await Promise.all(Array.from({ length: 12 }, () => post('alice', SUPPORT)))
      expect(answers.filter(({ status }) => status === 200)).to.have.length(5)
      expect(await grants()).to.have.length(5)
      expect((await post('bob', SUPPORT)).status).to.equal(200)
    })

    it('counts for a day after its end, so that nobody asks without end', async () => {
      const short = { ...SUPPORT, for: '1s' }
      let made = 0
      await until(async () => {
        const { status } = await post('alice', short)
        made += status === 200 ? 1 : 0
        // A refusal passes when the five that wait have ended.
        return status !== 200 && (await own('alice')).every(({ state }: { state: string }) => state === 'ended')
      })
      expect([made, (await own('alice')).length]).to.deep.equal([30, 30])
      expect((await post('alice', SUPPORT)).status).to.equal(400)
      expect((await post('bob', SUPPORT)).status).to.equal(200)
    })

    it('is answered by a server whose policy is a folder with a refusal', async () => {
      const plain = await startTestServer({ files: { 'policies/policy.csv': await withRule(RULE) } })
      const token = await plain.token('alice', 'auditor')
      const { status, body } = await plain.ask('POST', '/access-requests', { token, body: SUPPORT })
      expect([status, body.errors[0].detail]).to.deep.equal([
        400,
        '`support` may not be asked for; no role may be asked for here',
      ])
      expect((await plain.ask('GET', '/access-requests', { token })).body).to.deep.equal({ requests: [] })
      await plain.stop()
    })
  })

  it('is told by access who, access of and explain, with its end and who signed it', async () => {
    const env = { ...approved.environment(), POLICIES: 'database:' }
    const shown = async (...args: readonly string[]) => {
      const { stdout, stderr } = await sallyport([...args], { env })
      expect(stderr).to.equal('')
      return stdout
    }
    const user = ['--email', 'bob@example.com', '--name', 'Bob', '--id', 'bob', '--role', 'member']
    expect((await run('user', 'add', ...user)).code).to.equal(0)
    expect(await shown('access', 'of', 'user:bob')).to.not.contain('until')
    await as('ada', 'policy', 'break-glass', '--role', 'admin', '--to', 'user:bob', '--for', '1h', '--reason', 'down')
    await breakGlass('ada')
    const service = await server.token('shop', 'pdp-client')
    const question = {
      subject: { type: 'user', id: 'bob' },
      action: { name: 'delete' },
      resource: { type: 'orders', id: 'none' },
    }
    await until(async () => {
      await server.ask('POST', '/access/v1/evaluation', { token: service, body: question })
      const record = await server.lastDecision({ subject: 'shop' })
      const [asked] = (record?.asked ?? []) as { breakGlass?: number; roles?: string[] }[]
      return asked?.breakGlass === 1 && asked.roles?.join() === 'member,admin'
    })
    const GRANT = /admin until 2\S+ by ada \(break-glass 1\)/
    expect(await shown('access', 'of', 'user:bob'))
      .to.match(GRANT)
      .and.to.contain('bob (member, admin) at ')
    const who = JSON.parse(await shown('access', 'who', 'GET', '/api/users', '--format', 'json'))
    await holds('access-who', JSON.stringify(who))
    const [one] = who.who.filter((row: { subject: string }) => row.subject === 'bob')
    expect(one.grants[0]).to.deep.include({ grant: 1, kind: 'break-glass', role: 'admin', signedBy: ['ada'] })
    expect(one.ends).to.equal(one.grants[0].until)
    // Without a users record, a role for a time still makes a person.
    expect(who.who.map((row: { subject: string }) => row.subject)).to.include('alice')
    await holds('access-of', await shown('access', 'of', 'user:bob', '--format', 'json'))
    expect((await shown('policy', 'explain', 'GET', '/api/users', '--subject', 'bob')).replaceAll(/\s+/g, ' '))
      .to.match(GRANT)
      .and.to.contain('ask with --role admin as well')
    expect(await shown('policy', 'matrix', '--format', 'html', '--people')).to.match(GRANT)
    const asked = ['policy', 'matrix', '--subject', 'user:bob', '--resource', 'orders']
    expect(await shown(...asked))
      .to.match(GRANT)
      .and.to.contain('user:bob has the roles: member, admin')
    const matrix = await shown(...asked, '--format', 'json')
    await holds('policy-matrix', matrix)
    const { subject, callers } = JSON.parse(matrix)
    expect(subject.grants[0]).to.deep.include({ role: 'admin', signedBy: ['ada'] })
    expect(callers.map(({ name }: { name: string }) => name)).to.deep.equal(['member+admin+user:bob'])
    const nobody = await sallyport(['policy', 'matrix', '--subject', 'bob'], { env })
    expect([nobody.code, nobody.stderr.includes('`bob` is no caller: write `user:`')]).to.deep.equal([2, true])
  })

  it('counts for no API key', async () => {
    const user = ['--email', 'alice@example.com', '--name', 'Alice', '--id', 'alice', '--role', 'support']
    expect((await run('user', 'add', ...user)).code).to.equal(0)
    const key = await run('key', 'add', '--subject', 'alice', '--role', 'support', '--expires', '1h')
    const token = key.stdout.trim()
    await breakGlass('ada')
    const roles = async () => (await server.lastDecision({ subject: 'alice', route: '/readyz' }))?.roles
    const readsBy = async (credential: string) => {
      await server.ask('GET', '/readyz', { token: credential })
      return roles()
    }
    const own = await server.token('alice', 'support')
    await until(async () => (await readsBy(own))?.toString() === 'support,admin')
    await server.ask('GET', '/livez', { token })
    const record = await server.lastDecision({ subject: 'alice', route: '/livez' })
    expect(record?.roles).to.deep.equal(['support'])
  })

  const refusals = {
    'to be made by another group': [() => breakGlass('kim'), 'was made by nobody of `security`'],
    'for another role': [() => breakGlass('ada', 'auditor'), 'may give `admin` or `support`, and not `auditor`'],
    'for too long': [() => breakGlass('ada', 'admin', '3h'), 'give --for 2h or less'],
    'for a role that nobody may ask for': [() => request('ada', 'admin'), 'allows `support` or `auditor`'],
    'without a reason': [
      () => as('ada', 'access', 'request', 'support', '--for', '1h', '--reason', ' '),
      '--reason is empty: say why in a sentence',
    ],
    'for nobody': [() => request('ada', 'support', '--to', 'alice'), '`alice` is no caller: write `user:` and the id'],
    'a second review': [() => as('zoe', 'policy', 'review-glass', '7', '--finding', 'x'), 'there is no grant 7'],
  } as const
  for (const [what, [ask, message]] of Object.entries(refusals)) {
    it(`is refused ${what}, in one sentence, and nothing is stored`, async () => {
      const ended = await ask()
      expect([ended.code, ended.stdout]).to.deep.equal([2, ''])
      expect(ended.stderr).to.contain(message)
      expect(await grants()).to.deep.equal([])
    })
  }

  describe('written by an administrator of the database', () => {
    let database: string
    const people = () => approved.people
    const text = (more: Partial<GrantText> = {}): GrantText => ({
      kind: 'break-glass',
      database,
      role: 'admin',
      to: 'alice',
      reason: 'mine',
      time: new Date().toISOString(),
      until: new Date(Date.now() + HOUR_MS).toISOString(),
      ...more,
    })
    const asked = (more: Partial<GrantText> = {}) => ({
      ...text({ role: 'support', ...more }),
      kind: 'request' as const,
    })
    const write = (...texts: readonly string[]) => {
      const rows = new DatabaseSync(join(approved.published.root, 'data.sqlite'), { timeout: 5000 })
      for (const [i, one] of texts.entries()) {
        rows.prepare('insert into policy_grants (number, signed) values (?, ?)').run(i + 1, one)
      }
      rows.close()
    }
    const said = (name: Name, of: string, says: 'approved' | 'revoked' | 'reviewed' = 'approved') =>
      signAboutGrant({ of: digestOfText(of), says, time: new Date().toISOString() }, people()[name])

    beforeEach(async () => {
      const versions = await approved.published.versions()
      database = (await versions.home()).id
      await versions.close()
    })

    const forged: Readonly<Record<string, () => Promise<readonly string[]>>> = {
      'unsigned break-glass': async () => [JSON.stringify(text())],
      'break-glass by a stranger': async () => [await signGrant(text(), new Person())],
      'break-glass by somebody of another group': async () => [await signGrant(text(), people().kim)],
      'break-glass of another database': async () => [await signGrant(text({ database: 'other' }), people().ada)],
      'break-glass that lasts longer than allowed': async () => {
        const longer = new Date(Date.now() + 3 * HOUR_MS).toISOString()
        return [await signGrant(text({ until: longer }), people().ada)]
      },
      'break-glass from a day to come': async () => {
        const [time, end] = [24, 25].map((hours) => new Date(Date.now() + hours * HOUR_MS).toISOString()) as [
          string,
          string,
        ]
        return [await signGrant(text({ time, until: end }), people().ada)]
      },
      'break-glass that has ended': async () => {
        const [time, end] = [-2, -1].map((hours) => new Date(Date.now() + hours * HOUR_MS).toISOString()) as [
          string,
          string,
        ]
        return [await signGrant(text({ time, until: end }), people().ada)]
      },
      'break-glass with another caller in it': async () => {
        const [head, , signature] = (await signGrant(text({ to: 'bob' }), people().ada)).split('.')
        return [[head, Buffer.from(JSON.stringify(text())).toString('base64url'), signature].join('.')]
      },
      'request without approval': async () => [requestText(asked())],
      'request approved by the wrong group': async () => {
        const one = requestText(asked())
        return [one, await said('kim', one)]
      },
      'request with the approval of another one': async () => {
        const [one, other] = [requestText(asked()), requestText(asked({ to: 'bob' }))]
        return [one, other, await said('ada', other)]
      },
      'request approved by whoever gets the role': async () => {
        const one = requestText(asked({ to: 'ada' }))
        return [one, await said('ada', one)]
      },
      'request approved by whoever gets the role, under another name': async () => {
        const one = requestText(asked({ to: 'u-17' }))
        return [one, await said('tim', one)]
      },
      'request for two approvals, with two by one person': async () => {
        const one = requestText(asked({ role: 'auditor' }))
        const { zoe } = people()
        const about = { of: digestOfText(one), says: 'approved', time: new Date().toISOString() } as const
        return [one, await said('zoe', one), await signAboutGrant(about, zoe.second ?? zoe)]
      },
      'request that was revoked': async () => {
        const one = requestText(asked())
        return [one, await said('ada', one), await said('kim', one, 'revoked')]
      },
      'request as an approval, and the reverse': async () => {
        const one = requestText(asked())
        return [one, await signGrant({ ...text(), of: digestOfText(one), says: 'approved' } as GrantText, people().kim)]
      },
    }
    for (const [what, texts] of Object.entries(forged)) {
      it(`gives nothing: ${what}`, async () => {
        // Behind them stands a true one, which shows that the server has read them all.
        const real = await signGrant(text({ to: 'carol' }), people().ada)
        write(...(await texts()), real)
        await until(async () => (await asks('carol')) === 404)
        expect(await asks('alice')).to.equal(403)
        for (const other of ['ada', 'u-17']) expect(await asks(other)).to.equal(403)
      })
    }

    it('is revoked also where somebody has stored a version that nobody signed', async () => {
      await breakGlass('ada')
      await until(async () => (await asks('alice')) === 404)
      approved.published.tamper("insert into policy_versions (number, signed) values (2, 'nothing')")
      expect((await as('zoe', 'access', 'revoke', '1')).stderr).to.equal('')
      await until(async () => (await asks('alice')) === 403)
    })

    it('fills no status: of very many that wait for a review, twenty are told, and how many more', async () => {
      const forged = await Promise.all(
        Array.from({ length: 30 }, (_, i) => signGrant(text({ reason: `${i}` }), new Person())),
      )
      write(...forged)
      const { code, stdout } = await run('policy', 'status', '--format', 'json')
      const { unreviewed } = JSON.parse(stdout)
      expect([code, unreviewed.length, unreviewed[20]]).to.deep.equal([1, 21, 'break-glass: 10 more without a review'])
    })

    it('gives what people have signed: a request over HTTP that somebody else has approved', async () => {
      const one = requestText(asked())
      write(one, await said('ada', one))
      await until(async () => (await asks('alice')) === 404)
    })
  })
})

describe('a role for a time, with three instances on PostgreSQL whose clocks are an hour apart', () => {
  let schema: TestSchema
  let approved: ApprovedPolicies
  before(async () => {
    schema = await createSchema()
    approved = await ApprovedPolicies.make(schema.url, NEEDS, RULE)
  })
  after(async () => {
    await approved?.remove()
    await schema?.remove()
  })

  it('is in force on each of them, ends by the clock of each, and is no longer in force once it is revoked', async () => {
    const late = { now: () => new Date(Date.now() + HOUR_MS) }
    const early = { now: () => new Date(Date.now() - HOUR_MS) }
    const servers = [
      await approved.published.start({}),
      await approved.published.start({}, early),
      await approved.published.start({}, late),
    ]
    const statuses = () =>
      Promise.all(
        servers.map(async (one) => {
          const token = await one.token('alice')
          return (await one.ask('GET', '/api/orders/none', { token })).status
        }),
      )
    const command = (name: Name, ...args: readonly string[]) =>
      sallyport([...args, '--key', approved.keyOf(name)], { env: approved.environment() })
    const made = await command(
      'ada',
      'policy',
      'break-glass',
      '--role',
      'admin',
      '--to',
      'user:alice',
      '--for',
      '30m',
      '--reason',
      'x',
    )
    expect(made.stderr).to.equal('')
    // For the third one, the half hour was over before it began.
    await until(async () => (await statuses()).join() === '404,404,403')
    const longer = await command(
      'zoe',
      'policy',
      'break-glass',
      '--role',
      'admin',
      '--to',
      'user:alice',
      '--for',
      '2h',
      '--reason',
      'y',
    )
    expect(longer.stderr).to.equal('')
    await until(async () => (await statuses()).join() === '404,404,404')
    for (const number of ['1', '2']) expect((await command('tim', 'access', 'revoke', number)).code).to.equal(0)
    await until(async () => (await statuses()).join() === '403,403,403')
  })
})
