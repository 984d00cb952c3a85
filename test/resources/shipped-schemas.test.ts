/** The shipped schema files say what the design says: fields, paths and methods. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { isObject } from '../../src/base/is-object.ts'
import { loadResources } from '../../src/resources/load/load-resources.ts'
import type { Json, Representation, Resource, Resources } from '../../src/resources/resource.ts'
import { allSubschemas } from '../../src/resources/schema/subschemas.ts'

const SCHEMAS = new URL('../../schemas/', import.meta.url)
const RESOURCES = ['accounts', 'notes', 'orders', 'users']
const SERVER_FIELDS = ['createdAt', 'id', 'updatedAt']

const FIELDS: Readonly<Record<string, string>> = {
  notes: 'body ownerId tags title',
  orders: 'currency customerId items note status',
  accounts: 'balance currency name userId',
  users: 'bio department displayName email roles',
}

const COLLECTION = 'GET, HEAD, POST, OPTIONS'
const ITEM = 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS'
const READ = 'GET, HEAD, OPTIONS'
const UPDATE = 'GET, HEAD, PATCH, OPTIONS'

/** In the order of the files, which makes the first one of a kind canonical. */
const ROUTES = [
  ['/api/accounts', 'accounts', 'collection', COLLECTION],
  ['/api/accounts/{id}', 'accounts', 'item', UPDATE],
  ['/api/accounts/{id}/balance', 'accounts', 'item', READ],
  ['/api/v1/notes', 'notes', 'collection', COLLECTION],
  ['/api/v1/notes/{id}', 'notes', 'item', ITEM],
  ['/notes', 'notes', 'collection', COLLECTION],
  ['/api/orders', 'orders', 'collection', COLLECTION],
  ['/api/orders/{id}', 'orders', 'item', ITEM],
  ['/api/orders/{id}/cancel', 'orders', 'item', 'POST, OPTIONS'],
  ['/api/orders/{id}/place', 'orders', 'item', 'POST, OPTIONS'],
  ['/api/orders/{id}/ship', 'orders', 'item', 'POST, OPTIONS'],
  ['/api/users', 'users', 'collection', COLLECTION],
  ['/api/users/{id}', 'users', 'item', ITEM],
  ['/users', 'users', 'collection', COLLECTION],
  ['/users/{id}', 'users', 'item', ITEM],
  ['/profile', 'users', 'caller', UPDATE],
  ['/profile/{id}', 'users', 'item', READ],
]

/** As a client sends it, and what the server puts in before the object is checked. */
const SMALLEST: Readonly<Record<string, Representation>> = {
  notes: { title: 't', ownerId: 'alice' },
  orders: { currency: 'EUR', items: [{ sku: 'A1', quantity: 1, unitPrice: 100 }], customerId: 'alice' },
  accounts: { userId: 'alice', name: 'main', currency: 'EUR' },
  users: { email: 'a@example.com', displayName: 'A' },
}

