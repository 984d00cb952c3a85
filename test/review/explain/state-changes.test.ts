/** --becomes: what `policy explain` says of a write that changes the state of its object, across objects, and what it refuses. */
import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { loadResources } from '../../../src/resources/load/load-resources.ts'
import { openSqlite } from '../../../src/store/sqlite/open.ts'
import type { Explanation } from '../../../src/tools/explain/explanation.ts'
import { removeFolder } from '../../ends-with-tests.ts'
import { type Folders, run, SHIPPED } from './program.ts'

const ROOT = new URL('../../../', import.meta.url)
const EXAMPLE = new URL('examples/projects/', ROOT).pathname

/** Without the lines' numbers in the example, which is no test's. */
const FINISHED = `\
ALLOW     PATCH /tasks/1: a client gets 200
          because a rule allows it
Caller    alice with the role member
Asks for  update on tasks, the object 1 (the route /tasks/{id}), open>done
Relation  tenant    yes: tenantId is acme, the caller's tenant
          inside    yes: projects/7: tenantId is acme, the caller's tenant
            tasks/1 -> projects/7
          lead      no: projects/7: leadId is bob, not the caller (alice)
          writer    yes: projects/7: editor: memberships/42: self: userId is alice, the caller and editing: role is editor
            tasks/1 -> projects/7 -> memberships/42
          team      yes: projects/7: member: memberships/42: userId is alice, the caller
            tasks/1 -> projects/7 -> memberships/42
          mine      yes: assigneeId is alice, the caller
          assigned  yes: assigneeId is alice
          open      yes: status is open
          done      no: status is open, not done
          archived  no: status is open, not archived
          urgent    no: priority is absent, not at least 4
After     open  no
          done  yes
Rules     policy.csv:N  p, member, tasks, update, mine+open>done, progress, allow
Fields    may be written: status
          set by the server: id, createdAt, updatedAt
          refused in a body (403): tenantId, projectId, title, description, assigneeId, priority, dueAt
          the answer shows: all fields
`

const SHIP_DRAFT = `\
DENY      PATCH /api/orders/{id}: a client gets 403 forbidden (Not permitted)
          because no rule allows it to this caller on an object with these relations, before and after the
            write
Caller    anybody with the role support (inherits member)
Asks for  update on orders, draft>shipped
Relation  owner      no: --relation says so
          draft      yes: --becomes says so
          placed     no: --becomes says so
          shipped    no: --becomes says so
          cancelled  no: --becomes says so
          open       yes: --becomes says so
After     draft    no
          shipped  yes
          open     no
Rules     no rule matches, and nothing is allowed without a rule
Nearest   it would be allowed
            if the object were placed (status is placed)
              policy.csv:37  p, support, orders, update, placed>shipped, progress, allow
            if the object after the write were cancelled (status is cancelled)
              policy.csv:38  p, support, orders, update, open>cancelled, progress, allow
            if the caller had the role admin
              policy.csv:53  p, admin, orders, list|read|create|replace|update|delete, any, *, allow
            if the caller were owner (customerId is the caller) and the object after the write were draft
              (status is draft)
              policy.csv:26  p, member, orders, replace|update, owner+draft>draft, *, allow
            if the caller were owner (customerId is the caller) and the object after the write were placed
              (status is placed)
              policy.csv:27  p, member, orders, replace|update, owner+draft>placed, *, allow
`

