/** docs/http.md, "Conditional requests": no write over a state that the client hasn't seen. */
import { expect } from 'chai'
import { addRules } from '../policy-text.ts'
import { type Answer, startTestServer, type TestServer } from '../server.ts'
import { type Callers, tokensOf } from './callers.ts'
import { startWithThings } from './things.ts'
import { until } from './until.ts'

const WRITES = ['PUT', 'PATCH', 'DELETE'] as const
const REQUIRED = {
  path: '/guarded/{id}',
  methods: ['GET', 'PUT', 'PATCH', 'DELETE'],
  precondition: 'required' as const,
}

describe('If-Match on PUT, PATCH and DELETE', () => {
  let server: TestServer
  let token: string

  before(async () => {
    server = await startWithThings([REQUIRED])
    token = await server.token('ada', 'admin')
  })
  after(() => server.stop())

  it('that fits lets the write through: the tag itself, in a list, or *', async () => {
    for (const method of WRITES) {
      for (const sent of [(tag: string) => tag, (tag: string) => `"x" , ${tag}`, () => '*']) {
        const { path, tag } = await make()
        const answer = await write(method, path, { 'if-match': sent(tag) })
        expect(answer.status, method).to.equal(method === 'DELETE' ? 204 : 200)
      }
    }
  })

  it('that does not fit is 412 and nothing is written', async () => {
    const other = await make()
    const { path, tag } = await make()
    const stale = tag
    const { headers } = await server.ask('PATCH', path, { token, body: { size: 1 } })
    const current = headers.get('etag') ?? ''
    for (const method of WRITES) {
      for (const sent of [stale, other.tag, `W/${current}`, '"x"', '""', `"${current.slice(1, -2)}"`, `"*"`]) {
        const answer = await write(method, path, { 'if-match': sent })
        expect([answer.status, answer.body.code], `${method} ${sent}`).to.deep.equal([412, 'precondition-failed'])
      }
    }
    const after = await server.ask('GET', path, { token, headers: { 'if-match': current } })
    expect([after.status, after.body.size, after.headers.get('etag')]).to.deep.equal([200, 1, current])
  })

  it('a tag of another object at the same version never fits', async () => {
    const [a, b] = [await make(), await make()]
    for (const method of WRITES) {
      expect((await write(method, a.path, { 'if-match': b.tag })).status, method).to.equal(412)
      expect((await write(method, b.path, { 'if-match': a.tag })).status, method).to.equal(412)
    }
  })

  it('on GET and HEAD is 412 as well where it does not fit (RFC 9110 section 13.2.2)', async () => {
    const { path, tag } = await make()
    for (const method of ['GET', 'HEAD']) {
      const statuses = []
      for (const sent of [tag, '*', '"x"']) {
        statuses.push((await server.ask(method, path, { token, headers: { 'if-match': sent } })).status)
      }
      expect(statuses).to.deep.equal([200, 200, 412])
    }
  })

  it('on POST fits *, for there is a collection, and no tag, for it has none', async () => {
    const statuses = []
    for (const headers of [{ 'if-match': '*' }, { 'if-match': '"x"' }, { 'if-none-match': '*' }]) {
      statuses.push((await server.ask('POST', '/things', { token, body: {}, headers })).status)
    }
    expect(statuses).to.deep.equal([201, 412, 412])
  })

  it('that is malformed is 400, and so is If-None-Match', async () => {
    const { path, tag } = await make()
    for (const sent of [
      tag.slice(1, -1),
      tag.slice(1),
      tag.slice(0, -1),
      `w/${tag}`,
      `W/ ${tag}`,
      `${tag} ${tag}`,
      `*, ${tag}`,
      `${tag}, *`,
      "'x'",
      '',
      ',',
      '"a b"',
      '"\\""',
    ]) {
      for (const name of ['if-match', 'if-none-match']) {
        for (const method of ['GET', ...WRITES]) {
          const answer = await write(method, path, { [name]: sent })
          expect([answer.status, answer.body.code], `${method} ${name}: ${sent}`).to.deep.equal([
            400,
            'invalid-precondition',
          ])
        }
      }
    }
    expect((await server.ask('GET', path, { token, headers: { 'if-match': tag } })).status).to.equal(200)
  })

  it('If-None-Match: * on a write is 412, because there is something; so is the tag of its state', async () => {
    const { path, tag } = await make()
    for (const method of WRITES) {
      for (const sent of ['*', tag, `W/${tag}`]) {
        expect((await write(method, path, { 'if-none-match': sent })).status, `${method} ${sent}`).to.equal(412)
      }
    }
    expect((await write('PUT', path, { 'if-none-match': '"x"' })).status).to.equal(200)
  })

  it('If-Modified-Since and If-Unmodified-Since have no effect on a write', async () => {
    const { path } = await make()
    for (const name of ['if-modified-since', 'if-unmodified-since']) {
      expect((await write('PUT', path, { [name]: 'Thu, 01 Jan 1970 00:00:00 GMT' })).status).to.equal(200)
    }
  })

  it('what is not there is 404, whatever the precondition says', async () => {
    for (const headers of [{ 'if-match': '*' }, { 'if-match': '"x"' }, { 'if-none-match': '*' }]) {
      expect((await write('PUT', '/things/none', headers)).status).to.equal(404)
    }
  })

  it('is required where the schema says so: 428 for PUT, PATCH and DELETE without it', async () => {
    const { path, tag } = await make()
    const guarded = path.replace('/things/', '/guarded/')
    for (const method of WRITES) {
      for (const headers of [{}, { 'if-none-match': '"x"' }, { 'if-unmodified-since': 'x' }]) {
        const answer = await write(method, guarded, headers)
        expect([answer.status, answer.body.code], method).to.deep.equal([428, 'precondition-required'])
      }
    }
    expect((await server.ask('GET', guarded, { token })).headers.get('etag')).to.equal(tag)
    expect((await server.ask('OPTIONS', guarded)).status).to.equal(204)
    expect((await write('PATCH', guarded, { 'if-match': tag })).status).to.equal(200)
    expect((await write('PATCH', guarded, { 'if-match': '*' })).status).to.equal(200)
    expect((await write('PATCH', path, {})).status, 'elsewhere it is not').to.equal(200)
  })

  async function make(): Promise<{ path: string; tag: string }> {
    const { headers } = await server.ask('POST', '/things', { token, body: { title: 't' } })
    return { path: headers.get('location') ?? '', tag: headers.get('etag') ?? '' }
  }

  function write(method: string, path: string, headers: Record<string, string>): Promise<Answer> {
    const body = method === 'PUT' || method === 'PATCH' ? { title: 'written' } : undefined
    return server.ask(method, path, { token, headers, ...(body ? { body } : {}) })
  }
})

