/** A server whose callers.yaml lets services assert things, and the questions that they ask. */
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { withRules } from '../policy-text.ts'
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
      { path: '/sheets/{id}', methods: ['GET', 'PUT', 'PATCH', 'DELETE'] },
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
soft: { asserted: true }
office: { network: [192.0.2.0/24] }
password: { credential: [password] }
`,
  'policies/ownership.yaml': `${SHIPPED('ownership.yaml')}
tools:
  relations:
    mine: { field: team, equals: subject.department }
    closed: { field: state, in: [closed] }
    owned: { field: team, equals: subject.id }
sheets:
  relations:
    costly: { field: cost, in: ['9'] }
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
p, member, sheets, update|replace, any,        *, allow
p, member, sheets, update|replace, any>costly, *, deny
p, user:boss,  tools, call|read, any, *, allow
p, user:boss,  system/access, evaluate, any, *, allow
p, user:quinn, tools, call, mine, *, deny
p, user:quinn, system/access, evaluate, any, *, allow`,
  ),
  'policies/callers.yaml': `
crm:
  subjects: { identity: token, user: directory }
  resources: { tools: asserted, sheets: asserted }
  actions: { "*": { can_read: read, GET: read }, tools: { tools/call: call } }
  conditions: { soft: action.soft, office: context.inOffice }
  fields: understood
hr:
  subjects: { employee: { asserted: [member] } }
  resources: { tools: asserted, notes: asserted, sheets: asserted }
writer:
  resources: { notes: asserted }
believer:
  subjects: { user: { asserted: [member, admin] } }
`,
}

/** A tool as a service tells it. */
export const TOOL = { team: 'red', state: 'open', title: 'Saw', secret: 'blue' }

/** `note`: the id of a note of alice. */
export async function startAsserted(): Promise<{ readonly server: TestServer; readonly note: string }> {
  const server = await startTestServer({ demo: true, files: FILES })
  const alice = await server.token('alice', 'member')
  const note = (await server.ask('GET', '/api/v1/notes', { token: alice })).body.items[0].id
  return { server, note }
}

export function askingBy(serverOf: () => TestServer) {
  const ask = async (role: string, body: unknown, path = 'evaluation'): Promise<Answer> =>
    serverOf().ask('POST', `/access/v1/${path}`, { token: await serverOf().token('service', role), body })

  const decided = async (role: string, body: unknown) => {
    const { status, body: answer, text } = await ask(role, body)
    expect(status, text).to.equal(200)
    return answer.context.reason ?? answer.decision
  }
  return { ask, decided }
}

export const about = (subject: object, action: object | string, resource: object, context?: object) => ({
  subject: { type: 'user', ...subject },
  action: typeof action === 'string' ? { name: action } : action,
  resource: { type: 'tools', id: 't1', ...resource },
  ...(context && { context }),
})
export const ofMember = (department: string | undefined, more: object = {}) => ({
  type: 'employee',
  id: 'erin',
  properties: { roles: ['member'], ...(department === undefined ? {} : { department }), ...more },
})
