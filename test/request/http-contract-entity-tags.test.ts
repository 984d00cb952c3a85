/** docs/http.md, "Conditional requests": what a tag is of, and 304 for what the client has already. */
import { appendFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { type Answer, startTestServer, type TestServer } from '../server.ts'
import { type Callers, firstOf, tokensOf } from './callers.ts'
import { startWithThings } from './things.ts'
import { until } from './until.ts'

const STRONG = /^"[\x21\x23-\x7e]+"$/
const NOTES = '/api/v1/notes'

describe('an entity tag', () => {
  let server: TestServer
  let callers: Callers

  before(async () => {
    server = await startTestServer({ demo: true })
    callers = await tokensOf(server)
  })
  after(() => server.stop())

  it('is strong and comes with every representation of an item: GET, HEAD, POST 201, PUT and PATCH 200', async () => {
    const token = callers.alice
    const created = await server.ask('POST', NOTES, { token, body: { title: 'a' } })
    const path = created.headers.get('location') ?? ''
    await expectCurrent(path, created)
    await expectCurrent(path, await server.ask('PUT', path, { token, body: { title: 'b' } }))
    await expectCurrent(path, await server.ask('PATCH', path, { token, body: { title: 'c' } }))
    expect(tagOf(await server.ask('HEAD', path, { token }))).to.equal(tagOf(await server.ask('GET', path, { token })))
  })

  it('comes with the views of routes too, and is of what they show', async () => {
    const { id } = await firstOf(server, '/api/accounts', callers.alice)
    const whole = await server.ask('GET', `/api/accounts/${id}`, { token: callers.alice })
    const balance = await server.ask('GET', `/api/accounts/${id}/balance`, { token: callers.alice })
    const profile = await server.ask('GET', '/profile/alice')
    for (const answer of [whole, balance, profile]) expect(tagOf(answer)).to.match(STRONG)
    expect(tagOf(balance)).to.not.equal(tagOf(whole))
  })

  it('is absent where there is no item: lists, OPTIONS, problems, a 204', async () => {
    const token = callers.alice
    const { id } = await firstOf(server, NOTES, token)
    for (const [method, path] of [
      ['GET', NOTES],
      ['OPTIONS', `${NOTES}/${id}`],
      ['GET', `${NOTES}/none`],
      ['GET', '/livez'],
    ] as const) {
      expect((await server.ask(method, path, { token })).headers.has('etag'), path).to.equal(false)
    }
  })

  it('is the same under every path of the resource', async () => {
    const tags = await Promise.all(
      ['/users/alice', '/api/users/alice', '/profile'].map(async (path) =>
        tagOf(await server.ask('GET', path, { token: callers.alice })),
      ),
    )
    expect(new Set(tags).size).to.equal(1)
  })

  it('is the same from every server that shares the database, and after a restart', async () => {
    const first = await startWithThings()
    const KEYS_SECRET = await readFile(join(first.folder, 'data/keys/secret'), 'utf8')
    const DATABASE_URL = `sqlite:${first.folder}/data/sallyport.db`
    const second = await startWithThings([], { env: { DATABASE_URL, KEYS_SECRET } })
    try {
      const token = await first.token('ada', 'admin')
      const { headers } = await first.ask('POST', '/things', { token, body: { title: 't' } })
      const path = headers.get('location') ?? ''
      const asked = {
        token: await second.token('ada', 'admin'),
        headers: { 'if-none-match': headers.get('etag') ?? '' },
      }
      expect((await second.ask('GET', path, asked)).status).to.equal(304)
    } finally {
      await second.stop()
      await first.stop()
    }
  })

  it('is never shared by callers who see different fields, and is by those who see the same', async () => {
    const [support, admin, own] = await Promise.all(
      [callers.sam, callers.ada, callers.alice].map((token) => server.ask('GET', '/api/users/alice', { token })),
    )
    if (!support || !admin || !own) throw new Error('three were asked')
    expect(Object.keys(support.body)).to.not.deep.equal(Object.keys(admin.body))
    expect(tagOf(support)).to.not.equal(tagOf(admin))
    expect(tagOf(own)).to.equal(tagOf(admin))
  })

  it('differs from object to object at the same version', async () => {
    const bodies = Array.from({ length: 20 }, () => ({ title: 'same' }))
    const tags = await Promise.all(
      bodies.map(async (body) => tagOf(await server.ask('POST', NOTES, { token: callers.alice, body }))),
    )
    expect(new Set(tags).size).to.equal(tags.length)
  })

  it('changes with every write that changes something, also with one that brings back what was there before', async () => {
    const token = callers.alice
    const { headers } = await server.ask('POST', NOTES, { token, body: { title: 'a' } })
    const path = headers.get('location') ?? ''
    const tags = [headers.get('etag')]
    for (const title of ['b', 'a', 'a']) tags.push(tagOf(await server.ask('PATCH', path, { token, body: { title } })))
    expect(new Set(tags).size).to.equal(3)
    expect(tags[3]).to.equal(tags[2])
  })

  it('PUT and PATCH say of which path their representation is (RFC 9110 section 8.7)', async () => {
    const token = callers.alice
    const { headers } = await server.ask('POST', NOTES, { token, body: { title: 'a' } })
    const path = headers.get('location') ?? ''
    for (const method of ['PUT', 'PATCH']) {
      const answer = await server.ask(method, path, { token, body: { title: 'b' } })
      expect(answer.headers.get('content-location')).to.equal(path)
    }
  })

  async function expectCurrent(path: string, written: Answer): Promise<void> {
    const read = await server.ask('GET', path, { token: callers.alice })
    expect(tagOf(written)).to.match(STRONG).and.to.equal(tagOf(read))
    expect(written.body).to.deep.equal(read.body)
  }
})

describe('If-None-Match on GET and HEAD', () => {
  let server: TestServer
  let callers: Callers
  let path: string
  let tag: string

  before(async () => {
    server = await startTestServer({ demo: true })
    callers = await tokensOf(server)
    path = `${NOTES}/${(await firstOf(server, NOTES, callers.alice)).id}`
    tag = tagOf(await server.ask('GET', path, { token: callers.alice }))
  })
  after(() => server.stop())

  it('that fits is 304 with ETag, Vary and Cache-Control, and without a body', async () => {
    for (const method of ['GET', 'HEAD']) {
      for (const sent of [tag, `W/${tag}`, `"x", ${tag}`, `"a,b" ,, ${tag},`, '*', `W/"x",\t${tag}`]) {
        const answer = await known(method, sent)
        expect([answer.status, answer.text], `${method} ${sent}`).to.deep.equal([304, ''])
        expect(tagOf(answer)).to.equal(tag)
        expect(answer.headers.get('vary')).to.equal('Authorization, Accept')
        expect(answer.headers.get('cache-control')).to.equal('private, no-cache')
        expect(answer.headers.has('content-type')).to.equal(false)
      }
    }
  })

  it('that does not fit is 200 with the representation', async () => {
    const another = tagOf(await server.ask('GET', '/profile', { token: callers.alice }))
    for (const sent of ['"x"', '""', another, `"${tag.slice(1, -2)}"`, tag.replace(/^"./, '"~'), `"${tag.slice(2)}`]) {
      expect((await known('GET', sent)).status, sent).to.equal(200)
    }
  })

  it('never takes the tag of another view for that of this caller', async () => {
    const admin = tagOf(await server.ask('GET', '/api/users/alice', { token: callers.ada }))
    const headers = { 'if-none-match': admin }
    const support = await server.ask('GET', '/api/users/alice', { token: callers.sam, headers })
    expect([support.status, support.body.id]).to.deep.equal([200, 'alice'])
  })

  it('is asked after authorization: a fitting tag opens nothing', async () => {
    for (const [token, status] of [
      [undefined, 401],
      [callers.bob, 403],
    ] as const) {
      expect((await server.ask('GET', path, { token, headers: { 'if-none-match': tag } })).status).to.equal(status)
    }
  })

  it('is 304 no more once the object or what the caller may see has changed', async () => {
    const guarded = await startWithThings()
    try {
      const token = await guarded.token('ada', 'admin')
      const { headers } = await guarded.ask('POST', '/things', { token, body: { title: 't', size: 1 } })
      const at = headers.get('location') ?? ''
      const first = headers.get('etag') ?? ''
      const status = async (sent: string) =>
        (await guarded.ask('GET', at, { token, headers: { 'if-none-match': sent } })).status
      expect(await status(first)).to.equal(304)
      const second = tagOf(await guarded.ask('PATCH', at, { token, body: { size: 2 } }))
      expect([await status(first), await status(second)]).to.deep.equal([200, 304])
      await narrow(guarded)
      await until(
        () => guarded.ask('GET', at, { token }),
        ({ body }) => body.size === undefined,
      )
      expect(await status(second)).to.equal(200)
    } finally {
      await guarded.stop()
    }
  })

  it('leaves a decision record of what was allowed', async () => {
    await known('GET', tag)
    expect(await server.lastDecision({ method: 'GET' })).to.include({
      status: 304,
      outcome: 'allowed',
      subject: 'alice',
    })
  })

  it('If-Modified-Since and If-Unmodified-Since are ignored: no object has a Last-Modified', async () => {
    for (const name of ['if-modified-since', 'if-unmodified-since']) {
      for (const date of ['Tue, 01 Jan 2999 00:00:00 GMT', 'Thu, 01 Jan 1970 00:00:00 GMT', 'nonsense']) {
        const answer = await server.ask('GET', path, { token: callers.alice, headers: { [name]: date } })
        expect([answer.status, answer.headers.has('last-modified')]).to.deep.equal([200, false])
      }
    }
  })

  it('is not for lists, which have no tag', async () => {
    const headers = { 'if-none-match': '*' }
    expect((await server.ask('GET', NOTES, { token: callers.alice, headers })).status).to.equal(200)
  })

  function known(method: string, sent: string): Promise<Answer> {
    return server.ask(method, path, { token: callers.alice, headers: { 'if-none-match': sent } })
  }
})

async function narrow({ folder }: TestServer): Promise<void> {
  await appendFile(`${folder}/policies/views.yaml`, 'things:\n  sized: [size]\n')
  await appendFile(`${folder}/policies/policy.csv`, 'p, admin, things, read, any, sized, deny\n')
}

function tagOf({ headers }: Answer): string {
  return headers.get('etag') ?? ''
}
