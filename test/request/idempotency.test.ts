/** POST with an Idempotency-Key: what is repeated is created once, and answered with what the caller may read now. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { withRules } from '../policy-text.ts'
import { type Answer, startTestServer, type TestServer } from '../server.ts'
import { type Callers, tokensOf } from './callers.ts'

const ORDER = { currency: 'EUR', items: [{ sku: 'A', quantity: 1, unitPrice: 100 }] }
const DAY_MS = 24 * 60 * 60 * 1000

describe('a POST with an idempotency key', () => {
  let server: TestServer
  let callers: Callers
  let at = Date.now()
  let count = 0

  before(async () => {
    server = await startTestServer({ now: () => new Date(at) })
    callers = await tokensOf(server)
  })
  after(() => server.stop())

  const newKey = () => `key-${++count}`

  interface Post {
    readonly token?: string | undefined
    readonly body?: unknown
    readonly path?: string
  }

  function post(
    key: string,
    { token = callers.alice, body = ORDER, path = '/api/orders' }: Post = {},
  ): Promise<Answer> {
    return server.ask('POST', path, { token, body, headers: { 'Idempotency-Key': key } })
  }

  async function total(path = '/api/orders'): Promise<number> {
    return (await server.ask('GET', `${path}?count=exact&limit=1`, { token: callers.ada })).body.total
  }

  const headersOf = ({ headers }: Answer) => ['location', 'etag', 'content-type'].map((name) => headers.get(name))

  it('creates once, and each repeat is the first answer again, marked Idempotency-Replayed: true', async () => {
    const before = await total()
    const key = newKey()
    const first = await post(key)
    expect([first.status, first.headers.has('idempotency-replayed')]).to.deep.equal([201, false])
    for (let i = 0; i < 3; i++) {
      const again = await post(key)
      expect([again.status, again.text]).to.deep.equal([201, first.text])
      expect(headersOf(again)).to.deep.equal(headersOf(first))
      expect(again.headers.get('idempotency-replayed')).to.equal('true')
    }
    expect(await total()).to.equal(before + 1)
    // The control: without the key each request creates.
    await server.ask('POST', '/api/orders', { token: callers.alice, body: ORDER })
    await server.ask('POST', '/api/orders', { token: callers.alice, body: ORDER })
    expect(await total()).to.equal(before + 3)
  })

  it('is answered as it was then, when the object has changed or is gone since', async () => {
    const key = newKey()
    const first = await post(key)
    const path = first.headers.get('location') ?? ''
    await server.ask('PATCH', path, { token: callers.alice, body: { note: 'later' } })
    expect((await post(key)).text).to.equal(first.text)
    await server.ask('DELETE', path, { token: callers.alice })
    const again = await post(key)
    expect([again.status, again.text]).to.deep.equal([201, first.text])
    expect((await server.ask('GET', path, { token: callers.alice })).status).to.equal(404)
  })

  it('is the same key quoted or bare', async () => {
    const first = await post('"quoted key, \\"1\\" \\\\"')
    expect((await post('"quoted key, \\"1\\" \\\\"')).text).to.equal(first.text)
    const bare = await post('bare-1')
    const quoted = await post('"bare-1"')
    expect([quoted.text, quoted.headers.get('idempotency-replayed')]).to.deep.equal([bare.text, 'true'])
  })

  it('is the same payload whatever the order of its names and its spaces', async () => {
    const key = newKey()
    const first = await post(key, { body: '{"currency":"EUR","items":[{"sku":"A","quantity":1,"unitPrice":100}]}' })
    const again = await post(key, {
      body: ' { "items": [{"unitPrice":100.0,"quantity":1,"sku":"A"}], "currency":"EUR" }',
    })
    expect([first.status, again.text]).to.deep.equal([201, first.text])
  })

  it('is 422 with another payload, and creates nothing', async () => {
    const key = newKey()
    await post(key)
    const before = await total()
    for (const body of [
      { ...ORDER, note: 'x' },
      { ...ORDER, currency: 'USD' },
      { ...ORDER, items: [...ORDER.items, ...ORDER.items] },
      { ...ORDER, status: 'draft' },
    ]) {
      const { status, body: problem } = await post(key, { body })
      expect([status, problem.code]).to.deep.equal([422, 'idempotency-key-reused'])
    }
    expect(await total()).to.equal(before)
  })

  it("is another key for another caller and on another route, which tell nothing of each other's", async () => {
    const key = newKey()
    const alice = await post(key)
    const bob = await post(key, { token: callers.bob })
    expect([alice.status, bob.status, bob.headers.has('idempotency-replayed')]).to.deep.equal([201, 201, false])
    expect(bob.body.id).not.to.equal(alice.body.id)
    const note = await post(key, { path: '/api/v1/notes', body: { title: 't' } })
    expect([note.status, note.headers.has('idempotency-replayed')]).to.deep.equal([201, false])
    const user = { email: 'k1@example.com', displayName: 'K' }
    const one = await post(key, { token: callers.ada, path: '/users', body: user })
    const other = await post(key, {
      token: callers.ada,
      path: '/api/users',
      body: { ...user, email: 'k2@example.com' },
    })
    expect([one.status, other.status]).to.deep.equal([201, 201])
  })

  for (const [name, key] of [
    ['empty', ''],
    ['empty in quotes', '""'],
    ['without its second quote', '"abc'],
    ['without its first quote', 'abc"'],
    ['with a quote inside', '"a"b"'],
    ['with a faulty escape', '"a\\b"'],
    ['with parameters', '"abc";x=1'],
    ['with a space, not quoted', 'a b'],
    ['a list', 'a, b'],
    ['of 256 characters', 'k'.repeat(256)],
    ['of 256 characters in quotes', `"${'k'.repeat(256)}"`],
    ['with what is not ASCII', 'k\u00e9y'],
  ] as const) {
    it(`is 400 when ${name}`, async () => {
      const { status, body } = await post(key)
      expect([status, body.code]).to.deep.equal([400, 'invalid-idempotency-key'])
    })
  }

  it('takes 255 characters', async () => {
    const longest = `"${'k'.repeat(253)}\\"\\\\"`
    const [first, again] = [await post(longest), await post(longest)]
    expect([first.status, again.headers.get('idempotency-replayed')]).to.deep.equal([201, 'true'])
  })

  it('is 400 when it stands twice, also with the same value', async () => {
    const headers = new Headers({ authorization: `Bearer ${callers.alice}`, 'content-type': 'application/json' })
    headers.append('Idempotency-Key', 'twice')
    headers.append('Idempotency-Key', 'twice')
    const response = await fetch(`${server.url}/api/orders`, { method: 'POST', headers, body: JSON.stringify(ORDER) })
    expect([response.status, ((await response.json()) as { code: string }).code]).to.deep.equal([
      400,
      'invalid-idempotency-key',
    ])
  })

  it('is 401, 403 or 400 first where the request itself is refused, and keeps nothing of that', async () => {
    const key = newKey()
    expect((await post(key, { token: callers.audrey })).status).to.equal(403)
    const foreign = await post(key, { body: { ...ORDER, customerId: 'bob' } })
    expect(foreign.status).to.equal(403)
    expect((await post(key, { body: { ...ORDER, currency: 'x' } })).status).to.equal(400)
    const bad = await server.ask('POST', '/api/orders', { body: ORDER, headers: { 'Idempotency-Key': key } })
    expect(bad.status).to.equal(401)
    const { status, headers } = await post(key)
    expect([status, headers.has('idempotency-replayed')]).to.deep.equal([201, false])
  })

  it('keeps nothing of a conflict: the key is free for the repeat that has room', async () => {
    const key = newKey()
    const body = { email: 'taken@example.com', displayName: 'T' }
    const make = () => post(key, { token: callers.ada, path: '/api/users', body })
    const holder = await server.ask('POST', '/api/users', { token: callers.ada, body })
    expect((await make()).body.code).to.equal('unique-taken')
    await server.ask('DELETE', holder.headers.get('location') ?? '', { token: callers.ada })
    const first = await make()
    const again = await make()
    expect([first.status, again.text]).to.deep.equal([201, first.text])
  })

  it('is ignored by the methods that can be repeated as they are', async () => {
    const { headers } = await post(newKey())
    const path = headers.get('location') ?? ''
    const key = { 'Idempotency-Key': 'a b "' }
    for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
      const body = method === 'PATCH' ? { note: 'n' } : undefined
      const { status } = await server.ask(method, path, { token: callers.alice, body, headers: key })
      expect(status, method).to.be.oneOf([200, 204])
    }
  })

  it('is forgotten after 24 hours, and not before', async () => {
    const key = newKey()
    const first = await post(key)
    at += DAY_MS - 1
    expect((await post(key)).text).to.equal(first.text)
    at += 1
    const later = await post(key, { body: { ...ORDER, note: 'another' } })
    expect([later.status, later.headers.has('idempotency-replayed')]).to.deep.equal([201, false])
    expect(later.body.id).not.to.equal(first.body.id)
    expect((await post(key)).status).to.equal(422)
  })

  it('200 parallel repeats create exactly one object; the others replay, or are told to come again', async () => {
    const before = await total()
    const key = newKey()
    const answers = await Promise.all(Array.from({ length: 200 }, () => post(key)))
    const fresh = answers.filter(({ status, headers }) => status === 201 && !headers.has('idempotency-replayed'))
    expect(fresh).to.have.length(1)
    for (const { status, body, headers } of answers) {
      if (status === 201) expect(body.id).to.equal(fresh[0]?.body.id)
      else expect([status, body.code, headers.get('retry-after')]).to.deep.equal([409, 'idempotency-in-flight', '1'])
    }
    expect(await total()).to.equal(before + 1)
    expect((await post(key)).body.id).to.equal(fresh[0]?.body.id)
  })

  it('leaves a record of each repeat, and of one write alone', async () => {
    const key = newKey()
    const { body } = await post(key)
    await post(key)
    const records = (await server.decisions()).filter(({ objectId }) => objectId === body.id)
    expect(records.map(({ status, outcome }) => [status, outcome])).to.deep.equal([
      [201, 'allowed'],
      [201, 'allowed'],
    ])
    expect(records.filter(({ write }) => write !== undefined)).to.have.length(1)
  })
})

describe('a replay under another policy', () => {
  let server: TestServer
  let callers: Callers

  beforeEach(async () => {
    server = await startTestServer()
    callers = await tokensOf(server)
  })
  afterEach(() => server.stop())

  async function setPolicy(change: (text: string) => string): Promise<void> {
    const file = join(server.folder, 'policies/policy.csv')
    await writeFile(file, change(await readFile(file, 'utf8')))
    await server.app.policy.reload()
    expect(server.app.policy.faults).to.deep.equal([])
  }

  const post = (token: string, body: unknown = { title: 'secret', body: 'text' }) =>
    server.ask('POST', '/api/v1/notes', { token, body, headers: { 'Idempotency-Key': 'k' } })

  it('shows no more than the caller may read now', async () => {
    await writeFile(
      join(server.folder, 'policies/views.yaml'),
      'notes: { short: [id, title] }\nusers: { public: [id], contact: [id], personal: [bio] }\norders: { progress: [status] }\naccounts: { balance: [balance] }\nsystem/health: { brief: [status] }\n',
    )
    const first = await post(callers.alice)
    expect(first.body).to.include({ title: 'secret', body: 'text' })
    await setPolicy((text) =>
      text.replace(
        /^p, member, notes, .*$/m,
        'p, member, notes, create|update, owner, *, allow\np, member, notes, list|read, owner, short, allow',
      ),
    )
    const narrowed = await post(callers.alice)
    expect(narrowed.body).to.deep.equal({ id: first.body.id, title: 'secret' })
    expect(narrowed.headers.get('location')).to.equal(first.headers.get('location'))
    await setPolicy((text) => text.replace(/^p, member, notes, list\|read.*$/m, ''))
    const unreadable = await post(callers.alice)
    expect([unreadable.status, unreadable.text, unreadable.headers.has('etag')]).to.deep.equal([201, '', false])
    expect(unreadable.headers.get('location')).to.equal(first.headers.get('location'))
  })

  it('is refused when the caller may no longer create', async () => {
    await post(callers.alice)
    await setPolicy((text) => text.replace(/^p, member, notes, .*$/m, 'p, member, notes, read, owner, *, allow'))
    expect((await post(callers.alice)).status).to.equal(403)
    expect((await post(callers.alice, { title: 'other' })).status, 'nor told of the payload').to.equal(403)
  })

  it('shows nothing of an object that has become another owner’s', async () => {
    await setPolicy((text) => withRules(text, 'p, admin, notes, update, any, *, allow'))
    const first = await post(callers.alice)
    const given = await server.ask('PATCH', first.headers.get('location') ?? '', {
      token: callers.ada,
      body: { ownerId: 'bob' },
    })
    expect(given.status).to.equal(200)
    const again = await post(callers.alice)
    expect([again.status, again.text]).to.deep.equal([201, ''])
  })
})
