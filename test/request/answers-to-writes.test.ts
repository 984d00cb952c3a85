/**
 * The answer to a write shows what a read right after would, also where the written object is one of those that its
 * relations rest on.
 */

import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import type { Document } from '../../src/resources/object.ts'
import { withRules } from '../policy-text.ts'
import { type Answer, startTestServer, type TestServer } from '../server.ts'

const SHIPPED = (name: string) => readFileSync(new URL(`../../policies/${name}`, import.meta.url), 'utf8')

const TEXT = { type: 'string' }
const SERVERS = { ...TEXT, readOnly: true }

function schemaOf(name: string, title: string, fields: readonly string[]): string {
  const properties = Object.fromEntries(fields.map((field) => [field, TEXT]))
  const times = { createdAt: { ...SERVERS, format: 'date-time' }, updatedAt: { ...SERVERS, format: 'date-time' } }
  return JSON.stringify({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title,
    type: 'object',
    'x-resource': {
      routes: [
        { path: `/${name}`, methods: ['GET', 'POST'] },
        { path: `/${name}/{id}`, methods: ['GET', 'PUT', 'PATCH', 'DELETE'] },
      ],
    },
    properties: { id: SERVERS, ...properties, ...times },
    additionalProperties: false,
  })
}

const RULES = `
p, member, folders, create|update, any, *, allow
p, member, folders, read, inherited, *, allow
p, member, memberships, create|update, any, *, allow
p, member, memberships, read, member, *, allow
p, member, users, update, any, *, allow
p, member, users, read, !colleague, *, deny
`

const FILES = {
  'schemas/folders.json': schemaOf('folders', 'Folder', ['ownerId', 'parentId']),
  'schemas/projects.json': schemaOf('projects', 'Project', ['name']),
  'schemas/memberships.json': schemaOf('memberships', 'Membership', ['projectId', 'userId']),
  'policies/policy.csv': withRules(SHIPPED('policy.csv'), RULES),
  'policies/ownership.yaml': SHIPPED('ownership.yaml')
    .replace(/^users:\n( +)relations:\n/m, '$&$1$1colleague: { field: department, equals: subject.department }\n')
    .concat(`
folders:
  relations:
    direct: ownerId
    inherited: { through: parentId, to: folders, relation: direct, depth: 8 }
projects:
  relations: { member: { some: memberships, where: projectId, relation: self } }
memberships:
  relations:
    self: userId
    member: { through: projectId, to: projects, relation: member }
`),
}

describe('the answer to a write', () => {
  let server: TestServer
  let token: string
  before(async () => {
    server = await startTestServer({ files: FILES })
    token = await server.token('alice', 'member')
  })
  after(() => server.stop())

  const store = (resource: string, id: string, document: Document) =>
    server.app.seeding.insert(resource, [{ id, document }])
  const write = (method: string, path: string, body: Document) => server.ask(method, path, { token, body })

  /** What the answer shows, and what a read right after shows. */
  async function compare(answer: Answer): Promise<readonly string[]> {
    expect(answer.status).to.be.oneOf([200, 201, 204])
    const path = answer.headers.get('location') ?? answer.headers.get('content-location')
    const read = path === null ? undefined : await server.ask('GET', path, { token })
    const shown = read?.status === 200 ? read.body : undefined
    expect(answer.body).to.deep.equal(shown)
    if (shown) expect(answer.headers.get('etag')).to.equal(read?.headers.get('etag'))
    return Object.keys(shown ?? {})
  }

  /** The answer has no body, and a read right after is refused. */
  async function isHidden(path: string, answer: Answer): Promise<void> {
    expect([answer.status, answer.body]).to.deep.equal([204, undefined])
    expect((await server.ask('GET', path, { token })).status).to.equal(403)
  }

  it('shows a new membership that makes the caller a member, and no other', async () => {
    await store('projects', 'p1', {})
    const own = await write('POST', '/memberships', { projectId: 'p1', userId: 'alice' })
    expect(await compare(own)).to.include('projectId')
    await store('projects', 'p2', {})
    expect(await compare(await write('POST', '/memberships', { projectId: 'p2', userId: 'bob' }))).to.deep.equal([])
  })

  it('hides a membership that was the one to make the caller a member', async () => {
    await store('projects', 'p3', {})
    await store('memberships', 'm3', { projectId: 'p3', userId: 'alice' })
    const kept = await write('PATCH', '/memberships/m3', { userId: 'alice' })
    expect(await compare(kept)).to.include('userId')
    await isHidden('/memberships/m3', await write('PATCH', '/memberships/m3', { userId: 'bob' }))
    expect(await compare(await write('PATCH', '/memberships/m3', { userId: 'alice' }))).to.include('userId')
  })

  it('looks at a folder that is an ancestor of itself as the write leaves it', async () => {
    await store('folders', 'f', { ownerId: 'alice', parentId: 'g' })
    await store('folders', 'g', { ownerId: 'bob', parentId: 'f' })
    await isHidden('/folders/f', await write('PATCH', '/folders/f', { ownerId: 'bob' }))
    expect(await compare(await write('PATCH', '/folders/f', { ownerId: 'alice' }))).to.include('ownerId')
  })

  it("looks at the caller's attributes as a write to the own record leaves them", async () => {
    await store('users', 'alice', { email: 'a@example.com', displayName: 'A', department: 'x' })
    expect(await compare(await write('PATCH', '/api/users/alice', { department: 'y' }))).to.include('department')
    const gone = await write('PATCH', '/api/users/alice', { department: null })
    await isHidden('/api/users/alice', gone)
  })
})
