/** Who may assert what (policies/callers.yaml): words count only where an entry says so, and never beyond it. */
import { readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { withRules } from '../policy-text.ts'
import { until } from '../request/until.ts'
import { runs } from '../runs.ts'
import { type Answer, startTestServer, type TestServer } from '../server.ts'

const SHIPPED = (name: string) => readFileSync(new URL(`../../policies/${name}`, import.meta.url), 'utf8')

const TOOLS = {
  title: 'Tool',
  type: 'object',
  'x-resource': { external: true, actions: ['call', 'approve', 'remove'] },
  properties: {
    id: { type: 'string', readOnly: true },
    team: { type: 'string', maxLength: 64 },
    state: { type: ['string', 'null'], enum: ['open', 'closed', null] },
    title: { type: 'string' },
    secret: { type: 'string' },
  },
  required: ['team'],
  additionalProperties: false,
}

const PAPERS = {
  title: 'Paper',
  type: 'object',
  'x-resource': {
    routes: [
      { path: '/papers', methods: ['GET', 'POST'] },
      { path: '/papers/{id}', methods: ['GET', 'PUT', 'PATCH', 'DELETE'] },
    ],
  },
  properties: {
    id: { type: 'string', readOnly: true },
    team: { type: 'string', maxLength: 64 },
    createdAt: { type: 'string', format: 'date-time', readOnly: true },
    updatedAt: { type: 'string', format: 'date-time', readOnly: true },
  },
  additionalProperties: false,
}

const DRAFTS = JSON.stringify({ ...PAPERS, title: 'Draft' }).replaceAll('/papers', '/drafts')

const SHEETS = {
  title: 'Sheet',
  type: 'object',
  'x-resource': {
    routes: [
      { path: '/sheets/{id}', methods: ['GET', 'DELETE'] },
      { path: '/sheets/{id}/label', methods: ['GET'], action: 'peek', view: 'label' },
      { path: '/sheets/{id}/cost', methods: ['GET'], action: 'price', view: 'cost' },
    ],
  },
  properties: {
    id: { type: 'string', readOnly: true },
    title: { type: 'string' },
    cost: { type: 'string' },
    createdAt: { type: 'string', format: 'date-time', readOnly: true },
    updatedAt: { type: 'string', format: 'date-time', readOnly: true },
  },
  additionalProperties: false,
}

const FILES = {
  'policies/blocked.txt': 'user:mallory\n',
  'schemas/tools.json': JSON.stringify(TOOLS),
  'schemas/papers.json': JSON.stringify(PAPERS),
  'schemas/drafts.json': DRAFTS,
  'schemas/sheets.json': JSON.stringify(SHEETS),
  'policies/roles.yaml': `${SHIPPED('roles.yaml')}
crm: { description: Asks with the users' tokens. }
hr: { description: Tells who works in which department. }
writer: { description: Tells of notes. }
believer: { description: Believes everything. }
`,
  'policies/conditions.yaml': `
soft: { told: true }
office: { network: [192.0.2.0/24] }
password: { credential: [password] }
`,
  'policies/ownership.yaml': `${SHIPPED('ownership.yaml')}
tools:
  relations:
    mine: { field: team, equals: subject.department }
    closed: { field: state, in: [closed] }
    owned: { field: team, equals: subject.id }
papers:
  relations:
    mine: { field: team, equals: subject.department }
drafts:
  relations:
    filled: { field: team, equals: subject.department, fill: true }
    secret: { field: team, in: [red] }
`,
  'policies/views.yaml': `${SHIPPED('views.yaml')}
tools:
  label: [id, title]
sheets:
  label: [id, title]
  cost: [cost]
`,
  'policies/policy.csv': withRules(
    SHIPPED('policy.csv'),
    `p, crm, system/access, evaluate, any, *, allow
p, hr,  system/access, evaluate|search|filter, any, *, allow
p, writer, system/access, evaluate, any, *, allow
p, believer, system/access, evaluate, any, *, allow
p, member, tools, call,    mine,           *, allow
p, member, tools, call,    closed,         *, deny
p, member, tools, approve, !closed,        *, allow
p, member, tools, remove,  soft,           *, allow
p, member, tools, read,    office,         *, allow
p, member, tools, list,    password,       *, allow
p, member, tools, update,  owned,          label, allow
p, admin,  tools, call|approve|remove|read, any, *, allow
p, admin,  papers, create, any, *, allow
p, member, papers, read|update|create, any,   *, allow
p, member, papers, read|update|create, mine,  *, deny
p, member, papers, list|replace,       !mine, *, allow
p, member, papers, delete,             any,   *, allow
p, member, drafts, create, any,    *, allow
p, member, drafts, create, secret, *, deny
p, member, sheets, peek,  any, *,     allow
p, member, sheets, price, any, label, allow
p, member, sheets, read,  any, *,     allow
p, user:boss,  tools, call|read, any, *, allow
p, user:boss,  system/access, evaluate, any, *, allow
p, user:quinn, tools, call, mine, *, deny
p, user:quinn, system/access, evaluate, any, *, allow`,
  ),
  'policies/callers.yaml': `
crm:
  subjects: { identity: token, user: directory }
  resources: { tools: word, sheets: word }
  actions: { "*": { can_read: read, GET: read }, tools: { tools/call: call } }
  conditions: { soft: action.soft, office: context.inOffice }
  fields: understood
hr:
  subjects: { employee: { word: [member] } }
  resources: { tools: word, notes: word, sheets: word }
writer:
  resources: { notes: word }
believer:
  subjects: { user: { word: [member, admin] } }
`,
}

const TOOL = { team: 'red', state: 'open', title: 'Saw', secret: 'blue' }

describe('what an asking service asserts', () => {
  let server: TestServer
  let note: string

  before(async () => {
    server = await startTestServer({ demo: true, files: FILES })
    const alice = await server.token('alice', 'member')
    note = (await server.ask('GET', '/api/v1/notes', { token: alice })).body.items[0].id
  })
  after(() => server.stop())

  const ask = async (role: string, body: unknown, path = 'evaluation'): Promise<Answer> =>
    server.ask('POST', `/access/v1/${path}`, { token: await server.token('service', role), body })

  const decided = async (role: string, body: unknown) => {
    const { status, body: answer, text } = await ask(role, body)
    expect(status, text).to.equal(200)
    return answer.context.reason ?? answer.decision
  }

  const about = (subject: object, action: object | string, resource: object, context?: object) => ({
    subject: { type: 'user', ...subject },
    action: typeof action === 'string' ? { name: action } : action,
    resource: { type: 'tools', id: 't1', ...resource },
    ...(context && { context }),
  })
  const ofMember = (department: string | undefined, more: object = {}) => ({
    type: 'employee',
    id: 'erin',
    properties: { roles: ['member'], ...(department === undefined ? {} : { department }), ...more },
  })

  describe('without an entry', () => {
    const value = fc.oneof(
      fc.constantFrom<unknown>('admin', 'bob', 'alice', true, ['admin'], ['member', 'admin'], null),
      fc.string(),
    )
    const properties = fc.dictionary(
      fc.constantFrom('roles', 'role', 'id', 'ownerId', 'token', 'department', 'title', 'customerId'),
      value,
    )
    const question = fc.record({
      id: fc.constantFrom('alice', 'bob', 'dora', 'nobody'),
      action: fc.constantFrom('read', 'update', 'delete'),
      ofSubject: properties,
      ofResource: properties,
      context: fc.dictionary(fc.constantFrom('roles', 'inOffice', 'soft'), value),
    })
    const changesNothing = (service: string) =>
      fc.asyncProperty(question, async ({ id, action, ofSubject, ofResource, context }) => {
        const plain = { subject: { type: 'user', id }, action: { name: action }, resource: { type: 'notes', id: note } }
        const told = {
          subject: { ...plain.subject, properties: ofSubject },
          action: plain.action,
          resource: { ...plain.resource, properties: ofResource },
          context,
        }
        const { body: answer } = await ask(service, told)
        expect(answer.context?.reason ?? answer.decision).to.equal(await decided(service, plain))
      })

    it('changes no decision: a stolen key makes nobody an admin, nor an object anybody else’s', () =>
      fc.assert(changesNothing('pdp-client'), { numRuns: runs(60) }))

    it('is compared so that a service is found out whose word counts', async () => {
      const outcome = await fc.check(changesNothing('believer'), { numRuns: 500, seed: 3, endOnFailure: true })
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    })

    it('lets no service name other subjects, nor tell of resources kept elsewhere', async () => {
      expect(await decided('pdp-client', about(ofMember('red'), 'call', { properties: TOOL }))).to.equal('subject-type')
      const alice = about({ id: 'alice' }, 'approve', { properties: TOOL })
      expect(await decided('pdp-client', alice)).to.equal('attributes-missing')
    })
  })

  describe('by a token that it passes along', () => {
    const withToken = (id: string, token: unknown) =>
      about({ type: 'identity', id, properties: { token } }, 'read', { type: 'notes', id: note })

    it('is what the token proves', async () => {
      expect(await decided('crm', withToken('alice', await server.token('alice', 'member')))).to.equal(true)
      expect(await decided('crm', withToken('bob', await server.token('bob', 'member')))).to.equal('not-granted-here')
      expect(await decided('crm', withToken('audrey', await server.token('audrey', 'auditor')))).to.equal(true)
    })

    it('is nothing with the token of somebody else, a forged one, or none', async () => {
      const token = await server.token('alice', 'member')
      for (const other of [await server.token('bob', 'admin'), `${token}x`, 'x', '', 7, null, undefined]) {
        expect(await decided('crm', withToken('alice', other)), String(other)).to.equal('subject-token')
      }
    })

    it('proves the sign-in to conditions, which are unknown without it', async () => {
      const token = await server.token('alice', 'member')
      const list = (subject: object) => about(subject, 'list', { properties: TOOL })
      expect(await decided('crm', list({ type: 'identity', id: 'alice', properties: { token } }))).to.equal(true)
      expect(await decided('crm', list({ id: 'alice' }))).to.equal('condition-unknown')
    })

    it('stays out of records and logs', async () => {
      const token = await server.token('alice', 'member')
      await ask('crm', withToken('alice', token))
      await ask('crm', withToken('bob', token))
      await ask('crm', { ...withToken('alice', token), evaluations: [{}] }, 'evaluations')
      expect(JSON.stringify([await server.decisions(), server.log])).not.to.include(token.split('.')[2])
    })
  })

  describe('by its word', () => {
    it('gives the roles that the entry names, and no others', async () => {
      const erin = (roles: unknown) =>
        about({ ...ofMember('red'), properties: { roles, department: 'red' } }, 'call', { properties: TOOL })
      expect(await decided('hr', erin(['member']))).to.equal(true)
      expect(await decided('hr', erin('member'))).to.equal(true)
      for (const roles of ['admin', ['admin'], ['support', 'auditor'], [], undefined]) {
        expect(await decided('hr', erin(roles)), String(roles)).to.equal('not-granted')
      }
      const both = about(ofMember('blue', { roles: ['member', 'admin'] }), 'call', { properties: TOOL })
      expect(await decided('hr', both)).to.equal('not-granted-here')
    })

    it('makes nobody a person that a rule names in an allow, and helps nobody past a deny by name', async () => {
      const call = (id: string) => decided('hr', about({ ...ofMember('red'), id }, 'call', { properties: TOOL }))
      expect([await call('boss'), await call('quinn'), await call('erin')]).to.deep.equal([
        'subject-named',
        'not-granted',
        true,
      ])
    })

    it('tells attributes, but a missing one never helps', async () => {
      const call = (department: string | undefined) =>
        decided('hr', about(ofMember(department), 'call', { properties: TOOL }))
      expect(await call('red')).to.equal(true)
      expect(await call('blue')).to.equal('not-granted-here')
      expect(await call(undefined)).to.equal('not-granted')
    })

    it('gets no further on a stored object by an attribute that is missing', async () => {
      const admin = await server.token('root', 'admin')
      const made = await server.ask('POST', '/papers', { token: admin, body: { team: 'red' } })
      const id = made.headers.get('location')?.split('/').pop()
      const answers = async (action: object, subject: object) => {
        const question = { subject, action, resource: { type: 'papers', id } }
        const { body: found } = await ask('hr', question, 'search/resource')
        const { status, body: filter } = await ask('hr', question, 'filter')
        return [await decided('hr', question), found.results.length === 1, status === 422 || filter.kind !== 'never']
      }
      const body = { properties: { body: { team: 'green' } } }
      const guarded = ['read', 'update', 'list', 'replace'].flatMap((name) => [{ name }, { name, ...body }])
      for (const action of guarded) {
        const what = JSON.stringify(action)
        expect((await answers(action, ofMember('red')))[0], what).to.equal('not-granted-here')
        expect(await answers(action, ofMember('blue')), what).to.deep.equal([true, true, true])
        for (const subject of [ofMember(undefined), ofMember(undefined, { department: null })]) {
          const [reason, isFound, hasRows] = await answers(action, subject)
          expect([reason, isFound, hasRows && !('properties' in action)], what).to.deep.equal([
            'attributes-missing',
            false,
            false,
          ])
        }
      }
      // No rule about it compares the attribute.
      expect(await answers({ name: 'delete' }, ofMember(undefined))).to.deep.equal([true, true, true])
    })

    it('creates nothing by an attribute that is missing', async () => {
      const create = (department: string | undefined) => {
        const resource = { type: 'papers', id: 'new', properties: { team: 'red' } }
        return decided('hr', { subject: ofMember(department), action: { name: 'create' }, resource })
      }
      expect([await create('blue'), await create(undefined)]).to.deep.equal([true, 'attributes-missing'])
      expect(await create('red')).to.equal('not-granted-here')
    })

    it('creates nothing whose field a missing attribute would fill, where a rule looks at the field', async () => {
      const create = (department: string | undefined, properties?: object) => {
        const resource = { type: 'drafts', id: 'new', ...(properties && { properties }) }
        return decided('hr', { subject: ofMember(department), action: { name: 'create' }, resource })
      }
      expect([await create('blue', {}), await create('red', {})]).to.deep.equal([true, 'not-granted-here'])
      expect([await create(undefined, {}), await create(undefined)]).to.deep.equal([
        'attributes-missing',
        'attributes-missing',
      ])
      // Nothing is filled.
      expect(await create(undefined, { team: 'blue' })).to.equal(true)
    })

    it('brings nobody back who is blocked or deleted', async () => {
      const call = (id: string) => decided('hr', about({ ...ofMember('red'), id }, 'call', { properties: TOOL }))
      // The users record of bob has no department, and it wins over what is told.
      expect([await call('mallory'), await call('bob')]).to.deep.equal(['subject-blocked', 'not-granted-here'])
      const admin = await server.token('root', 'admin')
      expect((await server.ask('DELETE', '/api/users/bob', { token: admin })).status).to.equal(204)
      expect(await call('bob')).to.equal('subject-disabled')
    })

    it('names an attribute that no users record could have: 400', async () => {
      const { status, body } = await ask('hr', about(ofMember('red', { department: 5 }), 'call', { properties: TOOL }))
      expect(status).to.equal(400)
      expect(body.errors[0].pointer).to.equal('/subject/properties/department')
      const unknown = ofMember('red', { department: null, shoeSize: 'any' })
      expect(await decided('hr', about(unknown, 'call', { properties: TOOL }))).to.equal('not-granted')
    })

    it('names the member that has no roles: 400', async () => {
      const { status, body } = await ask('hr', about(ofMember('red', { roles: [7] }), 'call', { properties: TOOL }))
      expect(status).to.equal(400)
      expect(body.errors[0].pointer).to.equal('/subject/properties/roles')
    })
  })

  describe('about an object that is kept elsewhere', () => {
    const call = (properties: object, action = 'call') => decided('hr', about(ofMember('red'), action, { properties }))

    it('counts as told', async () => {
      expect(await call(TOOL)).to.equal(true)
      expect(await call({ ...TOOL, team: 'blue' })).to.equal('not-granted-here')
      expect(await call({ ...TOOL, state: 'closed' })).to.equal('not-granted-here')
    })

    it('grants nothing by an attribute that is missing: neither for a deny nor for `!`', async () => {
      const { state: _, ...withoutState } = TOOL
      const { team: __, ...withoutTeam } = TOOL
      expect(await call(withoutState)).to.equal('attributes-missing')
      expect(await call(withoutTeam)).to.equal('attributes-missing')
      expect(await call({}, 'approve')).to.equal('attributes-missing')
      expect(await call({ state: 'open' }, 'approve')).to.equal(true)
    })

    it('has no value where null says so, if its schema lets the field be null', async () => {
      expect([await call({ ...TOOL, state: null }), await call({ state: null }, 'approve')]).to.deep.equal([true, true])
      const faulty = about(ofMember('red'), 'call', { properties: { ...TOOL, team: null } })
      const { status, body } = await ask('hr', faulty)
      expect([status, body.errors[0].pointer]).to.deep.equal([400, '/resource/properties/team'])
    })

    it('is refused with the faulty member named, alone and as an item', async () => {
      const faulty = about(ofMember('red'), 'call', { properties: { ...TOOL, state: 'ajar', wheels: 4 } })
      const { status, body } = await ask('hr', faulty)
      expect(status).to.equal(400)
      expect(body.errors.map((one: { pointer: string }) => one.pointer)).to.have.members([
        '/resource/properties/state',
        '/resource/properties/wheels',
      ])
      const sound = about(ofMember('red'), 'call', { properties: TOOL })
      const batch = await ask('hr', { evaluations: [faulty, sound] }, 'evaluations')
      expect(batch.status).to.equal(200)
      expect(batch.body.evaluations.map((one: { decision: boolean }) => one.decision)).to.deep.equal([false, true])
      expect(batch.body.evaluations[0].context.error).to.deep.include({ status: 400 })
      expect(batch.body.evaluations[0].context.error.message).to.include('/resource/properties/state')
    })

    it('is named by fields: some are granted, which only a service hears that heeds them', async () => {
      const update = (fields?: readonly string[]) => ({
        ...about(ofMember(undefined), 'update', { properties: { ...TOOL, team: 'erin' } }),
        ...(fields && { context: { fields } }),
      })
      expect(await decided('hr', update())).to.equal('partly-granted')
      expect(await decided('hr', update(['title']))).to.equal(true)
      expect(await decided('hr', update(['secret']))).to.equal('fields-refused')
      const ofDirectory = about({ id: 'alice' }, 'update', { properties: { ...TOOL, team: 'alice' } })
      const { body } = await ask('crm', ofDirectory)
      expect(body.decision).to.equal(true)
      expect(body.context.fields).to.have.members(['id', 'title'])
    })
  })

  it('tells of an object no field beside the view of its route, as if it were stored', async () => {
    const told = { type: 'sheets', id: 'elsewhere', properties: { title: 'Mine', cost: '9' } }
    const ofFields = (name: string, fields: readonly string[]) => about(ofMember('red'), name, told, { fields })
    expect(await decided('hr', about(ofMember('red'), 'peek', told))).to.equal(true)
    expect(await decided('hr', ofFields('peek', ['title']))).to.equal(true)
    expect(await decided('hr', ofFields('peek', ['cost']))).to.equal('fields-refused')
    expect(await decided('hr', ofFields('read', ['cost']))).to.equal(true)
    const { body } = await ask('crm', about({ id: 'alice' }, 'peek', told))
    expect(body.context.fields).to.have.members(['id', 'title'])
    // The rule grants no field of the view.
    expect(await decided('hr', about(ofMember('red'), 'price', told))).to.equal('not-granted-here')
    expect(await decided('crm', about({ id: 'alice' }, 'price', told))).to.equal('not-granted-here')
  })

  it('never replaces a stored object', async () => {
    const forged = (id: string) =>
      about(ofMember(undefined), 'read', { type: 'notes', id, properties: { ownerId: 'erin', title: 'Mine' } })
    expect(await decided('hr', forged(note))).to.equal('not-granted-here')
    expect(await decided('hr', forged('new'))).to.equal(true)
  })

  it('is judged with its body where it is stored, as if nothing were told', async () => {
    const update = (id: string, subject: object, body?: object, properties: object = {}) => {
      const action = { name: 'update', ...(body && { properties: { body } }) }
      return about(subject, action, { type: 'notes', id, properties })
    }
    const alice = { id: 'alice' }
    for (const role of ['crm', 'pdp-client', 'writer']) {
      expect(await decided(role, update(note, alice, { title: 'x' })), role).to.equal(true)
      expect(await decided(role, update(note, alice, { title: 7 })), role).to.equal('body-invalid')
      expect(await decided(role, update(note, alice, { title: 'x' }, { wheels: 4 })), role).to.equal(true)
    }
    const elsewhere = await ask('writer', update('new', alice, { title: 'x' }))
    expect([elsewhere.status, elsewhere.body.errors[0].pointer]).to.deep.equal([400, '/action/properties/body'])
  })

  it('maps names of actions, for one resource or for all', async () => {
    const named = (name: string, role = 'crm') => decided(role, about({ id: 'dora' }, name, { properties: TOOL }))
    const asAdmin = async (name: string) => {
      const token = await server.token('dora', 'admin')
      return decided('crm', about({ type: 'identity', id: 'dora', properties: { token } }, name, { properties: TOOL }))
    }
    expect([await asAdmin('can_read'), await asAdmin('GET'), await asAdmin('tools/call')]).to.deep.equal([
      true,
      true,
      true,
    ])
    expect(await named('POST')).to.equal('action-unknown')
    expect(await named('can_read', 'pdp-client')).to.equal('action-unknown')
  })

  it('tells conditions that the entry names, as booleans; all others are unknown', async () => {
    const remove = (properties?: object) =>
      about({ id: 'alice' }, { name: 'remove', ...(properties && { properties }) }, { properties: TOOL })
    expect(await decided('crm', remove({ soft: true }))).to.equal(true)
    expect(await decided('crm', remove({ soft: false }))).to.equal('not-granted')
    expect(await decided('crm', remove())).to.equal('condition-unknown')
    expect(await decided('pdp-client', remove({ soft: true }))).to.equal('condition-unknown')
    const { status, body } = await ask('crm', remove({ soft: 'yes' }))
    expect([status, body.errors[0].pointer]).to.deep.equal([400, '/action/properties/soft'])
    const read = (context?: object) => about({ id: 'alice' }, 'read', { properties: TOOL }, context)
    expect(await decided('crm', read({ inOffice: true }))).to.equal(true)
    expect(await decided('crm', read({ inOffice: false }))).to.equal('not-granted')
    expect(await decided('crm', read())).to.equal('condition-unknown')
  })

  it('is heeded as soon as the file changes, and a faulty file leaves the former in force', async () => {
    const file = `${server.folder}/policies/callers.yaml`
    const callers = await readFile(file, 'utf8')
    const erin = about(ofMember('red'), 'call', { properties: TOOL })
    const reason = ({ body }: Answer) => body.context.reason ?? body.decision
    const asked = () => ask('hr', erin)
    await writeFile(file, callers.replace('word: [member]', 'word: [membr]'))
    await until(
      () => server.ask('GET', '/readyz'),
      ({ body }) => body.status === 'degraded',
    )
    expect(reason(await asked())).to.equal(true)
    await writeFile(file, callers.replace('word: [member]', 'word: []'))
    await until(asked, (answer) => reason(answer) === 'not-granted')
    await writeFile(file, callers)
    await until(asked, (answer) => reason(answer) === true)
  })
})
