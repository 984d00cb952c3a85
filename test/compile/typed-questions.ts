// Not part of the program: test/openapi/typed-client.test.ts makes the types, compiles this, and runs it against a server.
import createClient from 'openapi-fetch'
import type { paths } from '../../examples/typescript-client/generated/questions.d.ts'

const subject = { type: 'user', id: 'alice', properties: { department: 'sales', level: 3 } }
const resource = { type: 'notes', id: '7', properties: { ownerId: 'alice', title: 'told', more: { any: ['thing'] } } }
const action = { name: 'update', properties: { fields: ['title'], body: { title: 'new' }, method: 'PATCH' } }
const context = { fields: ['title'], time: '2026-11-24T12:00:00Z', from: { network: 'office' } }

/** The statuses of a question of each kind. */
export async function askEachKind(baseUrl: string, token: string): Promise<readonly number[]> {
  const api = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } })
  const read = { name: 'read' }
  const sql = {
    dialect: 'sqlite' as const,
    table: 'notes',
    columns: { ownerId: 'owner', createdAt: { column: 'made' } },
  }
  const answers = [
    await api.POST('/access/v1/evaluation', { body: { subject, resource, action, context } }),
    await api.POST('/access/v1/evaluations', { body: { subject, resource, action, context } }),
    await api.POST('/access/v1/evaluations', {
      body: {
        subject,
        action: read,
        evaluations: [{ resource }, { resource, action, context }, { subject: {} }],
        options: { evaluations_semantic: 'permit_on_first_permit', trace: true },
      },
    }),
    await api.POST('/access/v1/search/subject', {
      body: { subject: { type: 'user' }, action: read, resource, context },
    }),
    await api.POST('/access/v1/search/resource', {
      body: { subject, action: read, resource: { type: 'notes' }, page: { limit: 2 } },
    }),
    await api.POST('/access/v1/search/action', { body: { subject, resource, context } }),
    await api.POST('/access/v1/filter', { body: { subject, action: read, resource: { type: 'notes' }, context } }),
    await api.POST('/access/v1/filter', {
      body: { subject, action: read, resource: { type: 'notes' }, options: { ucast: true, sql } },
    }),
  ]
  return answers.map(({ response }) => response.status)
}

/** An object of a schema file that has a field of any members. */
export async function keepAnything(baseUrl: string, token: string): Promise<unknown> {
  const api = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } })
  const { data } = await api.POST('/api/v1/notes', {
    body: { title: 't', labels: { any: 1 }, deep: [{ a: {} }, null] },
  })
  return { labels: data?.labels, deep: data?.deep }
}

const wrong = createClient<paths>({})
void wrong.POST('/access/v1/evaluation', { body: { subject: { type: 'user' }, resource, action } }) // error: no id
void wrong.POST('/access/v1/evaluation', { body: { subject, resource } }) // error: no action
void wrong.POST('/access/v1/evaluations', { body: { subject, resource } }) // error: neither items nor an action
void wrong.POST('/access/v1/search/action', { body: { subject } }) // error: no resource
void wrong.POST('/access/v1/filter', { body: { subject, action, resource, options: { sql: {} } } }) // error: no table
void wrong.POST('/api/v1/notes', { body: { title: 't', labels: 5 } }) // error: no object
