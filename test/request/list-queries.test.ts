/** Lists by query (docs/http.md): filters, orders, fields, counts and cursors, of resources that a schema file declares. */
import { expect } from 'chai'
import { type Answer, startTestServer, type TestServer } from '../server.ts'

const TIME = { type: 'string', format: 'date-time', readOnly: true, 'x-index': true }

/** `team` is shown to leads only, and never of closed tasks; `secret` to nobody who lists. */
const SCHEMA = JSON.stringify({
  type: 'object',
  'x-resource': {
    routes: [
      { path: '/tasks', methods: ['GET', 'POST'] },
      { path: '/tasks/{id}', methods: ['GET', 'PATCH', 'DELETE'] },
      { path: '/boards', methods: ['GET'], view: 'board' },
    ],
  },
  properties: {
    id: { type: 'string', format: 'uuid', readOnly: true },
    createdAt: TIME,
    updatedAt: TIME,
    ownerId: { type: 'string', 'x-index': true },
    title: { type: 'string' },
    state: { enum: ['open', 'closed'], type: 'string', 'x-index': true },
    points: { type: 'integer', 'x-index': true },
    weight: { type: 'number', 'x-index': true },
    urgent: { type: 'boolean', 'x-index': true },
    due: { type: 'string', format: 'date-time', 'x-index': true },
    team: { type: 'string', 'x-index': true },
    secret: { type: 'string', 'x-index': true },
  },
  additionalProperties: false,
})

const POLICY = `p, admin, tasks, *, any, *, allow
p, member, tasks, list|read, any, plain, allow
p, member, tasks, list|read, owner, plain, allow
p, support, tasks, list|read, any, plain, allow
p, support, tasks, list|read, owner, plain|teamed, allow
p, auditor, tasks, list|read, any, *, allow
p, auditor, tasks, list|read, closed, teamed, deny
p, guest, tasks, list|read, any, *, allow
p, guest, tasks, list|read, closed, *, deny
`

const FILES = {
  'schemas/tasks.json': SCHEMA,
  'policies/policy.csv': POLICY,
  'policies/roles.yaml': ['member', 'support', 'auditor', 'guest', 'admin']
    .map((role) => `${role}: { description: Of tests., privileged: true }\n`)
    .join(''),
  'policies/views.yaml': `tasks:
  plain: [id, createdAt, updatedAt, ownerId, title, state, points, weight, urgent, due]
  teamed: [team]
  board: [id, state, title]
users:
  contact: [id]
  public: [id]
  personal: [bio]
orders:
  progress: [status]
accounts:
  balance: [balance]
`,
  'policies/ownership.yaml': `tasks:
  relations:
    owner: ownerId
    closed: { field: state, in: [closed] }
`,
}