describe('the shipped schemas', () => {
  let resources: Resources
  const get = (name: string): Resource => {
    const resource = resources.byName.get(name)
    if (!resource) throw new Error(`no resource ${name}`)
    return resource
  }
  const faults = (name: string, changes: Readonly<Record<string, Json>>) =>
    get(name)
      .validate({ ...SMALLEST[name], ...changes })
      .map(({ pointer, code }) => `${pointer} ${code}`)

  before(async () => {
    resources = await loadResources(fileURLToPath(SCHEMAS))
  })

  it('are four resources beside the built-in ones', () => {
    const data = [...resources.byName.values()].filter(({ builtIn }) => !builtIn)
    expect(data.map(({ name }) => name)).to.deep.equal(RESOURCES)
  })

  it('have exactly the fields of the design', () => {
    for (const name of RESOURCES) {
      const own = [...get(name).fields.keys()].filter((field) => !SERVER_FIELDS.includes(field))
      expect(own.toSorted().join(' '), name).to.equal(FIELDS[name])
    }
  })

  it('have exactly the paths and methods of the design', () => {
    const data = resources.routes.filter(({ resource }) => RESOURCES.includes(resource))
    expect(data.map(({ path, resource, kind, allow }) => [path, resource, kind, allow])).to.deep.equal(ROUTES)
  })

  it('accept just the methods that Allow names', () => {
    for (const { allow, endpoints } of resources.routes) expect([...endpoints.keys()].join(', ')).to.equal(allow)
  })

  it('keep id, createdAt and updatedAt for the server, and nothing else', () => {
    for (const name of RESOURCES) {
      const readOnly = [...get(name).fields.values()].filter((field) => field.readOnly).map((field) => field.name)
      expect(readOnly.toSorted(), name).to.deep.equal(SERVER_FIELDS)
    }
  })

  it('point Location at the path under /api', () => {
    const paths = RESOURCES.map((name) => get(name).canonicalItemPath)
    expect(paths).to.deep.equal(['/api/accounts/{id}', '/api/v1/notes/{id}', '/api/orders/{id}', '/api/users/{id}'])
  })

  it('name the balance view and the profile action', () => {
    const route = (path: string) => resources.routes.find((one) => one.path === path)
    expect(route('/api/accounts/{id}/balance')?.view).to.equal('balance')
    const profile = [...(route('/profile/{id}')?.endpoints ?? [])]
    expect(profile.map(([method, { operation, action }]) => [method, operation, action])).to.deep.equal([
      ['GET', 'read', 'profile'],
      ['HEAD', 'read', 'profile'],
      ['OPTIONS', 'options', 'options'],
    ])
    expect(get('users').actions.get('profile')).to.deep.equal({ name: 'profile', hasFields: true })
    expect(get('users').actions.get('delete')).to.deep.equal({ name: 'delete', hasFields: false })
    expect(get('users').actions.get('options')).to.deep.equal({ name: 'options', hasFields: false })
    expect([...get('notes').actions.keys()]).to.not.include('profile')
  })

  it('can be filtered by owner, status, email, department and time', () => {
    const indexed = RESOURCES.flatMap((name) =>
      [...get(name).fields.values()].filter((field) => field.indexed).map((field) => `${name}.${field.name}`),
    )
    expect(indexed).to.include.members(['notes.ownerId', 'orders.customerId', 'accounts.userId', 'orders.status'])
    expect(indexed).to.include.members(['users.email', 'users.department', 'orders.createdAt'])
    const unique = RESOURCES.flatMap((name) => [...get(name).fields.values()].filter((field) => field.unique))
    expect(unique.map(({ name }) => name)).to.deep.equal(['email'])
  })

  it('give an order the status draft and an account the balance 0', () => {
    expect(get('orders').fields.get('status')?.default).to.equal('draft')
    expect(get('accounts').fields.get('balance')?.default).to.equal(0)
  })

  it('tell the types that relations and filters compare', () => {
    const { type, list } = get('users').fields.get('roles') ?? {}
    expect({ type, list }).to.deep.equal({ type: 'string', list: true })
    expect(get('notes').fields.get('ownerId')?.type).to.equal('string')
    expect(get('accounts').fields.get('balance')?.type).to.equal('integer')
    expect(get('orders').fields.get('items')?.type).to.equal('other')
  })

  it('accept the smallest valid bodies, and the whole objects made of them', () => {
    const server = { createdAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-01T00:00:00.000Z' }
    const id = '01890a5d-ac96-774b-bcce-b302099a8057'
    for (const name of RESOURCES) {
      expect(faults(name, {}), name).to.deep.equal([])
      expect(faults(name, { ...server, id }), name).to.deep.equal([])
    }
  })

  it('refuse each smallest body with any one field taken away', () => {
    for (const name of RESOURCES) {
      for (const field of Object.keys(SMALLEST[name] ?? {})) {
        const rest = Object.entries(SMALLEST[name] ?? {}).filter(([key]) => key !== field)
        const [fault] = get(name).validate(Object.fromEntries(rest))
        expect(fault, `${name} without ${field}`).to.include({ pointer: `/${field}`, code: 'required' })
      }
    }
  })

  it('refuse fields that nobody declared', () => {
    for (const name of RESOURCES) expect(faults(name, { admin: true })).to.deep.equal(['/admin additionalProperties'])
  })

  it('hold the bounds of the design', () => {
    expect(faults('notes', { title: 'x'.repeat(200), body: 'x'.repeat(20_000) })).to.deep.equal([])
    expect(faults('notes', { title: 'x'.repeat(201) })).to.deep.equal(['/title maxLength'])
    expect(faults('notes', { title: '' })).to.deep.equal(['/title minLength'])
    expect(faults('notes', { body: 'x'.repeat(20_001) })).to.deep.equal(['/body maxLength'])
    expect(faults('orders', { items: [] })).to.deep.equal(['/items minItems'])
    expect(faults('orders', { currency: 'eur' })).to.deep.equal(['/currency pattern'])
    expect(faults('orders', { status: 'lost' })).to.deep.equal(['/status enum'])
    const item = { sku: 'A1', quantity: 1, unitPrice: 100 }
    expect(faults('orders', { items: Array(100).fill(item) })).to.deep.equal([])
    expect(faults('orders', { items: Array(101).fill(item) })).to.deep.equal(['/items maxItems'])
    expect(faults('orders', { items: [{ ...item, quantity: 1.5 }] })).to.deep.equal(['/items/0/quantity type'])
    expect(faults('accounts', { balance: Number.MIN_SAFE_INTEGER })).to.deep.equal([])
    expect(faults('accounts', { balance: Number.MAX_SAFE_INTEGER + 1 })).to.deep.equal(['/balance maximum'])
    expect(faults('users', { email: 'nobody' })).to.deep.equal(['/email format'])
  })

  it('take any name of an identity provider for a user id, and a UUID alone for the others', () => {
    for (const id of ['alice', 'auth0|5f7c8ec7', 'Ünïcode \u{1F600}', 'x'.repeat(128)]) {
      expect(faults('users', { id }), id).to.deep.equal([])
      expect(faults('notes', { ownerId: id }), id).to.deep.equal([])
    }
    for (const id of ['', 'x'.repeat(129), 'a\u0000', 'a\nb', 'a\u007f', 'a\u009f', '\ud800']) {
      expect(faults('users', { id }), JSON.stringify(id)).to.have.length(1)
      expect(faults('notes', { ownerId: id }), JSON.stringify(id)).to.have.length(1)
    }
    expect(faults('notes', { id: 'alice' })).to.deep.equal(['/id format'])
  })

  it('bound every string and every list', () => {
    const seen = RESOURCES.flatMap((name) => {
      const schema: Json = JSON.parse(readFileSync(new URL(`${name}.json`, SCHEMAS), 'utf8'))
      return isObject(schema) ? allSubschemas(schema).map((one) => ({ name, ...one })) : []
    }).filter(({ schema }) => isObject(schema) && (schema.type === 'string' || schema.type === 'array'))
    expect(seen).to.have.length.greaterThan(25)
    for (const { name, path, schema } of seen) {
      const bounds = ['maxLength', 'maxItems', 'enum', 'format', 'pattern']
      expect(Object.keys(schema), `${name} ${path.join('/')}`).to.satisfy((keys: readonly string[]) =>
        keys.some((key) => bounds.includes(key)),
      )
    }
  })

  it('tell editors what they are', () => {
    for (const name of RESOURCES) {
      const schema = JSON.parse(readFileSync(new URL(`${name}.json`, SCHEMAS), 'utf8'))
      expect(schema.$schema).to.equal('https://json-schema.org/draft/2020-12/schema')
      expect(schema).to.include.keys('title', 'description')
    }
  })
})
