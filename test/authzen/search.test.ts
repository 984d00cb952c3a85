/** Other services search: the forms, pages and bounds of docs/authzen.md. test/authzen/search-random.test.ts compares. */
import { expect } from 'chai'
import { type Answer, startTestServer, type TestServer } from '../server.ts'

type Kind = 'subject' | 'resource' | 'action'

const ALICE = { type: 'user', id: 'alice' }
const READ = { name: 'read' }
const NOTES = { type: 'notes' }

describe('a search of another service', () => {
  let server: TestServer
  let shop: string
  let note: { type: string; id: string }

  before(async () => {
    server = await startTestServer({ demo: true })
    shop = await server.token('shop', 'pdp-client')
    const { body } = await server.ask('GET', '/api/v1/notes', { token: await server.token('alice', 'member') })
    note = { type: 'notes', id: body.items[0].id }
  })
  after(() => server.stop())

  const search = (kind: Kind, body: unknown, token = shop): Promise<Answer> =>
    server.ask('POST', `/access/v1/search/${kind}`, { token, body })

  const found = async (kind: Kind, body: object) => {
    const answer = await search(kind, body)
    expect(answer.status, answer.text).to.equal(200)
    return answer.body.results
  }

  const lastRecord = async () =>
    (await server.lastDecision({ action: 'search' })) as { readonly searched: Record<string, unknown> }

  it('for subjects finds the people of the directory who may, and nobody else', async () => {
    const people = await found('subject', { subject: { type: 'user' }, action: READ, resource: note })
    expect(people.map(({ id }: { id: string }) => id).toSorted()).to.deep.equal(['ada', 'alice', 'audrey'])
    expect(people[0]).to.have.all.keys('type', 'id')
    expect(await found('subject', { subject: { type: 'robot' }, action: READ, resource: note })).to.deep.equal([])
  })

  it('for resources decides only about objects that meet the condition of the policy', async () => {
    const notes = await found('resource', { subject: ALICE, action: READ, resource: NOTES })
    expect(notes).to.deep.include(note)
    expect((await lastRecord()).searched).to.deep.include({
      for: 'resource',
      subject: 'alice',
      resource: 'notes',
      action: 'read',
      candidates: notes.length,
      found: notes.map(({ id }: { id: string }) => id),
    })
    const all = await found('resource', { subject: { type: 'user', id: 'ada' }, action: READ, resource: NOTES })
    expect(all.length).to.be.greaterThan(notes.length)
  })

  it('for resources with a body finds what a change may begin with, whatever the body makes of it', async () => {
    const sam = { type: 'user', id: 'sam' }
    const orders = (await server.ask('GET', '/api/orders?limit=50', { token: await server.token('sam', 'support') }))
      .body.items as { id: string; status: string }[]
    const placed = orders.flatMap(({ id, status }) => (status === 'placed' ? [{ type: 'orders', id }] : []))
    expect(placed).not.to.deep.equal([])
    const ship = { name: 'update', properties: { body: { status: 'shipped' } } }
    const shipped = await found('resource', { subject: sam, action: ship, resource: { type: 'orders' } })
    expect(shipped).to.have.deep.members(placed)
  })

  it('for actions finds what may be done with the object, of all that its routes do', async () => {
    const actions = await found('action', { subject: ALICE, resource: note })
    const names = ['delete', 'list', 'read', 'replace', 'update']
    expect(actions).to.deep.equal(names.map((name) => ({ name })))
    const audrey = { type: 'user', id: 'audrey' }
    expect(await found('action', { subject: audrey, resource: note })).to.deep.equal([{ name: 'list' }, READ])
  })

  it('finds nothing for an unknown id or type', async () => {
    const nobody = { type: 'user', id: 'nobody' }
    const none = { type: 'notes', id: 'none' }
    const plane = { type: 'planes', id: '1' }
    const searches: readonly (readonly [Kind, object])[] = [
      ['subject', { subject: { type: 'user' }, action: READ, resource: none }],
      ['subject', { subject: { type: 'user' }, action: READ, resource: plane }],
      ['subject', { subject: { type: 'user' }, action: { name: 'fly' }, resource: note }],
      ['resource', { subject: nobody, action: READ, resource: NOTES }],
      ['resource', { subject: { type: 'robot', id: 'alice' }, action: READ, resource: NOTES }],
      ['resource', { subject: ALICE, action: READ, resource: { type: 'planes' } }],
      ['resource', { subject: ALICE, action: READ, resource: { type: 'system/access' } }],
      ['resource', { subject: ALICE, action: { name: 'create' }, resource: NOTES }],
      ['action', { subject: nobody, resource: note }],
      ['action', { subject: ALICE, resource: none }],
      ['action', { subject: ALICE, resource: plane }],
    ]
    for (const [kind, body] of searches) expect(await found(kind, body), JSON.stringify(body)).to.deep.equal([])
  })

  it('ignores the id and the action that it searches for, whatever they are', async () => {
    const all = await found('resource', { subject: ALICE, action: READ, resource: NOTES })
    for (const id of ['x', 7, null, {}]) {
      const body = { subject: ALICE, action: READ, resource: { ...NOTES, id } }
      expect(await found('resource', body)).to.deep.equal(all)
    }
    expect(await found('action', { subject: ALICE, resource: note, action: 7 })).to.have.length(5)
  })

  it('is 400 with the member at fault', async () => {
    const faulty: readonly (readonly [Kind, unknown, string])[] = [
      ['subject', { subject: {}, action: READ, resource: note }, '/subject/type'],
      ['subject', { action: READ, resource: note }, '/subject'],
      ['subject', { subject: { type: 'user' }, resource: note }, '/action'],
      ['subject', { subject: { type: 'user' }, action: READ, resource: { type: 'notes' } }, '/resource/id'],
      ['resource', { subject: { type: 'user' }, action: READ, resource: NOTES }, '/subject/id'],
      ['resource', { subject: ALICE, action: { name: 7 }, resource: NOTES }, '/action/name'],
      ['resource', { subject: 'alice', action: READ, resource: NOTES }, '/subject'],
      ['action', { subject: ALICE }, '/resource'],
      ['action', { subject: ALICE, resource: note, page: 1 }, '/page'],
      ['action', { subject: ALICE, resource: note, page: { limit: -1 } }, '/page/limit'],
      ['action', { subject: ALICE, resource: note, page: { limit: '1' } }, '/page/limit'],
      ['action', { subject: ALICE, resource: note, page: { token: 1 } }, '/page/token'],
      ['action', { subject: ALICE, resource: note, page: { token: 'AAAA' } }, '/page/token'],
    ]
    for (const [kind, body, pointer] of faulty) {
      const answer = await search(kind, body)
      expect([answer.status, answer.body.code], JSON.stringify(body)).to.deep.equal([400, 'invalid-body'])
      expect(answer.body.errors.map((one: { pointer: string }) => one.pointer)).to.include(pointer)
    }
    for (const body of ['', '[]', 'null', '{']) expect((await search('action', body)).status, body).to.equal(400)
  })

  describe('in pages', () => {
    const query = { subject: ALICE, resource: {} as object }
    const page = async (more: object, token = shop) => search('action', { ...query, ...more }, token)
    before(() => {
      query.resource = note
    })

    it('goes on with the token alone, which carries the limit, until it is empty', async () => {
      const sizes: number[] = []
      const names: string[] = []
      let token = ''
      do {
        const { body } = await page({ page: token === '' ? { limit: 2 } : { token } })
        expect(Object.keys(body)[0]).to.equal('page')
        names.push(...body.results.map(({ name }: { name: string }) => name))
        sizes.push(body.results.length)
        token = body.page.next_token
      } while (token !== '')
      expect([sizes, names]).to.deep.equal([
        [2, 2, 1],
        ['delete', 'list', 'read', 'replace', 'update'],
      ])
      expect((await page({ page: { limit: 5 } })).body.page.next_token).to.equal('')
    })

    it('accepts the same limit again, and refuses another one', async () => {
      const token = (await page({ page: { limit: 2 } })).body.page.next_token
      expect((await page({ page: { limit: 2, token } })).body.results).to.have.length(2)
      const other = await page({ page: { limit: 3, token } })
      expect([other.status, other.body.errors[0].pointer]).to.deep.equal([400, '/page/limit'])
    })

    it('has tokens of one query and one service, which nobody can read or change', async () => {
      const { next_token: token } = (await page({ page: { limit: 1 } })).body.page
      expect(token).to.not.include('delete')
      expect((await page({ page: { token } })).status).to.equal(200)
      const changed = `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`
      expect((await page({ page: { token: changed } })).status).to.equal(400)
      expect((await page({ page: { token }, context: { more: 1 } })).status).to.equal(400)
      expect((await page({ page: { token } }, await server.token('other', 'pdp-client'))).status).to.equal(400)
      expect((await page({ page: { token } }, await server.token('shop', 'pdp-client'))).status).to.equal(200)
      expect((await search('resource', { ...query, action: READ, page: { token } })).status).to.equal(400)
    })

    it('gives nothing for the limit 0, and goes on from there', async () => {
      const { results, page: none } = (await page({ page: { limit: 0 } })).body
      expect(results).to.deep.equal([])
      expect((await page({ page: { token: none.next_token } })).body.results).to.have.length(5)
    })

    it('gives at most what limits.yaml allows a page', async () => {
      const { status, body } = await page({ page: { limit: 1_000_000 } })
      expect([status, body.results.length]).to.deep.equal([200, 5])
    })
  })

  it('bounds the work of a page: it may find less than its limit, and goes on', async () => {
    const people = Array.from({ length: 1100 }, (_, i) => `zz${String(i).padStart(4, '0')}`)
    await server.app.seeding.insert(
      'users',
      people.map((id) => ({ id, document: { email: `${id}@example.com`, displayName: id, roles: ['member'] } })),
    )
    const last = people.at(-1) ?? ''
    const query = { subject: { type: 'user' }, action: READ, resource: { type: 'users', id: last } }
    const first = await search('subject', query)
    expect(first.body.results.map(({ id }: { id: string }) => id)).to.not.include(last)
    expect((await lastRecord()).searched.candidates).to.equal(1000)
    const second = await search('subject', { ...query, page: { token: first.body.page.next_token } })
    expect(second.body).to.deep.include({
      page: { next_token: '' },
      results: [{ type: 'user', id: last }],
    })
  })

  it('is told where it is asked, and is for services that the policy grants it', async () => {
    const { body } = await server.ask('GET', '/.well-known/authzen-configuration')
    for (const kind of ['subject', 'resource', 'action']) {
      expect(body[`search_${kind}_endpoint`]).to.equal(`${server.url}/access/v1/search/${kind}`)
    }
    const query = { subject: ALICE, resource: note }
    expect((await search('action', query, await server.token('alice', 'member'))).status).to.equal(403)
    expect((await server.ask('POST', '/access/v1/search/action', { body: query })).status).to.equal(401)
  })
})
