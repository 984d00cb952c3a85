/** A server with every kind of route and refusal that explain must tell: conceal, views, redirects, denies, blocked callers. */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Document } from '../../../src/resources/object.ts'
import { withoutSteps, withRules } from '../../policy-text.ts'
import { startTestServer, type TestServer } from '../../server.ts'

const SHIPPED = (name: string) => readFileSync(new URL(`../../../policies/${name}`, import.meta.url), 'utf8')

const TASKS = JSON.stringify({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Task',
  type: 'object',
  'x-resource': {
    routes: [
      { path: '/tasks', methods: ['GET', 'POST'] },
      { path: '/tasks/{id}', methods: ['GET', 'PUT', 'PATCH', 'DELETE'] },
      { path: '/tasks/{id}/summary', methods: ['GET'], view: 'summary' },
      { path: '/tasks/{id}/notes', methods: ['GET', 'PATCH'], view: 'hidden' },
      { path: '/jobs', methods: ['GET', 'POST'], moved: '/tasks' },
      { path: '/jobs/{id}', methods: ['GET', 'DELETE'], found: '/tasks/{id}' },
    ],
  },
  properties: {
    id: { type: 'string', readOnly: true },
    ownerId: { type: 'string' },
    team: { type: 'string' },
    done: { type: 'boolean', default: false },
    text: { type: 'string' },
    secret: { type: 'string' },
    createdAt: { type: 'string', format: 'date-time', readOnly: true },
    updatedAt: { type: 'string', format: 'date-time', readOnly: true },
  },
  required: ['text'],
  additionalProperties: false,
})

const RULES = `
p, member, tasks, list|read, owner, *, allow
p, member, tasks, list|read, teammate, summary, allow
p, member, tasks, create|update|delete, owner, *, allow
p, support, tasks, update, any, summary, allow
p, everyone, tasks, update|delete, finished, *, deny
p, everyone, tasks, list|read|create|update, any, hidden, deny
p, user:carl, tasks, delete, any, *, allow
p, everyone, notes, list|read, owner, *, allow
p, member, tasks, replace, teammate, *, allow
`

const FILES = {
  'schemas/tasks.json': TASKS,
  'policies/policy.csv': withRules(withoutSteps(SHIPPED('policy.csv')), RULES),
  'policies/views.yaml': `${SHIPPED('views.yaml')}
tasks:
  summary: [id, text]
  hidden: [secret]
`,
  'policies/ownership.yaml': `${SHIPPED('ownership.yaml')}
tasks:
  conceal: true
  relations:
    owner: ownerId
    teammate: { field: team, equals: subject.department }
    finished: { field: done, in: [true] }
`,
  'policies/blocked.txt': '# for a while\nuser:mallory until=2001-01-01T00:00:00Z\nuser:mallory\n',
}

/** Undefined for a caller without credentials. */
export type Person = { readonly id: string; readonly roles: readonly string[] } | undefined

export const PEOPLE: readonly Person[] = [
  undefined,
  { id: 'alice', roles: ['member'] },
  { id: 'bob', roles: ['member'] },
  { id: 'sam', roles: ['support'] },
  { id: 'audrey', roles: ['auditor', 'member'] },
  { id: 'ada', roles: ['admin'] },
  { id: 'carl', roles: ['ghost'] },
  { id: 'mallory', roles: ['admin'] },
]

/** Has no department, so that no relation that compares it could hold. */
export const DORA: Person = { id: 'dora', roles: ['member'] }

const ITEMS = [{ sku: 'A1', quantity: 1, unitPrice: 100 }]

/** Objects of alice's, one of each state that a rule names. */
const DOCUMENTS: readonly (readonly [string, Document])[] = [
  ['notes', { ownerId: 'alice', title: 't' }],
  ['orders', { customerId: 'alice', status: 'draft', currency: 'EUR', items: ITEMS }],
  ['orders', { customerId: 'alice', status: 'placed', currency: 'EUR', items: ITEMS }],
  ['accounts', { userId: 'alice', name: 'main', currency: 'EUR', balance: 1 }],
  ['users', { email: 'x@example.com', displayName: 'X' }],
  ['tasks', { ownerId: 'alice', team: 'engineering', done: false, text: 't', secret: 's' }],
  ['tasks', { ownerId: 'alice', done: true, text: 't' }],
]

/** Bodies that the rules let whoever may act at all write. */
export const BODIES: Readonly<Record<string, Readonly<Record<string, () => Document>>>> = {
  notes: { create: () => ({ title: 't' }), replace: () => ({ title: 'u' }), update: () => ({ title: 'u' }) },
  orders: {
    create: () => ({ currency: 'EUR', items: ITEMS }),
    replace: () => ({ currency: 'EUR', items: [{ sku: 'A2', quantity: 1, unitPrice: 100 }] }),
    update: () => ({ status: 'cancelled' }),
  },
  accounts: { create: () => ({ userId: 'alice', name: 'n', currency: 'EUR' }), update: () => ({ name: 'n' }) },
  users: {
    create: () => ({ email: `${randomUUID()}@example.com`, displayName: 'N' }),
    replace: () => ({ email: `${randomUUID()}@example.com`, displayName: 'N' }),
    update: () => ({ displayName: 'N' }),
  },
  'system/tokens': { create: () => ({ email: 'alice@example.com', password: 'sallyport-demo' }) },
  tasks: {
    create: () => ({ text: 't' }),
    replace: () => ({ text: 'u', team: 'engineering' }),
    update: () => ({ text: 'u' }),
  },
}

export async function startWorld(): Promise<TestServer> {
  const server = await startTestServer({ demo: true, files: FILES })
  const document = { email: 'dora@example.com', displayName: 'Dora', roles: [] }
  await server.app.seeding.insert('users', [{ id: 'dora', document }])
  return server
}

/** Stores alice's objects, of one resource or of all; their ids by resource, and an id that nothing has. */
export async function putObjects({ app }: TestServer, only?: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const ids = new Map<string, string[]>()
  for (const [resource, template] of DOCUMENTS.filter(([name]) => name === (only ?? name))) {
    const id = randomUUID()
    const document = resource === 'users' ? { ...template, email: `${id}@example.com` } : template
    await app.seeding.insert(resource, [{ id, document }])
    ids.set(resource, [...(ids.get(resource) ?? [randomUUID()]), id])
  }
  return ids
}
