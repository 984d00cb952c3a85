/** The whole document: every route and method, with all that each can answer and takes. */
import { expect } from 'chai'
import { CATALOGUE } from '../../src/base/problems/catalogue.ts'
import { type Document, operationsOf, read, shipped, wholeDocument } from './fixture.ts'

const json = (value: unknown) => JSON.stringify(value)

const NOTES = JSON.parse(read('schemas/notes.json'))

function notesWith(route: object): string {
  const [collection, item] = NOTES['x-resource'].routes
  return json({ ...NOTES, 'x-resource': { routes: [collection, { ...item, ...route }] } })
}

function withReference(): string {
  const orders = JSON.parse(read('schemas/orders.json'))
  const customerId = { ...orders.properties.customerId, 'x-reference': { resource: 'users' } }
  return json({ ...orders, 'x-history': { keep: '1y' }, properties: { ...orders.properties, customerId } })
}

/** The codes of all problems that operations can answer with. */
function codesOf({ components }: Document): readonly string[] {
  return Object.values<Document>(components.responses).flatMap(
    ({ content }) => content['application/problem+json'].schema.allOf[1].properties.code.enum,
  )
}

describe('the OpenAPI document', () => {
  let document: Document

  before(async () => {
    document = await wholeDocument(shipped())
  })

  it('has every route and every method that the server accepts, and no other', () => {
    const { resources } = shipped()
    const routes = resources.routes.filter(({ path }) => path !== '*')
    const accepted = routes.flatMap(({ path, endpoints }) => [...endpoints.keys()].map((method) => `${method} ${path}`))
    expect(operationsOf(document)).to.deep.equal(accepted.toSorted())
  })

  it('is the same whenever it is made from the same files', async () => {
    expect(json(await wholeDocument(shipped()))).to.equal(json(document))
  })

  it('knows every problem of the catalogue', async () => {
    const full = await wholeDocument(
      shipped({
        'schemas/notes.json': notesWith({ precondition: 'required', sunset: '2030-01-01' }),
        'schemas/orders.json': withReference(),
        'schemas/commands/settle.json': json({
          resource: 'orders',
          path: '/api/orders/{id}/settlement',
          action: 'settle',
          set: { status: { value: 'placed' } },
        }),
        'policies/limits.yaml':
          'body: 100kb\npage: { default: 50, max: 200 }\nlimits:\n  all: { per: address, allow: 9, window: 60s }\n',
        'policies/conditions.yaml': 'fresh: { signedIn: { within: 15m } }\n',
        'policies/guarantees.yaml':
          '- name: apart\n  roles-apart: [auditor, admin]\n- name: few\n  at-most: { role: admin, people: 3 }\n',
      }),
      'published',
    )
    const told = codesOf(full)
    expect(Object.keys(CATALOGUE).filter((code) => !told.includes(code))).to.deep.equal([])
    expect(full.components.schemas.Problem.properties.code.enum).to.deep.equal(Object.keys(CATALOGUE))
  })

  it('names the numbers of versions only where the policy is published in a database', async () => {
    const published = await wholeDocument(shipped(), 'published')
    const { get } = published.paths['/api/orders']
    expect(json(get.parameters)).to.contain('Policy-Sequence-At-Least')
    expect(get.responses[200].headers).to.include.keys('Policy-Revision', 'Policy-Sequence')
    expect(codesOf(published)).to.include.members(['policy-behind', 'policy-expired'])
    const { parameters, headers } = document.components
    expect(json([document.paths, parameters, headers])).not.to.contain('Policy-Sequence')
    expect(codesOf(document)).not.to.include.members(['policy-behind'])
    expect(codesOf(document)).not.to.include.members(['policy-expired'])
  })

  it('says that an operation may ask to sign in again only where the policy has a condition for it', async () => {
    const conditions = 'office: { network: [192.0.2.0/24] }\n'
    expect(codesOf(document)).to.not.include('step-up-required')
    expect(codesOf(await wholeDocument(shipped({ 'policies/conditions.yaml': conditions })))).to.not.include(
      'step-up-required',
    )
  })

  it('gives each operation the statuses that it can have', () => {
    const statuses = (method: string, path: string) => Object.keys(document.paths[path][method].responses).map(Number)
    const always = [400, 401, 403, 408, 414, 417, 429, 431, 500, 502, 503]
    const writing = [...always, 406, 412, 413, 415]
    const sorted = (numbers: readonly number[]) => numbers.toSorted((a, b) => a - b)
    expect(statuses('get', '/api/orders')).to.deep.equal(sorted([200, 406, ...always]))
    expect(statuses('get', '/api/orders/{id}')).to.deep.equal(sorted([200, 304, 404, 406, 412, ...always]))
    expect(statuses('post', '/api/users')).to.deep.equal(sorted([201, 409, 422, ...writing]))
    expect(statuses('put', '/api/orders/{id}')).to.deep.equal(sorted([200, 204, 404, 409, ...writing]))
    expect(statuses('patch', '/profile')).to.deep.equal(sorted([200, 204, 404, 409, ...writing]))
    expect(statuses('delete', '/api/orders/{id}')).to.deep.equal(sorted([204, 404, 409, 412, ...always]))
    expect(statuses('options', '/api/orders/{id}')).to.deep.equal(sorted([204, ...always]))
    expect(statuses('get', '/readyz')).to.deep.equal(sorted([200, 406, ...always]))
  })

  it('says how a route goes away, redirects, and insists on preconditions', async () => {
    const gone = {
      deprecated: '2026-12-01',
      sunset: '2027-06-01',
      successor: '/api/v2/notes/{id}',
      precondition: 'required',
    }
    const leaving = await wholeDocument(shipped({ 'schemas/notes.json': notesWith(gone) }))
    const { get, put } = leaving.paths['/api/v1/notes/{id}']
    expect(get.deprecated).to.equal(true)
    expect(get.responses[200].headers).to.include.keys('Deprecation', 'Sunset', 'Link')
    expect(get.responses).to.include.keys('410')
    expect(put.responses).to.include.keys('428')
    expect(put.parameters).to.deep.include({ $ref: '#/components/parameters/If-Match-Required' })
    expect(document.paths['/api/v1/notes/{id}'].get).to.not.have.any.keys('deprecated')
    const moved = await wholeDocument(shipped({ 'schemas/notes.json': notesWith({ moved: '/api/v2/notes/{id}' }) }))
    const answers = (method: string) => Object.keys(moved.paths['/api/v1/notes/{id}'][method].responses)
    expect(answers('get')).to.include('301').and.not.include.members(['200'])
    expect(answers('put')).to.include('308').and.not.include.members(['200'])
  })

  it('describes bodies by the schema: what clients must send, may send, and cannot', () => {
    const { OrderNew, OrderReplacement, OrderPatch } = document.components.schemas
    expect(OrderNew.required).to.deep.equal(['currency', 'items'])
    expect(OrderNew.properties).to.include.keys('customerId', 'status').and.not.have.any.keys('id', 'createdAt')
    expect(OrderReplacement.required).to.deep.equal(['currency', 'items'])
    expect(OrderPatch.required).to.equal(undefined)
    expect(OrderPatch.properties.note).to.deep.equal({ anyOf: [{ type: 'string', maxLength: 2000 }, { type: 'null' }] })
    expect(OrderPatch.properties.currency).to.not.have.any.keys('anyOf')
    const { content } = document.paths['/api/orders/{id}'].patch.requestBody
    expect(Object.keys(content)).to.deep.equal([
      'application/merge-patch+json',
      'application/json-patch+json',
      'application/json',
    ])
  })

  it('demands of a representation what every caller sees, and no more', () => {
    const { Order, User, UserProfile, AccountBalance } = document.components.schemas
    expect(Order.required).to.deep.equal(['id', 'customerId', 'currency', 'items', 'createdAt', 'updatedAt'])
    expect(User.required).to.deep.equal(['id', 'email', 'displayName'])
    expect(Object.keys(UserProfile.properties)).to.deep.equal(['id', 'displayName', 'bio', 'can'])
    expect(Object.keys(AccountBalance.properties)).to.deep.equal(['id', 'currency', 'balance', 'can'])
  })

  it('tells the rate limits, by operation and in full', () => {
    expect(document['x-rate-limits']).to.deep.include({
      name: 'member',
      per: 'subject',
      allow: 6000,
      windowSeconds: 60,
      match: { role: 'member' },
    })
    expect(document.paths['/api/orders'].get['x-rate-limits']).to.deep.equal(['address', 'member', 'bad-credentials'])
  })

  it('without limits promises 429 for too much at a time alone, without the headers of limits', async () => {
    const free = await wholeDocument(
      shipped({ 'policies/limits.yaml': 'body: 1kb\npage: { default: 5, max: 20 }\nlimits: {}\n' }),
    )
    expect(json(free)).to.not.include('RateLimit')
    const promised = operationsOf(free).flatMap((one) => {
      const [method = '', path = ''] = one.split(' ')
      const { responses } = free.paths[path][method.toLowerCase()]
      const ref: string | undefined = responses['429']?.$ref
      return ref === undefined
        ? []
        : Object.keys(free.components.responses[ref.slice(ref.lastIndexOf('/') + 1)].headers)
    })
    expect(promised).to.include('Retry-After')
  })

  it('needs credentials where no anonymous caller is allowed', () => {
    expect(document.paths['/api/orders'].get.security).to.deep.equal([{ bearer: [] }])
    expect(document.paths['/profile'].get.security).to.deep.equal([{ bearer: [] }])
    expect(document.paths['/profile/{id}'].get.security).to.deep.equal([{}, { bearer: [] }])
    expect(document.paths['/livez'].get.security).to.deep.equal([{}, { bearer: [] }])
  })

  it('says what signing in and out are, which their verbs and resources do not', () => {
    const summaries = ['/api/tokens', '/api/tokens/current', '/users'].map(
      (path) => (document.paths[path]?.post ?? document.paths[path]?.delete)?.summary,
    )
    expect(summaries).to.deep.equal(['Sign in, or refresh the tokens', 'Sign out', 'Create users'])
  })

  it('leads nowhere outside of itself: every reference has its part, whatever a schema refers to', async () => {
    const tree = {
      ...NOTES,
      properties: {
        ...NOTES.properties,
        tree: { $ref: '#/$defs/node' },
        again: { $ref: '#/properties/title' },
        odd: { type: 'object', properties: { default: { $ref: '#/$defs/node' }, $ref: { type: 'string' } } },
        constant: { const: { $ref: '#/nowhere' } },
      },
      $defs: {
        ...NOTES.$defs,
        node: { type: 'object', properties: { children: { type: 'array', items: { $ref: '#/$defs/node' } } } },
      },
    }
    const made = await wholeDocument(shipped({ 'schemas/notes.json': json(tree) }))
    expect(danglingOf(made)).to.deep.equal([])
    expect(made.components.schemas.NoteNode.properties.children.items.$ref).to.equal('#/components/schemas/NoteNode')
    expect(danglingOf({ schemas: { a: { items: { $ref: '#/nowhere' } } } })).to.have.length(1)
  })

  it('names operations one by one, also where paths differ in punctuation alone', async () => {
    const routes = ['/a-b', '/a/b', '/a.b'].map((path) => ({ path, methods: ['GET'] }))
    const made = await wholeDocument(shipped({ 'schemas/notes.json': json({ ...NOTES, 'x-resource': { routes } }) }))
    const ids = Object.values<object>(made.paths).flatMap((item) =>
      Object.values<Document>(item).map((one) => one.operationId),
    )
    expect(ids).to.include.members(['getAB', 'getAB_2', 'getAB_3'])
    expect(new Set(ids).size).to.equal(ids.length)
  })
})

/** References whose part isn't there; constants hold none. */
function danglingOf(document: Document): readonly string[] {
  const references: string[] = []
  const visit = (value: unknown) => {
    if (typeof value !== 'object' || value === null) return
    for (const [key, inner] of Object.entries(value)) {
      if (key === 'const') continue
      if (key === '$ref' && typeof inner === 'string') references.push(inner)
      else visit(inner)
    }
  }
  visit(document)
  const found = (reference: string) =>
    reference
      .split('/')
      .slice(1)
      .reduce<Document>((part, key) => part?.[key], document)
  return references.filter((reference) => found(reference) === undefined)
}