describe('If-Match and what a caller may see', () => {
  let server: TestServer
  let callers: Callers

  before(async () => {
    server = await startTestServer({ demo: true })
    callers = await tokensOf(server)
  })
  after(() => server.stop())

  it('a tag of another view of the same state fits', async () => {
    const contact = await server.ask('GET', '/api/users/bob', { token: callers.sam })
    const publicView = await server.ask('GET', '/profile/alice')
    const tags = [contact, publicView].map(({ headers }) => headers.get('etag') ?? '')
    for (const [i, path] of ['/api/users/bob', '/api/users/alice'].entries()) {
      const headers = { 'if-match': tags[i] ?? '' }
      const answer = await server.ask('PATCH', path, { token: callers.ada, body: { bio: 'new' }, headers })
      expect(answer.status, path).to.equal(200)
      const again = await server.ask('PATCH', path, { token: callers.ada, body: { bio: 'newer' }, headers })
      expect(again.status, path).to.equal(412)
    }
  })

  it('a policy that shows other fields does not break it', async () => {
    const before = await server.ask('GET', '/api/users/sam', { token: callers.sam })
    await addRules(`${server.folder}/policies/policy.csv`, 'p, support, users, read, any, personal, deny\n')
    const after = await until(
      () => server.ask('GET', '/api/users/sam', { token: callers.sam }),
      ({ body }) => body.email === undefined,
    )
    expect(after.headers.get('etag')).to.not.equal(before.headers.get('etag'))
    const headers = { 'if-match': before.headers.get('etag') ?? '' }
    const answer = await server.ask('PATCH', '/api/users/sam', { token: callers.sam, body: { bio: 'b' }, headers })
    expect(answer.status).to.equal(200)
  })

  it('412 and 428 come after 403 for a field, and before 409', async () => {
    const headers = { 'if-match': '"x"' }
    const ask = (body: unknown) => server.ask('PATCH', '/api/users/alice', { token: callers.alice, body, headers })
    expect((await ask({ roles: ['admin'] })).status).to.equal(403)
    expect((await ask({ email: 'bob@example.com' })).status).to.equal(412)
    const taken = { token: callers.alice, body: { email: 'bob@example.com' } }
    expect((await server.ask('PATCH', '/api/users/alice', taken)).status).to.equal(409)
  })

  it('who sends back all of what it read, and was too late, is told 412', async () => {
    const note = await server.ask('POST', '/api/v1/notes', { token: callers.alice, body: { title: 'first' } })
    const path = note.headers.get('location') ?? ''
    const headers = { 'if-match': note.headers.get('etag') ?? '' }
    await server.ask('PATCH', path, { token: callers.alice, body: { title: 'second' } })
    const write = (method: string, body: object, sent = headers) =>
      server.ask(method, path, { token: callers.alice, body, headers: sent })
    for (const method of ['PUT', 'PATCH']) {
      expect((await write(method, { ...note.body, title: 'third' })).status, method).to.equal(412)
      expect((await write(method, { ...note.body, title: 7 })).status, 'a fault of its own').to.equal(400)
      expect((await write(method, { ...note.body, id: 'other' })).status, 'another id').to.equal(400)
    }
    expect((await server.ask('GET', path, { token: callers.alice })).body.title).to.equal('second')
    // To PUT the server's times mean nothing; a PATCH would change them.
    expect((await write('PATCH', note.body, { 'if-match': '*' })).status).to.equal(400)
    expect((await write('PUT', note.body, { 'if-match': '*' })).status).to.equal(200)
  })

  it('412 is nothing that a stranger learns: 401 and 403 come first', async () => {
    for (const sent of ['*', '"x"']) {
      const asked = { body: { bio: 'x' }, headers: { 'if-match': sent } }
      expect((await server.ask('PATCH', '/api/users/alice', asked)).status).to.equal(401)
      expect((await server.ask('PATCH', '/api/users/alice', { ...asked, token: callers.bob })).status).to.equal(403)
    }
  })
})

