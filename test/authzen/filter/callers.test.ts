/** Filters heed callers.yaml as evaluations do: aliases, told conditions, told subjects, and services that heed fields. */
import { readFileSync } from 'node:fs'
import { interpret } from '@ucast/js'
import { expect } from 'chai'
import { withRules } from '../../policy-text.ts'
import { startTestServer, type TestServer } from '../../server.ts'

const SHIPPED = (name: string) => readFileSync(new URL(`../../../policies/${name}`, import.meta.url), 'utf8')

const TEXT = { type: 'string' }

const FILES = {
  'schemas/tools.json': JSON.stringify({
    title: 'Tool',
    type: 'object',
    'x-resource': { external: true, actions: ['call', 'remove', 'enter', 'leave'] },
    properties: { id: { ...TEXT, readOnly: true }, team: TEXT, state: TEXT, title: TEXT, secret: TEXT },
    additionalProperties: false,
  }),
  'policies/roles.yaml': `${SHIPPED('roles.yaml')}
crm: { description: Asks about users. }
hr: { description: Tells who works in which department. }
`,
  'policies/conditions.yaml': `
soft: { asserted: true }
office: { network: [192.0.2.0/24] }
`,
  'policies/ownership.yaml': `${SHIPPED('ownership.yaml')}
tools:
  relations:
    mine: { field: team, equals: subject.department }
    closed: { field: state, in: [closed] }
    owned: { field: team, equals: subject.id }
`,
  'policies/views.yaml': `${SHIPPED('views.yaml')}
tools:
  label: [id, title]
`,
  'policies/policy.csv': withRules(
    SHIPPED('policy.csv'),
    `p, crm, system/access, evaluate|filter, any, *, allow
p, hr,  system/access, evaluate|filter, any, *, allow
p, member, accounts, update, owner+office, *, allow
p, member, tools, call,   mine,            *,     allow
p, member, tools, call,   closed,          *,     deny
p, member, tools, remove, soft+owned,      *,     allow
p, member, tools, enter,  any,             *,     allow
p, member, tools, enter,  closed+!office,  *,     deny
p, member, tools, leave,  any,             *,     allow
p, member, tools, leave,  mine,            *,     deny
p, member, tools, read,   any,             label, allow
p, member, tools, read,   owned,           *,     allow`,
  ),
  'policies/callers.yaml': `
crm:
  subjects: { user: directory }
  resources: { tools: asserted }
  actions: { tools: { tools/call: call } }
  conditions: { soft: action.soft, office: context.inOffice }
  fields: understood
hr:
  subjects: { employee: { asserted: [member] } }
  resources: { tools: asserted }
`,
}

const ROWS = ['alice', 'red', 'blue'].flatMap((team) =>
  ['open', 'closed'].map((state) => ({ team, state, title: 'Saw', secret: 'x' })),
)

const ALICE = { type: 'user', id: 'alice' }
const erin = (properties: object) => ({
  type: 'employee',
  id: 'erin',
  properties: { roles: ['member'], ...properties },
})

interface Question {
  readonly subject: object
  readonly action: object
  readonly context?: object
}

describe('a filter and callers.yaml', () => {
  let server: TestServer

  before(async () => {
    server = await startTestServer({ demo: true, files: FILES })
  })
  after(() => server.stop())

  const ask = async (role: string, path: string, body: object) => {
    const token = await server.token('service', role)
    const { status, body: answer, text } = await server.ask('POST', `/access/v1/${path}`, { token, body })
    expect(status, text).to.equal(200)
    return answer
  }

  const filterFor = (role: string, question: Question) =>
    ask(role, 'filter', { ...question, resource: { type: 'tools' } })

  /** The rows on which an evaluation is true, and those that the filter holds. */
  async function both(role: string, question: Question) {
    const { kind, ucast } = await filterFor(role, question)
    const decisions = ROWS.map(async (properties) => {
      return ask(role, 'evaluation', { ...question, resource: { type: 'tools', id: 't', properties } })
    })
    const allowed = (await Promise.all(decisions)).map(({ decision }) => decision)
    const held = ROWS.map((row) => (ucast ? interpret(ucast, { id: 't', ...row }) : kind === 'always'))
    return { allowed, held, count: held.filter(Boolean).length }
  }

  it('holds the rows of tables that no schema of this server stores', async () => {
    const { allowed, held, count } = await both('hr', {
      subject: erin({ department: 'red' }),
      action: { name: 'call' },
    })
    expect(held).to.deep.equal(allowed)
    expect(count).to.equal(1)
  })

  it('has no rows for a subject without an attribute that a deny compares: the service may have left it out', async () => {
    const question = { subject: erin({}), action: { name: 'leave' } }
    const { kind, context } = await filterFor('hr', question)
    expect([kind, context.reason]).to.deep.equal(['never', 'attributes-missing'])
    expect((await both('hr', question)).allowed).not.to.include(true)
    const told = await both('hr', { ...question, subject: erin({ department: 'red' }) })
    expect(told.held).to.deep.equal(told.allowed)
    expect(told.count).to.equal(4)
  })

  it('knows the aliases of the service', async () => {
    const { context } = await filterFor('hr', { subject: erin({ department: 'red' }), action: { name: 'tools/call' } })
    expect(context.reason).to.equal('action-unknown')
    const aliased = await filterFor('crm', { subject: ALICE, action: { name: 'tools/call' } })
    expect(aliased.context.reason).to.equal(undefined)
  })

  it('has the reason of an evaluation where a condition that is not known could grant the action', async () => {
    const asked = { subject: ALICE, action: { name: 'update' }, resource: { type: 'accounts' } }
    const token = await server.token('shop', 'pdp-client')
    const accounts = await server.ask('GET', '/api/accounts', { token: await server.token('alice', 'member') })
    const resource = { type: 'accounts', id: accounts.body.items[0].id }
    const evaluation = await server.ask('POST', '/access/v1/evaluation', { token, body: { ...asked, resource } })
    const filter = await server.ask('POST', '/access/v1/filter', { token, body: asked })
    expect([evaluation.body.context.reason, filter.body.context.reason]).to.deep.equal(
      Array(2).fill('condition-unknown'),
    )
    expect(filter.body.kind).to.equal('never')
  })

  it('takes told conditions, and lets no row through that an unknown one could refuse', async () => {
    const remove = (properties: object) => ({ subject: ALICE, action: { name: 'remove', properties } })
    const enter = (context: object) => ({ subject: ALICE, action: { name: 'enter' }, context })
    const counts: number[] = []
    for (const question of [remove({ soft: true }), remove({}), enter({ inOffice: true }), enter({})]) {
      const { allowed, held, count } = await both('crm', question)
      expect(held, JSON.stringify(question)).to.deep.equal(allowed)
      counts.push(count)
    }
    expect(counts).to.deep.equal([2, 0, 6, 3])
  })

  it('tells a service that heeds fields where each is granted', async () => {
    const { kind, fields } = await filterFor('crm', { subject: ALICE, action: { name: 'read' } })
    expect([kind, fields.always]).to.deep.equal(['always', ['id', 'title']])
    expect(fields.sometimes).to.deep.equal([
      {
        fields: ['team', 'state', 'secret'],
        ucast: { type: 'field', field: 'team', operator: 'eq', value: 'alice' },
      },
    ])
    const whole = await filterFor('hr', { subject: erin({ department: 'red' }), action: { name: 'read' } })
    expect(whole.ucast).to.deep.equal({ type: 'field', field: 'team', operator: 'eq', value: 'erin' })
  })
})
