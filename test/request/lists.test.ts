/** Collections: pages by keyset, in the order of ids, with cursors that only this list and this caller can use. */
import { expect } from 'chai'
import { startTestServer, type TestServer } from '../server.ts'
import { type Callers, tokensOf } from './callers.ts'

const COUNT = 23

describe('a list', () => {
  let server: TestServer
  let callers: Callers

  before(async () => {
    server = await startTestServer()
    callers = await tokensOf(server)
    for (let i = 0; i < COUNT; i++) {
      const body = { title: `alice ${i}` }
      expect((await server.ask('POST', '/api/v1/notes', { token: callers.alice, body })).status).to.equal(201)
      if (i % 2 === 0) await server.ask('POST', '/api/v1/notes', { token: callers.bob, body: { title: `bob ${i}` } })
    }
  })
  after(() => server.stop())

  it('is { items, next }, with Link rel="next" while there is more', async () => {
    const { body, headers } = await server.ask('GET', '/api/v1/notes?limit=5', { token: callers.alice })
    expect(body).to.have.all.keys('items', 'next')
    expect(body.items).to.have.length(5)
    expect(headers.get('link')).to.equal(`</api/v1/notes?limit=5&cursor=${body.next}>; rel="next"`)
    const all = await server.ask('GET', '/api/v1/notes', { token: callers.alice })
    expect([all.body.items.length, all.body.next, all.headers.has('link')]).to.deep.equal([COUNT, null, false])
  })

  it('pages hold every object once, whatever their size', async () => {
    const all = await server.ask('GET', '/api/v1/notes?limit=200', { token: callers.alice })
    for (const limit of [1, 2, 7, COUNT - 1, COUNT, COUNT + 1]) {
      const found = await walk(`/api/v1/notes?limit=${limit}`, callers.alice)
      expect(found, String(limit)).to.deep.equal(all.body.items)
    }
  })

  it('a page neither repeats nor skips an object while others are written and deleted', async () => {
    const before = await walk('/api/v1/notes?limit=200', callers.alice)
    const seen: unknown[] = []
    const extra: string[] = []
    for (let path: string | undefined = '/api/v1/notes?limit=3'; path !== undefined; ) {
      const page = await server.ask('GET', path, { token: callers.alice })
      seen.push(...page.body.items.map(({ id }: { id: string }) => id))
      path = nextOf(page.headers)
      const { body } = await server.ask('POST', '/api/v1/notes', { token: callers.alice, body: { title: 'new' } })
      extra.push(body.id)
      const gone = extra.length % 2 === 0 ? extra.shift() : undefined
      if (gone !== undefined) await server.ask('DELETE', `/api/v1/notes/${gone}`, { token: callers.alice })
      if (extra.length > 20) break
    }
    for (const id of extra) await server.ask('DELETE', `/api/v1/notes/${id}`, { token: callers.alice })
    expect(new Set(seen).size).to.equal(seen.length)
    expect(seen).to.include.members(before.map(({ id }) => id))
  })

  it('is 50 long unless limit says otherwise, and at most 200', async () => {
    for (const [limit, status] of [
      ['1', 200],
      ['200', 200],
      ['201', 400],
      ['0', 400],
      ['-1', 400],
      ['1.5', 400],
      ['1e2', 400],
      ['0x10', 400],
      ['', 400],
      ['%20', 400],
      ['05', 400],
      ['99999999999999999999', 400],
      ['ten', 400],
    ] as const) {
      const answer = await server.ask('GET', `/api/v1/notes?limit=${limit}`, { token: callers.alice })
      expect(answer.status, limit).to.equal(status)
      if (status === 400) expect(answer.body.code).to.equal('invalid-query')
    }
  })

  it('a cursor that was changed, is of another list, or of another caller, is 400', async () => {
    const { body } = await server.ask('GET', '/api/v1/notes?limit=2', { token: callers.alice })
    const { next } = body
    const flipped = `${next[0] === 'A' ? 'B' : 'A'}${next.slice(1)}`
    for (const [cursor, path, token] of [
      [flipped, '/api/v1/notes', callers.alice],
      [next.slice(0, -1), '/api/v1/notes', callers.alice],
      [`${next}=`, '/api/v1/notes', callers.alice],
      [`${next}AAAA`, '/api/v1/notes', callers.alice],
      ['', '/api/v1/notes', callers.alice],
      ['x', '/api/v1/notes', callers.alice],
      ['%00', '/api/v1/notes', callers.alice],
      [Buffer.from(body.items[0].id).toString('base64url'), '/api/v1/notes', callers.alice],
      [next, '/api/orders', callers.alice],
      [next, '/api/v1/notes', callers.bob],
      [next, '/api/v1/notes', callers.ada],
    ] as const) {
      const { status, body: problem } = await server.ask('GET', `${path}?cursor=${cursor}`, { token })
      expect([status, problem.code], `${cursor} ${path}`).to.deep.equal([400, 'invalid-query'])
    }
    const { status } = await server.ask('GET', `/api/v1/notes?cursor=${next}`, { token: callers.alice })
    expect(status).to.equal(200)
  })

  it('a cursor survives a new token of the same caller, and tells nothing', async () => {
    const { body } = await server.ask('GET', '/api/v1/notes?limit=2', { token: callers.alice })
    const again = await server.token('alice', 'member')
    const { status, body: second } = await server.ask('GET', `/api/v1/notes?limit=2&cursor=${body.next}`, {
      token: again,
    })
    expect([status, second.items.length]).to.deep.equal([200, 2])
    expect(Buffer.from(body.next, 'base64url').toString('latin1')).not.to.contain(body.items[1].id)
  })

  it('a parameter that is unknown, repeated, or badly encoded is 400 on every route', async () => {
    for (const query of [
      'x=1',
      'Limit=1',
      'limit=1&limit=1',
      'limit=1&limit=2',
      'limit=1&lim%69t=2',
      'limit[]=1',
      'limit=1&',
      '&',
      '=',
      '__proto__=1',
      '__proto__[limit]=1',
      'constructor=1',
      'limit=%zz',
      'limit=%ff',
      '%=1',
      'title=alice',
      'sort=title',
    ]) {
      const { status, body } = await server.ask('GET', `/api/v1/notes?${query}`, { token: callers.alice })
      expect([status, body.code], query).to.deep.equal([400, 'invalid-query'])
    }
    for (const path of ['/livez?limit=1', '/profile/alice?x=1', '/readyz?verbose']) {
      const { status } = await server.ask('GET', path, { token: callers.ada })
      expect(status, path).to.be.oneOf([400, 404])
    }
    expect((await server.ask('GET', '/api/v1/notes?', { token: callers.alice })).status).to.equal(200)
  })

  async function walk(first: string, token: string): Promise<readonly { id: string }[]> {
    const found: { id: string }[] = []
    for (let path: string | undefined = first; path !== undefined; ) {
      const page = await server.ask('GET', path, { token })
      expect(page.status).to.equal(200)
      found.push(...page.body.items)
      path = nextOf(page.headers)
    }
    return found
  }
})

function nextOf(headers: Headers): string | undefined {
  return /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1]
}
