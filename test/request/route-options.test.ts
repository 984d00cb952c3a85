/** What a route's `view` and `action` narrow, and what they don't; and whose an object is that belongs to several. */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { withRules } from '../policy-text.ts'
import { startTestServer, type TestServer } from '../server.ts'

const SHIPPED = (name: string) => readFileSync(new URL(`../../policies/${name}`, import.meta.url), 'utf8')
const TIME = { type: 'string', format: 'date-time', readOnly: true }

const PAPERS = {
  type: 'object',
  'x-resource': {
    routes: [
      { path: '/papers', methods: ['GET', 'POST'] },
      { path: '/papers/{id}', methods: ['GET', 'PUT', 'PATCH'] },
      { path: '/briefs', methods: ['GET'], view: 'brief' },
      { path: '/briefs/{id}', methods: ['GET', 'PATCH'], view: 'brief' },
      { path: '/archive/{id}', methods: ['GET', 'PATCH'], action: 'archive' },
    ],
  },
  properties: {
    id: { type: 'string', format: 'uuid', readOnly: true },
    createdAt: TIME,
    updatedAt: TIME,
    authors: { type: 'array', items: { type: 'string' } },
    title: { type: 'string' },
    secret: { type: 'string', 'x-index': true },
  },
  additionalProperties: false,
}

const FILES = {
  'schemas/papers.json': JSON.stringify(PAPERS),
  'policies/views.yaml': `${SHIPPED('views.yaml')}\npapers:\n  brief: [title]\n  hidden: [secret]\n`,
  'policies/ownership.yaml': `${SHIPPED('ownership.yaml')}\npapers:\n  relations:\n    owner: authors\n`,
  'policies/policy.csv': withRules(
    SHIPPED('policy.csv'),
    `p, member,    papers, list|read|create|replace|update, owner, *,      allow
p, user:eve, papers, list|read,                       any,   hidden, allow
p, user:arc, papers, archive,                         any,   brief,  allow`,
  ),
}

describe('a route', () => {
  let server: TestServer
  const tokens = new Map<string, string>()
  /** A paper of alice's and bob's, with an id of its own. */
  let paper: string

  before(async () => {
    server = await startTestServer({ files: FILES })
    for (const name of ['alice', 'bob']) tokens.set(name, await server.token(name, 'member'))
    for (const name of ['eve', 'arc']) tokens.set(name, await server.token(name))
  })
  beforeEach(async () => {
    paper = randomUUID()
    const document = { authors: ['alice', 'bob'], title: 't', secret: 's' }
    await server.app.seeding.insert('papers', [{ id: paper, document }])
  })
  after(() => server.stop())

  async function ask(name: string, method: string, path: string, body?: unknown): Promise<readonly unknown[]> {
    const answer = await server.ask(method, path, { token: tokens.get(name), body })
    return [answer.status, answer.body?.code ?? answer.body]
  }

  it('with a view is passed at role level whatever the view, and shows no object of which it would show nothing', async () => {
    expect(await ask('eve', 'GET', `/papers/${paper}`)).to.deep.equal([200, { secret: 's' }])
    expect(await ask('eve', 'GET', `/briefs/${randomUUID()}`)).to.deep.equal([404, 'object-not-found'])
    expect(await ask('eve', 'GET', `/briefs/${paper}`)).to.deep.equal([403, 'forbidden'])
  })

  it('with a view lists the objects that are granted, cut to the view, and is queried by what it shows', async () => {
    const [status, list] = await ask('eve', 'GET', '/briefs')
    expect([status, (list as { items: unknown[] }).items], 'no object of which the view shows something').to.deep.equal(
      [200, []],
    )
    const [, own] = await ask('alice', 'GET', '/briefs')
    expect((own as { items: unknown[] }).items).to.deep.include({ title: 't' })
    expect((await ask('eve', 'GET', '/papers?secret=s'))[0]).to.equal(200)
    expect(await ask('eve', 'GET', '/briefs?secret=s')).to.deep.equal([400, 'invalid-query'])
  })

  it('with a view takes what the caller may write, and shows of it what the view has', async () => {
    const written = await ask('alice', 'PATCH', `/briefs/${paper}`, { secret: 'n' })
    expect(written).to.deep.equal([200, { title: 't' }])
    expect((await server.app.store.get('papers', paper))?.document.secret).to.equal('n')
  })

  it('with an action of its own shows and takes the fields that rules grant for this action', async () => {
    expect(await ask('arc', 'GET', `/archive/${paper}`)).to.deep.equal([200, { title: 't' }])
    expect(await ask('arc', 'PATCH', `/archive/${paper}`, { title: 'n' })).to.deep.equal([204, undefined])
    expect(await ask('arc', 'PATCH', `/archive/${paper}`, { secret: 'n' })).to.deep.equal([403, 'field-forbidden'])
    expect(await ask('alice', 'GET', `/archive/${paper}`)).to.deep.equal([403, 'forbidden'])
  })

  it('of objects with several owners lets each remove the others, but not themselves', async () => {
    const alone = { authors: ['bob'] }
    expect(await ask('alice', 'PATCH', `/papers/${paper}`, alone)).to.deep.equal([403, 'forbidden'])
    expect((await ask('bob', 'PATCH', `/papers/${paper}`, alone))[0]).to.equal(200)
    expect(await ask('alice', 'GET', `/papers/${paper}`)).to.deep.equal([403, 'forbidden'])
  })
})
