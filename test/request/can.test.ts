/** docs/http.md, "What the caller can do": `?can=true` on items and lists. test/request/can-random.test.ts compares it. */
import { expect } from 'chai'
import { startTestServer, type TestServer } from '../server.ts'
import { type Callers, firstOf, tokensOf } from './callers.ts'

const NOTES = '/api/v1/notes'

const OWN_NOTE = { actions: ['read', 'replace', 'update', 'delete'], fields: ['ownerId', 'title', 'body', 'tags'] }

describe('an answer with `?can=true`', () => {
  let server: TestServer
  let callers: Callers
  let note: string

  before(async () => {
    server = await startTestServer({ demo: true })
    callers = await tokensOf(server)
    note = `${NOTES}/${(await firstOf(server, NOTES, callers.alice)).id}`
  })
  after(() => server.stop())

  const get = (path: string, token: string | undefined, headers: Record<string, string> = {}) =>
    server.ask('GET', path, { token, headers })

  it('tells of an item which actions the caller may do, and which fields the caller may write', async () => {
    const { status, body } = await get(`${note}?can=true`, callers.alice)
    expect([status, body.can]).to.deep.equal([200, OWN_NOTE])
    expect((await get(`${note}?can=true`, callers.ada)).body.can).to.deep.equal({ actions: ['read'], fields: [] })
    expect((await get(note, callers.alice)).body).to.not.have.property('can')
  })

  it('tells it of each object of a list, and of the list itself what needs no object', async () => {
    const { body } = await get(`/api/orders?can=true&status[in]=draft,placed`, callers.alice)
    const draft = body.items.find((one: { status: string }) => one.status === 'draft')
    const placed = body.items.find((one: { status: string }) => one.status === 'placed')
    expect(draft.can.actions).to.deep.equal(['read', 'replace', 'update', 'delete', 'place'])
    expect(placed.can).to.deep.equal({ actions: ['read'], fields: [] })
    expect(body.can.actions).to.deep.equal(['list', 'create'])
    expect((await get(`/api/orders?can=true`, callers.audrey)).body.can).to.deep.equal({
      actions: ['list'],
      fields: [],
    })
    const plain = await get('/api/orders', callers.alice)
    expect(plain.body).to.not.have.property('can')
    expect(plain.body.items[0]).to.not.have.property('can')
  })

  it('names actions of a schema, and tells of paths with a view and of the own record the same', async () => {
    const { body } = await get('/profile?can=true', callers.alice)
    expect(body.can).to.deep.equal({ actions: ['read', 'update', 'profile'], fields: ['email', 'displayName', 'bio'] })
    expect((await get('/users/alice?can=true', callers.alice)).body.can).to.deep.equal(body.can)
    expect((await get('/profile/alice?can=true', callers.bob)).body.can).to.deep.equal({
      actions: ['profile'],
      fields: [],
    })
    expect((await get('/profile/alice?can=true', undefined)).body.can.actions).to.deep.equal(['profile'])
  })

  it('stands beside the fields that `fields` selects, and is no field', async () => {
    const { body } = await get(`${NOTES}?can=true&fields=title&limit=1`, callers.alice)
    expect(Object.keys(body.items[0])).to.deep.equal(['title', 'can'])
    expect((await get(`${NOTES}?fields=can`, callers.alice)).body.code).to.equal('invalid-query')
    expect((await get(`${NOTES}?sort=can`, callers.alice)).body.code).to.equal('invalid-query')
  })

  it('goes on from page to page: the link repeats it, and a cursor fits with it and without', async () => {
    const first = await get(`${NOTES}?can=true&limit=1`, callers.alice)
    const next = /<([^>]+)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1] ?? ''
    expect((await get(next, callers.alice)).body.items[0].can).to.deep.equal(OWN_NOTE)
    const { status, body } = await get(`${NOTES}?limit=1&cursor=${first.body.next}`, callers.alice)
    expect([status, body.items[0].can]).to.deep.equal([200, undefined])
  })

  for (const query of [
    'can=false',
    'can=',
    'can',
    'can=TRUE',
    'can=true&can=true',
    'can=true&more=1',
    'can[in]=true',
  ]) {
    it(`is 400 for ?${query}`, async () => {
      for (const path of [note, NOTES]) {
        const { status, body } = await get(`${path}?${query}`, callers.alice)
        expect([status, body.code], path).to.deep.equal([400, 'invalid-query'])
      }
    })
  }

  it('is for reading: other methods have no such parameter', async () => {
    for (const [method, path] of [
      ['POST', NOTES],
      ['PUT', note],
      ['PATCH', note],
      ['DELETE', note],
    ] as const) {
      const body = method === 'DELETE' ? {} : { body: { title: 'x' } }
      const answer = await server.ask(method, `${path}?can=true`, { token: callers.alice, ...body })
      expect([answer.status, answer.body.code], method).to.deep.equal([400, 'invalid-query'])
    }
    expect((await get('/livez?can=true', undefined)).status).to.equal(400)
  })

  it('has the headers of GET for HEAD', async () => {
    const [got, head] = [
      await get(`${note}?can=true`, callers.alice),
      await server.ask('HEAD', `${note}?can=true`, { token: callers.alice }),
    ]
    expect(head.headers.get('etag')).to.equal(got.headers.get('etag'))
    expect(head.headers.get('content-length')).to.equal(got.headers.get('content-length'))
    expect(head.text).to.equal('')
  })

  it('has a tag of its own: neither answer passes for the other one', async () => {
    const [plain, can] = [await get(note, callers.alice), await get(`${note}?can=true`, callers.alice)]
    const [tag, tagOfCan] = [plain, can].map(({ headers }) => headers.get('etag') ?? '') as [string, string]
    expect(tag).to.not.equal(tagOfCan)
    const statusOf = async (path: string, known: string) =>
      (await get(path, callers.alice, { 'If-None-Match': known })).status
    expect(await statusOf(`${note}?can=true`, tagOfCan)).to.equal(304)
    expect(await statusOf(`${note}?can=true`, tag)).to.equal(200)
    expect(await statusOf(note, tagOfCan)).to.equal(200)
    expect(await statusOf(note, tag)).to.equal(304)
  })

  it('has a tag that protects a write like any other', async () => {
    const made = await server.ask('POST', NOTES, { token: callers.alice, body: { title: 'a' } })
    const path = made.headers.get('location') ?? ''
    const tag = (await get(`${path}?can=true`, callers.alice)).headers.get('etag') ?? ''
    const write = (title: string) =>
      server.ask('PATCH', path, { token: callers.alice, body: { title }, headers: { 'If-Match': tag } })
    expect((await write('b')).status).to.equal(200)
    expect((await write('c')).status).to.equal(412)
  })

  it('leaves one decision record as ever, with a mark', async () => {
    // Records of writes come later than those of the reads behind them.
    const lastGet = async () => (await server.decisions()).findLast(({ method }) => method === 'GET')
    await get(`${note}?can=true`, callers.alice)
    const marked = await lastGet()
    await get(note, callers.alice)
    const plain = await lastGet()
    expect(marked?.can).to.equal(true)
    expect(plain).to.not.have.property('can')
    const same = ['action', 'objectId', 'relations', 'rules', 'facts', 'outcome']
    for (const name of same) expect(marked?.[name], name).to.deep.equal(plain?.[name])
  })
})