describe('a list by query', () => {
  let server: TestServer
  let tokens: Readonly<Record<string, string>>

  before(async () => {
    server = await startTestServer({ files: FILES })
    const roles = ['member', 'support', 'auditor', 'guest', 'admin']
    tokens = Object.fromEntries(await Promise.all(roles.map(async (role) => [role, await server.token('ann', role)])))
    for (let i = 0; i < 24; i++) await create(i)
  })
  after(() => server.stop())

  async function create(i: number): Promise<void> {
    const body = {
      ownerId: i % 4 === 0 ? 'ann' : 'ben',
      title: `task ${i}`,
      state: i % 3 === 0 ? 'closed' : 'open',
      team: i % 2 === 0 ? 'red' : 'blue',
      secret: `s${i}`,
      ...(i % 5 === 0 ? {} : { points: i % 7, weight: i / 4, urgent: i % 2 === 0 }),
      due: `2026-01-${String((i % 10) + 10)}T0${i % 3}:00:00+0${i % 3}:00`,
    }
    expect((await server.ask('POST', '/tasks', { token: tokens.admin, body })).status).to.equal(201)
  }

  const get = (query: string, role = 'admin', path = '/tasks'): Promise<Answer> =>
    server.ask('GET', `${path}?${query}`, { token: tokens[role] })

  async function titles(query: string, role?: string): Promise<readonly number[]> {
    const { status, body } = await get(`${query}&limit=200`, role)
    expect(status, `${query}: ${body?.detail}`).to.equal(200)
    return body.items.map(({ title }: { title: string }) => Number(title.slice(5)))
  }

  const where = (test: (i: number) => boolean) => Array.from({ length: 24 }, (_, i) => i).filter(test)

  it('holds the objects whose fields equal the values, are in them, or lie between them', async () => {
    expect(await titles('state=open')).to.deep.equal(where((i) => i % 3 !== 0))
    expect(await titles('state[in]=open,closed&points[in]=1,2')).to.deep.equal(
      where((i) => i % 5 !== 0 && [1, 2].includes(i % 7)),
    )
    expect(await titles('points[gt]=2&points[lte]=4')).to.deep.equal(
      where((i) => i % 5 !== 0 && i % 7 > 2 && i % 7 <= 4),
    )
    expect(await titles('weight[gte]=2.5&weight[lt]=5')).to.deep.equal(where((i) => i % 5 !== 0 && i >= 10 && i < 20))
    expect(await titles('urgent=true')).to.deep.equal(where((i) => i % 5 !== 0 && i % 2 === 0))
    expect(await titles('team=red&ownerId=ann')).to.deep.equal(where((i) => i % 4 === 0))
    expect(await titles('ownerId=nobody')).to.deep.equal([])
  })

  it('compares times as times, whatever offset stands in the object or in the query', async () => {
    expect(await titles('due=2026-01-12T00:00:00Z')).to.deep.equal(where((i) => i % 10 === 2))
    expect(await titles('due=2026-01-12T05:30:00%2B05:30')).to.deep.equal(where((i) => i % 10 === 2))
    expect(await titles('due[lt]=2026-01-11T00:00:00.001Z')).to.deep.equal(where((i) => i % 10 < 2))
    const { body } = await get('limit=1&sort=-createdAt')
    const { createdAt } = body.items[0]
    expect(await titles(`createdAt[gt]=${createdAt}`)).to.deep.equal([])
    expect((await titles(`createdAt=${createdAt.replace('Z', '000Z')}`)).length).to.be.greaterThan(0)
  })

  it('has an order by any keys, in which a missing value comes first, and last when descending', async () => {
    const rank = (i: number) => (i % 5 === 0 ? -1 : i % 7)
    const all = where(() => true)
    expect(await titles('sort=points')).to.deep.equal(all.toSorted((a, b) => rank(a) - rank(b) || a - b))
    expect(await titles('sort=-points')).to.deep.equal(all.toSorted((a, b) => rank(b) - rank(a) || b - a))
    expect(await titles('sort=-points,id')).to.deep.equal(all.toSorted((a, b) => rank(b) - rank(a) || a - b))
    const byState = (i: number) => (i % 3 === 0 ? 0 : 1)
    expect(await titles('sort=state,-points')).to.deep.equal(
      all.toSorted((a, b) => byState(a) - byState(b) || rank(b) - rank(a) || b - a),
    )
    expect(await titles('sort=-id')).to.deep.equal(all.toReversed())
  })

  for (const query of [
    'sort=points',
    'sort=-points',
    'sort=state,-points',
    'sort=-due&state=open',
    'team[in]=red,blue',
  ]) {
    it(`has pages that together are the whole list: ${query}`, async () => {
      const whole = await titles(query)
      for (const limit of [1, 5, 24]) {
        const seen: number[] = []
        for (let path: string | undefined = `/tasks?${query}&limit=${limit}`; path !== undefined; ) {
          const { body, headers } = await server.ask('GET', path, { token: tokens.admin })
          seen.push(...body.items.map(({ title }: { title: string }) => Number(title.slice(5))))
          path = /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1]
          if (seen.length > 50) break
        }
        expect(seen, String(limit)).to.deep.equal(whole)
      }
    })
  }

  it('keeps the query in Link rel="next", every character of it safe in a URL', async () => {
    const { headers, body } = await get('ownerId[in]=ben,a%20%3E%22b&sort=-due&fields=id&limit=2')
    const link = headers.get('link') ?? ''
    expect(link).to.match(/^<\/tasks\?[A-Za-z0-9%&=._-]+>; rel="next"$/)
    const sent = new URL(link.slice(1, link.indexOf('>')), server.url).searchParams
    expect(Object.fromEntries(sent)).to.deep.equal({
      'ownerId[in]': 'ben,a >"b',
      sort: '-due',
      fields: 'id',
      limit: '2',
      cursor: body.next,
    })
  })

  it('shows only the fields asked for, and never more than are granted', async () => {
    const { body } = await get('fields=id,state&limit=3')
    for (const item of body.items) expect(item).to.have.all.keys('id', 'state')
    expect((await get('fields=secret', 'member')).status).to.equal(400)
    const { body: some } = await get('fields=team', 'support')
    const shown = some.items.filter((item: object) => 'team' in item)
    expect([shown.length, some.items.length]).to.deep.equal([6, 24])
  })

  it('says with count=exact how many objects fit that the caller may list, on every page', async () => {
    const { body } = await get('count=exact&limit=2&state=open')
    expect([body.items.length, body.total]).to.deep.equal([2, 16])
    const { body: second } = await get(`count=exact&limit=3&state=open&cursor=${body.next}`)
    expect([second.items.length, second.total]).to.deep.equal([3, 16])
    expect((await get('count=exact', 'guest')).body.total).to.equal(16)
    expect((await get('limit=1')).body).not.to.have.property('total')
  })

  it('answers alike for a field that is unknown, not indexed, or that the caller may not read in every row', async () => {
    for (const [role, field] of [
      ['member', 'team'],
      ['member', 'secret'],
      ['support', 'team'],
      ['auditor', 'team'],
      ['admin', 'title'],
    ] as const) {
      for (const form of ['X=red', 'X[in]=red', 'X[gt]=red', 'sort=X', 'sort=-X', 'sort=state,X']) {
        const refused = await get(form.replace('X', field), role)
        const unknown = await get(form.replace('X', 'nothing'), role)
        expect([refused.status, refused.body.code], `${role} ${form}`).to.deep.equal([400, 'invalid-query'])
        expect(refused.body.detail.replaceAll(field, 'nothing')).to.equal(unknown.body.detail)
        if (role !== 'admin') expect(unknown.body.detail).not.to.contain('team')
        if (role === 'member' || role === 'support') expect(unknown.body.detail).not.to.contain('secret')
      }
    }
    // The controls: who reads the field in every row may ask by it, and a deny of the whole row leaves nothing to tell.
    expect((await get('team=red&sort=secret', 'admin')).status).to.equal(200)
    expect((await get('team=red', 'guest')).status).to.equal(200)
    expect((await get('state=open&sort=-points', 'member')).status).to.equal(200)
  })

  it('can be queried by the fields of its view alone where the route has one', async () => {
    expect((await get('state=open&sort=-id&fields=id', 'admin', '/boards')).body.items[0]).to.have.all.keys('id')
    for (const query of ['points=1', 'sort=points', 'fields=points']) {
      expect((await get(query, 'admin', '/boards')).status, query).to.equal(400)
    }
  })

  for (const query of [
    'state=opened',
    'state=',
    'state[in]=open,',
    'state[eq]=open',
    'state[]=open',
    'state[gt][lt]=open',
    '[gt]=1',
    'state[gt=open',
    'points=1.5',
    'points=1e2',
    'points=0x1',
    'points=',
    'points=%201',
    'points[gt]=1,2',
    'points=9007199254740992',
    'points[in]=1,99999999999999999999',
    'weight=NaN',
    'weight=Infinity',
    'weight=1e400',
    'weight=.5',
    'urgent=1',
    'urgent=TRUE',
    'urgent[gt]=false',
    'due=2026-01-12',
    'due=tomorrow',
    'due=2026-01-12T00:00:00',
    'due=2026-01-12T05:30:00+05:30',
    'due[gt]=2026-13-12T00:00:00Z',
    'due[gt]=2026-02-30T00:00:00Z',
    'due[gt]=2025-02-29T00:00:00Z',
    'points=1&&sort=id',
    '&',
    'points=1&points=2',
    'points[gt]=1&points%5Bgt%5D=2',
    'sort=',
    'sort=points,',
    'sort=points,points',
    'sort=points,-points',
    'sort=--points',
    'sort=+points',
    'sort=points%20',
    'sort=__proto__',
    'sort=id&sort=points',
    '__proto__[gt]=1',
    'constructor=1',
    'limit[gt]=1',
    'fields=',
    'fields=id,id',
    'fields=nothing',
    'fields=id,',
    'fields=*',
    'count=yes',
    'count=',
    'cursor=',
    'points[gte]=1%00',
  ]) {
    it(`is 400 for ?${query}`, async () => {
      const { status, body } = await get(query)
      expect([status, body.code]).to.deep.equal([400, 'invalid-query'])
    })
  }

  it('has cursors that are bound to filter and sort, and let limit, fields and count change', async () => {
    const { body } = await get('state=open&points[gt]=0&sort=-points&limit=2')
    const at = `&cursor=${body.next}`
    for (const query of [
      'state=closed&points[gt]=0&sort=-points',
      'state=open&points[gt]=1&sort=-points',
      'state=open&points[gte]=0&sort=-points',
      'state=open&sort=-points',
      'state=open&points[gt]=0&sort=points',
      'state=open&points[gt]=0',
    ]) {
      expect((await get(query + at)).body.code, query).to.equal('invalid-query')
    }
    const same = await get(`points[gt]=0&limit=200&fields=title&count=exact&sort=-points&state=open${at}`)
    expect(same.status).to.equal(200)
    expect((await get(`state=open&points[gt]=0&sort=-points${at}`, 'member')).status, 'same person').to.equal(200)
  })

  it('has cursors that end with the right to read what they are sorted by', async () => {
    const { body } = await get('sort=team&limit=2', 'admin')
    const narrowed = await get(`sort=team&limit=2&cursor=${body.next}`, 'member')
    expect([narrowed.status, narrowed.body.code]).to.deep.equal([400, 'invalid-query'])
    expect(narrowed.body.detail).not.to.contain('team')
  })

  it('is HEAD as it is GET', async () => {
    const [got, head] = await Promise.all(
      ['GET', 'HEAD'].map((method) => server.ask(method, '/tasks?sort=-id&count=exact', { token: tokens.admin })),
    )
    expect([head?.status, head?.text]).to.deep.equal([200, ''])
    expect(head?.headers.get('content-length')).to.equal(got?.headers.get('content-length'))
    expect((await server.ask('HEAD', '/tasks?sort=title', { token: tokens.admin })).status).to.equal(400)
  })

  it('leaves the fields that it was asked by in the decision record', async () => {
    const { body } = await get('state=open&points[gt]=1&sort=-points,due')
    expect(body.items).to.have.length.greaterThan(0)
    const record = (await server.lastDecision({ method: 'GET' })) as { facts: { queried: readonly string[] } }
    expect(record.facts.queried).to.deep.equal(['state', 'points', 'due'])
  })

  it('goes on after a value that is too long for a URL, as long as its object is there', async () => {
    const owner = 'z'.repeat(50_000)
    const ids: string[] = []
    for (let i = 0; i < 3; i++) {
      const { body } = await server.ask('POST', '/tasks', {
        token: tokens.admin,
        body: { ownerId: owner, state: 'open' },
      })
      ids.push(body.id)
    }
    const first = await get('sort=-ownerId&limit=1')
    expect(first.body.next.length).to.be.lessThan(2500)
    const second = await get(`sort=-ownerId&limit=1&cursor=${first.body.next}`)
    expect([first, second].map(({ body }) => body.items[0].id)).to.deep.equal([ids[2], ids[1]])
    await server.ask('DELETE', `/tasks/${ids[2]}`, { token: tokens.admin })
    expect((await get(`sort=-ownerId&limit=1&cursor=${first.body.next}`)).body.code).to.equal('invalid-query')
    for (const id of ids.slice(0, 2)) await server.ask('DELETE', `/tasks/${id}`, { token: tokens.admin })
  })
})
