/** A server whose store is PostgreSQL: requests, records and sign-in work, and a lost database is 503, not 500. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { loadResources } from '../../src/resources/load/load-resources.ts'
import { openReader } from '../../src/store/open.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { startTcpProxy, type TcpProxy } from '../tcp-proxy.ts'
import { createSchema, type TestSchema } from './postgres-schemas.ts'

const PASSWORD = 'hunter2'
/** A lost database is 503 within a second; a loaded machine takes longer. */
const WITHIN_MS = 1900

describe('a server on PostgreSQL', () => {
  let schema: TestSchema
  let proxy: TcpProxy
  let server: TestServer
  let url: string

  before(async () => {
    schema = await createSchema()
    proxy = await startTcpProxy(Number(new URL(schema.url).port))
    const given = new URL(schema.url)
    given.port = String(proxy.port)
    given.password = PASSWORD
    url = String(given)
    server = await startTestServer({ env: { DATABASE_URL: url, DATABASE_POOL: '4' } })
  })
  after(async () => {
    proxy.resume()
    await server.stop()
    await proxy.close()
    await schema.remove()
  })

  it('creates, lists, changes and deletes, with a record for each', async () => {
    const alice = { token: await server.token('alice', 'member') }
    const made = await server.ask('POST', '/api/v1/notes', { ...alice, body: { title: 'one' } })
    expect(made.status).to.equal(201)
    const path = `/api/v1/notes/${made.body.id}`
    expect((await server.ask('GET', path, alice)).body.title).to.equal('one')
    expect((await server.ask('PATCH', path, { ...alice, body: { title: 'two' } })).status).to.equal(200)
    expect((await server.ask('GET', '/api/v1/notes?limit=1', alice)).body.items).to.have.length(1)
    expect((await server.ask('GET', path, { token: await server.token('bob', 'member') })).status).to.equal(403)
    expect((await server.ask('DELETE', path, alice)).status).to.equal(204)
    expect((await server.ask('GET', path, alice)).status).to.equal(404)
    const records = await server.decisions()
    expect(records.map(({ method }) => method)).to.include.members(['POST', 'GET', 'PATCH', 'DELETE'])
  })

  it('repeats a POST with an idempotency key, and creates one object', async () => {
    const alice = { token: await server.token('alice', 'member') }
    const asked = { ...alice, body: { title: 'once' }, headers: { 'Idempotency-Key': '"a key of sixteen"' } }
    const [first, second] = [
      await server.ask('POST', '/api/v1/notes', asked),
      await server.ask('POST', '/api/v1/notes', asked),
    ]
    expect([first.status, second.status]).to.deep.equal([201, 201])
    expect(second.body.id).to.equal(first.body.id)
  })

  it('can be read by tools beside it', async () => {
    const alice = { token: await server.token('alice', 'member') }
    const { body } = await server.ask('POST', '/api/v1/notes', { ...alice, body: { title: 'read' } })
    const { byName } = await loadResources(`${server.folder}/schemas`)
    const notes = byName.get('notes')
    if (!notes) throw new Error('the shipped schemas have notes')
    const reader = await openReader({ engine: 'postgres', name: 'it', location: url })
    expect((await reader.get(notes, body.id))?.document.title).to.equal('read')
    expect(await reader.get(notes, 'unknown')).to.equal(undefined)
    expect((await reader.ids(notes)).has(body.id)).to.equal(true)
    expect((await reader.find(notes, 'title', ['read'], 10)).map(({ id }) => id)).to.deep.equal([body.id])
    const lookup = { resource: 'notes', by: 'id', values: [body.id], where: { kind: 'always' } } as const
    expect(await reader.lookup(lookup, { byName, routes: [] })).to.equal(true)
    await reader.close()
  })

  it('answers 503 within a second while the database stalls, is not ready, and goes on by itself', async () => {
    const alice = { token: await server.token('alice', 'member') }
    proxy.stall()
    const requests = [
      server.ask('GET', '/api/v1/notes', alice),
      server.ask('GET', '/api/v1/notes/x', alice),
      server.ask('POST', '/api/v1/notes', { ...alice, body: { title: 'lost' } }),
    ]
    const since = performance.now()
    for (const { status } of await Promise.all(requests)) expect(status).to.equal(503)
    expect(performance.now() - since).to.be.below(WITHIN_MS)
    expect((await fetch(`${server.app.adminUrl}/readyz`)).status).to.equal(503)
    proxy.resume()
    const until = Date.now() + 20_000
    let list = await server.ask('GET', '/api/v1/notes', alice)
    while (list.status !== 200) {
      if (Date.now() > until) throw new Error('it never came back')
      await sleep(50)
      list = await server.ask('GET', '/api/v1/notes', alice)
    }
    expect(list.body.items.map(({ title }: { title: string }) => title)).to.not.include('lost')
  })

  it('never logs the password of the database', () => {
    expect(server.log.length).to.be.greaterThan(0)
    expect(JSON.stringify(server.log)).to.not.include(PASSWORD)
  })
})

describe('questions to a server on PostgreSQL', () => {
  let schema: TestSchema
  let server: TestServer

  before(async () => {
    schema = await createSchema()
    server = await startTestServer({ demo: true, env: { DATABASE_URL: schema.url } })
  })
  after(async () => {
    await server.stop()
    await schema.remove()
  })

  it('are answered alike by evaluations, searches and `can`', async () => {
    const alice = { token: await server.token('alice', 'member') }
    const shop = { token: await server.token('shop', 'pdp-client') }
    const subject = { type: 'user', id: 'alice' }
    const type = 'notes'
    const shown = (await server.ask('GET', '/api/v1/notes?can=true', alice)).body.items as Shown[]
    expect(shown).to.not.have.length(0)
    for (const { id, can } of shown) {
      const search = { ...shop, body: { subject, resource: { type, id } } }
      const { results } = (await server.ask('POST', '/access/v1/search/action', search)).body
      const found = results.map(({ name }: { name: string }) => name)
      expect(found).to.include.members([...can.actions])
      const evaluations = ['read', 'delete'].map((name) => ({ action: { name } }))
      const batch = { ...shop, body: { subject, resource: { type, id }, evaluations } }
      const answers = (await server.ask('POST', '/access/v1/evaluations', batch)).body.evaluations as Decided[]
      expect(answers.map(({ decision }) => decision)).to.deep.equal(
        ['read', 'delete'].map((one) => found.includes(one)),
      )
    }
    const search = { ...shop, body: { subject, action: { name: 'read' }, resource: { type }, page: { limit: 200 } } }
    const { results } = (await server.ask('POST', '/access/v1/search/resource', search)).body
    expect(results.map(({ id }: { id: string }) => id)).to.include.members(shown.map(({ id }) => id))
    const readers = {
      ...shop,
      body: { ...search.body, subject: { type: 'user' }, resource: { type, id: shown[0]?.id } },
    }
    const people = (await server.ask('POST', '/access/v1/search/subject', readers)).body.results
    expect(people).to.deep.include(subject)
  })
})

interface Shown {
  readonly id: string
  readonly can: { readonly actions: readonly string[] }
}

interface Decided {
  readonly decision: boolean
}