describe('writers that race', () => {
  let server: TestServer
  let token: string
  let path: string
  let tag: string

  before(async () => {
    server = await startWithThings()
    token = await server.token('ada', 'admin')
  })
  beforeEach(async () => {
    const { headers } = await server.ask('POST', '/things', { token, body: { size: 0 } })
    path = headers.get('location') ?? ''
    tag = headers.get('etag') ?? ''
  })
  after(() => server.stop())

  for (const method of ['PUT', 'PATCH']) {
    it(`of 100 with the same If-Match, one ${method} wins and the others are 412`, async () => {
      const answers = await race(100, method, { 'if-match': tag })
      const winners = answers.filter(({ status }) => status === 200)
      expect(winners).to.have.length(1)
      expect(answers.filter(({ status }) => status === 412)).to.have.length(99)
      const { body, headers } = await server.ask('GET', path, { token })
      expect([body.size, headers.get('etag')]).to.deep.equal([winners[0]?.body.size, winners[0]?.headers.get('etag')])
    })
  }

  it('of 50 that delete and 50 that update, one wins and the others are 412, or 404 where it was deleted', async () => {
    const both = await Promise.all([race(50, 'DELETE', { 'if-match': tag }), race(50, 'PATCH', { 'if-match': tag })])
    const answers = both.flat().map(({ status }) => status)
    expect(answers.filter((status) => status === 200 || status === 204)).to.have.length(1)
    expect(answers.filter((status) => status === 412 || status === 404)).to.have.length(99)
  })

  for (const method of WRITES) {
    it(`${method}: a write that comes between the decision and the statement is noticed by the statement`, async () => {
      await slipIn(method)
      const answer = await write(method, { 'if-match': tag })
      expect([answer.status, answer.body.code]).to.deep.equal([412, 'precondition-failed'])
      expect((await server.ask('GET', path, { token })).body.size).to.equal(99)
    })

    it(`${method}: without If-Match the same write is decided anew and goes through (negative control)`, async () => {
      await slipIn(method)
      expect((await write(method, {})).status).to.be.oneOf([200, 204])
    })
  }

  it('counting up with If-Match and a retry loses no update', async () => {
    await Promise.all(Array.from({ length: 8 }, () => countUp(5)))
    expect((await server.ask('GET', path, { token })).body.size).to.equal(40)
  })

  it('without If-Match more than one wins, over what it never saw (negative control)', async () => {
    const answers = await race(20, 'PATCH', {})
    expect(answers.filter(({ status }) => status === 200).length).to.be.greaterThan(1)
  })

  /** Lets another write be first, once this one was decided and is about to be written. */
  async function slipIn(method: string): Promise<void> {
    const { store } = server.app
    const name = method === 'DELETE' ? 'delete' : 'update'
    // biome-ignore lint/suspicious/noExplicitAny: stands in for either of two methods
    const original: (...all: any[]) => Promise<any> = store[name].bind(store)
    Object.assign(store, {
      [name]: async (...all: unknown[]) => {
        Object.assign(store, { [name]: original })
        await server.ask('PATCH', path, { token, body: { size: 99 } })
        return original(...all)
      },
    })
  }

  function write(method: string, headers: Record<string, string>): Promise<Answer> {
    const body = method === 'DELETE' ? {} : { body: { size: 1 } }
    return server.ask(method, path, { token, headers, ...body })
  }

  function race(writers: number, method: string, headers: Record<string, string>): Promise<readonly Answer[]> {
    return Promise.all(
      Array.from({ length: writers }, (_, i) =>
        server.ask(method, path, { token, headers, ...(method === 'DELETE' ? {} : { body: { size: i + 1 } }) }),
      ),
    )
  }

  async function countUp(times: number): Promise<void> {
    for (let done = 0; done < times; ) {
      const { body, headers } = await server.ask('GET', path, { token })
      const condition = { 'if-match': headers.get('etag') ?? '' }
      const written = await server.ask('PATCH', path, { token, body: { size: body.size + 1 }, headers: condition })
      if (written.status === 200) done++
      else expect(written.status).to.equal(412)
    }
  }
})