describe('sallyport policy explain, of a write that changes a state', () => {
  let folders: Folders
  let folder: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-explain-'))
    folders = { policies: `${EXAMPLE}policies`, schemas: `${EXAMPLE}schemas`, database: join(folder, 'sallyport.db') }
    const resources = await loadResources(folders.schemas)
    const { store, seeding } = await openSqlite({ file: folders.database, resources, now: () => new Date() })
    const tenantId = 'acme'
    await seeding.insert('users', [
      { id: 'alice', document: { email: 'a@example.com', displayName: 'A', tenant: 'acme' } },
    ])
    await seeding.insert('projects', [{ id: '7', document: { tenantId, name: 'Moon', leadId: 'bob' } }])
    await seeding.insert('memberships', [
      { id: '42', document: { tenantId, projectId: '7', userId: 'alice', role: 'editor' } },
    ])
    const task = { tenantId, projectId: '7', title: 'Build', status: 'open', assigneeId: 'alice' }
    await seeding.insert('tasks', [{ id: '1', document: task }])
    await store.close()
  })
  after(() => removeFolder(folder))

  const alice = ['--role', 'member', '--subject', 'alice']

  it('says which relations hold before and after, across objects, and why', async () => {
    const task = ['PATCH', '/tasks/1', '--object', '1']
    const { stdout, stderr } = await run(folders, [...alice, ...task, '--becomes', 'open>done'])
    expect(stderr).to.equal('')
    expect(stdout.replaceAll(/policy\.csv:\d+/g, 'policy.csv:N')).to.equal(FINISHED)
  })

  it('names the change that is allowed instead', async () => {
    const order = ['--role', 'support', 'PATCH', '/api/orders/{id}', '--relation', 'none', '--becomes', 'draft>shipped']
    expect((await run(SHIPPED, order)).stdout).to.equal(SHIP_DRAFT)
  })

  it('names a state that is missing beside those that the write brings about', async () => {
    const policies = join(folder, 'both')
    await cp(`${EXAMPLE}policies`, policies, { recursive: true })
    await writeFile(join(policies, 'policy.csv'), 'p, member, tasks, update, any>inside+lead, *, allow\n')
    const ask = (becomes: string) =>
      explained({ ...folders, policies }, ['--role', 'member', '--relation', 'none', 'PATCH', '/tasks/{id}', becomes])
    const { outcome, misses } = await ask('--becomes=none>inside')
    expect(outcome).to.equal('deny')
    expect(misses.map(({ changes }) => changes)).to.deep.include([{ kind: 'result', name: 'lead' }])
    expect((await ask('--becomes=none>inside+lead')).outcome).to.equal('allow')
    expect((await ask('--becomes=none>lead')).outcome).to.equal('deny')
  })

  it('says so where the action is allowed, and not the field that changes', async () => {
    const lead = ['--role', 'member', '--relation', 'lead+tenant', 'PATCH', '/memberships/{id}']
    const { outcome, reason, answer } = await explained(folders, [...lead, '--becomes', 'self>none'])
    expect([outcome, answer?.status, answer?.code]).to.deep.equal(['deny', 403, 'field-forbidden'])
    expect(reason).to.equal('the rules that allow it do not let this caller change userId')
    const part = await explained(folders, [...lead, '--becomes', 'none>editing'])
    expect(part.outcome).to.equal('allow')
  })

  it('shows a case for each relation that is not known', async () => {
    const member = ['--role', 'member', 'PATCH', '/api/orders/{id}', '--becomes', 'draft>placed']
    const { cases, relations } = await explained(SHIPPED, member)
    expect(cases.map((one) => [one.relations, one.answer.status])).to.deep.equal([
      [['draft', 'open'], 403],
      [['owner', 'draft', 'open'], 200],
    ])
    expect(relations.map(({ name, holds, after }) => [name, holds, after])).to.deep.equal([
      ['owner', null, null],
      ['draft', true, false],
      ['placed', false, true],
      ['shipped', false, false],
      ['cancelled', false, false],
      ['open', true, true],
    ])
  })

  it('knows that whoever is named has a value: claiming makes a task assigned', async () => {
    const member = ['--role', 'member', '--relation', 'writer+team+tenant+open', 'PATCH', '/tasks/{id}']
    const { outcome, relations } = await explained(folders, [...member, '--becomes', 'none>mine'])
    expect(outcome).to.equal('allow')
    expect(relations.filter(({ after }) => after).map(({ name }) => name)).to.include.members(['mine', 'assigned'])
  })

  it('prints JSON of the documented shape', async () => {
    const schema = JSON.parse(await readFile(new URL('docs/schemas/policy-explain.schema.json', ROOT), 'utf8'))
    const validate = new Ajv2020({ allErrors: true }).compile(schema)
    for (const change of ['draft>placed', 'draft>draft', 'none>shipped']) {
      const told = await explained(SHIPPED, ['--role', 'member', 'PATCH', '/api/orders/{id}', '--becomes', change])
      expect(validate(told), JSON.stringify(validate.errors)).to.equal(true)
      expect(told.request.becomes).to.equal(change)
    }
  })

  const refusals: readonly (readonly [args: readonly string[], message: string])[] = [
    [['PATCH', '/api/orders/{id}', '--becomes', 'drft>placed'], 'declares no relation drft for orders'],
    [
      ['PATCH', '/api/orders/{id}', '--becomes', 'draft>!draft'],
      '--becomes takes only names of what holds, not "!draft": write none if nothing holds',
    ],
    [
      ['PATCH', '/api/orders/{id}', '--becomes', '!draft>draft'],
      '--becomes takes only names of what holds, not "!draft"',
    ],
    [['PATCH', '/api/orders/{id}', '--becomes', '>draft'], '--becomes lacks a name: write none if nothing holds'],
    [['PATCH', '/api/orders/{id}', '--becomes', 'draft>'], '--becomes lacks a name: write none if nothing holds'],
    [['PATCH', '/api/orders/{id}', '--becomes', 'draft|open>placed'], 'several at once: write them as draft+open'],
    [['PATCH', '/api/orders/{id}', '--relation', '!owner'], '--relation takes only names of what holds, not "!owner"'],
    [['PATCH', '/api/orders/{id}', '--relation', 'owner, draft'], 'several at once: write them as owner+draft'],
    [['PATCH', '/api/orders/{id}', '--becomes', 'draft'], 'draft is not a change of states: write draft>placed'],
    [['PATCH', '/api/orders/{id}', '--becomes', 'draft>placed>shipped'], 'is not a change of states'],
    [['PATCH', '/api/orders/{id}', '--becomes', 'none>none'], 'names no state'],
    [
      ['PATCH', '/api/orders/{id}', '--becomes', 'owner>placed'],
      'owner looks at customerId, and placed looks at status: --becomes takes states of one field',
    ],
    [
      ['PATCH', '/api/orders/{id}', '--becomes', 'open>shipped'],
      'objects that are open have several states: --becomes takes draft+open or placed+open',
    ],
    [['PATCH', '/api/orders/{id}', '--becomes', 'draft+placed>shipped'], 'no object is draft+placed at once'],
    [['PATCH', '/api/users/{id}', '--becomes', 'owner>none'], 'no write changes id'],
    [['GET', '/api/orders/{id}', '--becomes', 'draft>placed'], 'GET writes nothing: omit --becomes'],
    [['DELETE', '/api/orders/{id}', '--becomes', 'draft>placed'], 'DELETE leaves no object: omit --becomes'],
    [['POST', '/api/orders', '--becomes', 'draft>placed'], 'with --relation'],
    [
      ['PATCH', '/api/orders/{id}', '--relation', 'owner+placed+open', '--becomes', 'draft>placed'],
      'says placed+open, and --becomes says draft+open before the write: write "--relation owner", or begin --becomes ' +
        'with placed+open',
    ],
    [['--record', '-', '--becomes', 'draft>placed'], 'give --record alone'],
  ]
  for (const [args, message] of refusals) {
    it(`refuses ${args.join(' ')}`, async () => {
      const role = args.includes('--record') ? [] : ['--role', 'member']
      const { failed, stdout, stderr } = await run(SHIPPED, [...role, ...args])
      expect({ failed, stdout }).to.deep.equal({ failed: true, stdout: '' })
      expect(stderr).to.match(/^ToolError: [^\n]+$/)
      expect(stderr).to.include(message)
    })
  }

  it('refuses a change that begins at another state than that of the object', async () => {
    const { stderr } = await run(folders, [
      ...alice,
      'PATCH',
      '/tasks/1',
      '--object',
      '1',
      '--becomes',
      'done>archived',
    ])
    expect(stderr).to.include(`--becomes "done>archived" doesn't begin at the state of the object: it is open`)
  })

  it('takes more states from --relation than --becomes names: a range within another', async () => {
    const policies = join(folder, 'ranges')
    await cp(`${EXAMPLE}policies`, policies, { recursive: true })
    const ownership = await readFile(join(policies, 'ownership.yaml'), 'utf8')
    await writeFile(
      join(policies, 'ownership.yaml'),
      ownership.replace(/^( +)urgent:.*$/m, `$&\n$1some: { field: priority, atLeast: 1 }`),
    )
    await writeFile(join(policies, 'policy.csv'), 'p, member, tasks, update, some>urgent, *, allow\n')
    const ask = (...args: string[]) => ['--role', 'member', 'PATCH', '/tasks/{id}', ...args]
    const both = { ...folders, policies }
    const stays = await explained(both, ask('--relation', 'some+urgent', '--becomes', 'some>some'))
    const held = stays.relations.filter(({ holds, after }) => holds && after).map(({ name }) => name)
    expect([held, stays.outcome]).to.deep.equal([['urgent', 'some'], 'allow'])
    expect((await explained(both, ask('--relation', 'none', '--becomes', 'some>some'))).outcome).to.equal('deny')
    const { stderr } = await run(both, ask('--relation', 'urgent', '--becomes', 'some>some'))
    expect(stderr).to.include('write "--relation none"')
  })

  it('refuses a relation that follows from others', async () => {
    const { stderr } = await run(folders, [...alice, 'PATCH', '/folders/{id}', '--becomes', 'reader>none'])
    expect(stderr).to.include('reader follows from its parts: --becomes takes owner or inherited instead')
  })

  async function explained(where: Folders, args: readonly string[]): Promise<Explanation> {
    const { stdout, stderr } = await run(where, [...args, '--format', 'json'])
    expect(stderr).to.equal('')
    return JSON.parse(stdout)
  }
})