const TASKS = {
  type: 'object',
  'x-resource': {
    routes: [
      { path: '/tasks', methods: ['GET', 'POST'] },
      { path: '/tasks/{id}', methods: ['GET', 'PATCH', 'DELETE'] },
    ],
  },
  properties: {
    id: { type: 'string', readOnly: true },
    createdAt: { type: 'string', readOnly: true },
    updatedAt: { type: 'string', readOnly: true },
    team: { type: 'string' },
    project: { type: 'string' },
    title: { type: 'string' },
  },
  additionalProperties: false,
}

describe('what `?can=true` rests on', () => {
  let server: TestServer
  let [alice, ada] = ['', '']

  before(async () => {
    server = await startTestServer({
      demo: true,
      files: {
        'schemas/tasks.json': JSON.stringify(TASKS),
        'policies/ownership.yaml': `
tasks:
  relations:
    team: { field: team, equals: subject.department }
    project: { through: project, to: notes, relation: owner }
notes: { relations: { owner: ownerId } }
users: { relations: { owner: id } }
`,
        'policies/policy.csv': `p, everyone, *, options, any, *, allow
p, member, notes, *, owner, *, allow
p, member, tasks, list|read, any, *, allow
p, member, tasks, update, team, *, allow
p, member, tasks, delete, project, *, allow
p, admin, *, *, any, *, allow
`,
      },
    })
    ;[alice, ada] = [await server.token('alice', 'member'), await server.token('ada', 'admin')]
    const own = await firstOf(server, NOTES, alice)
    for (let i = 0; i < 50; i++) {
      const body = { team: i % 2 ? 'red' : 'blue', title: `task ${i}`, ...(i % 3 ? {} : { project: own.id }) }
      expect((await server.ask('POST', '/tasks', { token: ada, body })).status).to.equal(201)
    }
  })
  after(() => server.stop())

  it('changes with other objects, and the tag with it, while the object stays as it is', async () => {
    const { id } = await firstOf(server, '/tasks', alice)
    const path = `/tasks/${id}?can=true`
    const joins = (department: string) =>
      server.ask('PATCH', '/users/alice', { token: ada, body: { department } }).then(({ status }) => status)
    expect(await joins('red')).to.equal(200)
    const one = await server.ask('GET', path, { token: alice })
    expect(await joins('blue')).to.equal(200)
    const tag = one.headers.get('etag') ?? ''
    const other = await server.ask('GET', path, { token: alice, headers: { 'If-None-Match': tag } })
    expect([one.body.can.actions, other.body.can.actions]).to.deep.equal([
      ['read', 'delete'],
      ['read', 'update', 'delete'],
    ])
    expect(other.headers.get('etag')).to.not.equal(tag)
    expect(other.body.updatedAt).to.equal(one.body.updatedAt)
  })

  it('asks the store no question about single objects of a list', async () => {
    const asked: string[] = []
    const { store } = server.app
    const { lookup, get } = store
    store.lookup = (question) => {
      asked.push(`lookup ${question.resource}`)
      return lookup.call(store, question)
    }
    store.get = (resource, id) => {
      asked.push(`get ${resource}`)
      return get.call(store, resource, id)
    }
    try {
      const { body } = await server.ask('GET', '/tasks?can=true&limit=50', { token: alice })
      expect(new Set(body.items.map(({ can }: { can: { actions: string[] } }) => can.actions.join())).size).to.equal(4)
      // The caller's attributes: whatever the number of rows.
      expect(asked).to.deep.equal(['get users'])
    } finally {
      Object.assign(store, { lookup, get })
    }
  })
})
