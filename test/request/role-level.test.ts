/**
 * The role level: refused alike, before any object is looked for, unless some relation that this caller could have would be
 * allowed. So nobody learns from the status whether an object exists who could be allowed on none.
 */
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { withRules } from '../policy-text.ts'
import { startTestServer, type TestServer } from '../server.ts'

const SHIPPED = (name: string) => readFileSync(new URL(`../../policies/${name}`, import.meta.url), 'utf8')
const NOTE = '01890a5d-ac96-774b-bcce-b302099a8057'
const DRAFT = '01890a5d-ac96-774b-bcce-b302099a8058'
const PLACED = '01890a5d-ac96-774b-bcce-b302099a8059'
const NOBODYS = '01890a5d-ac96-774b-bcce-b302099a8060'
const ORDER = { customerId: 'alice', currency: 'EUR', items: [{ sku: 'A', quantity: 1, unitPrice: 1 }] }

const FILES = {
  'policies/ownership.yaml': SHIPPED('ownership.yaml').replace(
    'owner: id',
    'owner: id\n    colleague: { field: department, equals: subject.department }',
  ),
  'policies/policy.csv': withRules(
    SHIPPED('policy.csv'),
    `p, everyone,  notes,  *,         owner,     *,       allow
p, anonymous, orders, read,      draft,     *,       allow
p, everyone,  users,  list|read, colleague, contact, allow`,
  ),
}

describe('the role level', () => {
  let server: TestServer

  before(async () => {
    server = await startTestServer({ files: FILES })
    const { seeding } = server.app
    await seeding.insert('notes', [{ id: NOTE, document: { ownerId: 'alice', title: 't' } }])
    await seeding.insert('orders', [
      { id: DRAFT, document: { ...ORDER, status: 'draft' } },
      { id: PLACED, document: { ...ORDER, status: 'placed' } },
    ])
    const person = (id: string) => ({ email: `${id}@example.com`, displayName: id, roles: [] })
    await seeding.insert('users', [
      { id: 'ann', document: { ...person('ann'), department: 'red' } },
      { id: 'ben', document: person('ben') },
    ])
  })
  after(() => server.stop())

  async function statuses(path: string, methods: readonly string[], token?: string): Promise<readonly number[]> {
    const answers = []
    for (const method of methods) answers.push((await server.ask(method, path, token ? { token } : {})).status)
    return answers
  }

  it('is 401 without credentials where only an owner is allowed, whether the object exists or not', async () => {
    const methods = ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE']
    for (const id of [NOTE, NOBODYS, 'not-an-id', '%01']) {
      expect(await statuses(`/api/v1/notes/${id}`, methods), id).to.deep.equal([401, 401, 401, 401, 401])
    }
    // Neither an empty list, nor what is wrong with a body.
    expect(await statuses('/api/v1/notes', ['GET', 'HEAD', 'POST'])).to.deep.equal([401, 401, 401])
  })

  it('is passed by a caller who could be the owner', async () => {
    const token = await server.token('ben')
    expect(await statuses(`/api/v1/notes/${NOTE}`, ['GET', 'DELETE'], token)).to.deep.equal([403, 403])
    expect(await statuses(`/api/v1/notes/${NOBODYS}`, ['GET', 'DELETE'], token)).to.deep.equal([404, 404])
    expect(await statuses('/api/v1/notes', ['GET'], token)).to.deep.equal([200])
  })

  it('is passed without credentials where the state of an object is enough', async () => {
    const found = [DRAFT, PLACED, NOBODYS].map((id) => statuses(`/api/orders/${id}`, ['GET']))
    expect(await Promise.all(found)).to.deep.equal([[200], [401], [404]])
  })

  it('is 403 for a caller without the attribute that the relation compares', async () => {
    const [red, none] = [await server.token('ann'), await server.token('ben')]
    expect(await statuses('/api/users', ['GET'], red)).to.deep.equal([200])
    expect(await statuses('/api/users/nobody', ['GET'], red)).to.deep.equal([404])
    expect(await statuses('/api/users', ['GET'], none)).to.deep.equal([403])
    expect(await statuses('/api/users/nobody', ['GET'], none)).to.deep.equal([403])
    const records = (await server.decisions()).filter(({ subject, status }) => subject === 'ben' && status === 403)
    const [, , list] = records
    expect(list).to.deep.include({ rules: [], facts: { attributes: { department: null } } })
  })

  it('offers nothing in the OpenAPI document that it would refuse', async () => {
    const { paths } = (await server.ask('GET', '/openapi.json')).body
    expect(Object.keys(paths['/api/v1/notes'] ?? {})).to.not.include.oneOf(['get', 'post'])
    expect(paths['/api/orders/{id}']).to.have.property('get')
    expect(paths['/api/orders']).to.not.have.property('get')
  })
})
