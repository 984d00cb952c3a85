/** Lists and decisions that would look at very many objects: others don't wait for them, and they end at a bound. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import { READ_BOUNDS } from '../../src/store/lists/read-bounds.ts'
import { withRules } from '../policy-text.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { until } from '../until.ts'
import { open, request } from './raw.ts'

const SHIPPED = (name: string) => readFileSync(new URL(`../../policies/${name}`, import.meta.url), 'utf8')

const ID = { type: 'string', maxLength: 99 }

const FILES = {
  'schemas/folders.json': JSON.stringify({
    title: 'Folder',
    type: 'object',
    'x-resource': {
      routes: [
        { path: '/folders', methods: ['GET', 'POST'] },
        { path: '/folders/{id}', methods: ['GET'] },
      ],
    },
    properties: {
      id: { ...ID, readOnly: true },
      createdAt: { type: 'string', readOnly: true },
      updatedAt: { type: 'string', readOnly: true },
      ownerId: ID,
      parents: { type: 'array', items: ID },
    },
    additionalProperties: false,
  }),
  'policies/ownership.yaml': `${SHIPPED('ownership.yaml')}
folders:
  relations:
    owner: ownerId
    inherited: { through: parents, to: folders, relation: owner, depth: 8 }
`,
  'policies/policy.csv': withRules(
    SHIPPED('policy.csv'),
    'p, member, folders, list|read, owner, *, allow\np, member, folders, list|read|create, inherited, *, allow',
  ),
}

/** Climbs from one of them meet each of the others eight times, by each of the others. */
const WIDE = Array.from({ length: 300 }, (_, n) => `wide-${n}`)

const BOUNDS = { ...READ_BOUNDS, listMs: 1500, countMs: 200, most: { ofCaller: 2, ofAll: 3 } }

describe('lists that look at very many objects', () => {
  let server: TestServer
  let note: string
  let bob: string
  const asks = async (who: string, path: string) =>
    server.ask('GET', path, { token: await server.token(who, 'member') })
  before(async () => {
    server = await startTestServer({ files: FILES, writer: 'thread', reads: BOUNDS })
    const own = ['a-0', 'a-1', 'a-2'].map((id) => ({ id, document: { ownerId: 'carol', parents: [] } }))
    const wide = WIDE.map((id) => ({ id, document: { ownerId: 'mallory', parents: WIDE } }))
    await server.app.seeding.insert('folders', [...own, ...wide])
    bob = await server.token('bob', 'member')
    const made = await server.ask('POST', '/api/v1/notes', { token: bob, body: { title: 'x' } })
    note = `/api/v1/notes/${made.body.id}`
  })
  after(() => server.stop())

  it('keep no neighbour waiting, and end with a problem that says what to do', async () => {
    let ended = false
    const long = asks('alice', '/folders').finally(() => {
      ended = true
    })
    for (let n = 0; n < 5; n += 1) expect((await server.ask('GET', note, { token: bob })).status).to.equal(200)
    expect(ended).to.equal(false)
    const { status, body } = await long
    expect([status, body.code]).to.deep.equal([503, 'read-too-long'])
    expect(body.detail).to.match(/ask for less/)
  })

  it('a count past its bound is a lower bound, by another name', async () => {
    const { status, body } = await asks('carol', '/folders?limit=1&count=exact')
    expect([status, body.items.length]).to.deep.equal([200, 1])
    expect(body).not.to.have.property('total')
    expect(body.totalAtLeast).to.be.within(2, 3)
  })

  it('a count within its bound is exact', async () => {
    const { body } = await asks('mallory', '/folders?limit=1&count=exact')
    expect(body.total).to.equal(WIDE.length)
    expect(body).not.to.have.property('totalAtLeast')
  })

  it('an object whose climb is too wide is refused to those who need the climb, and to nobody else', async () => {
    expect((await asks('alice', '/folders/wide-1')).body.code).to.equal('read-too-long')
    expect((await asks('mallory', '/folders/wide-1')).status).to.equal(200)
    expect((await asks('alice', '/folders/a-1')).status).to.equal(403)
  })

  const BODY = JSON.stringify({ ownerId: 'mallory', parents: WIDE })
  const CREATE = ['Content-Type: application/json', `Content-Length: ${BODY.length}`]

  /** How many turns of the event loop the answers to 100 requests at once take. All are `read-too-long`. */
  async function turnsOf(target: string, more: readonly string[] = [], body = '') {
    const token = await server.token('alice', 'member')
    const sockets = Array.from({ length: 100 }, () => open(server.url))
    const send = (asked: string, headers: readonly string[] = [], content = '') => {
      const text = request(asked, [`Authorization: Bearer ${token}`, 'Connection: keep-alive', ...headers])
      for (const socket of sockets) socket.write(text + content)
    }
    // A server accepts one connection in a turn, so all are open before.
    const opened = Promise.all(sockets.map((socket) => once(socket, 'data')))
    send('GET /folders/a-1')
    await opened
    let [turns, isRunning] = [0, true]
    const counting = (async () => {
      for (; isRunning; turns += 1) await nextTurn()
    })()
    const climbs = sockets.map(async (socket) => {
      const [answer] = await once(socket, 'data')
      return /"code":"([^"]*)"/.exec(String(answer))?.[1]
    })
    send(target, more, body)
    expect(new Set(await Promise.all(climbs))).to.deep.equal(new Set(['read-too-long']))
    isRunning = false
    await counting
    for (const socket of sockets) socket.destroy()
    return turns
  }

  const atOnce = 'that come at once are a few in each turn of the event loop, so that others are answered between them'

  it(`climbs ${atOnce}`, async () => {
    expect(await turnsOf('GET /folders/wide-1')).to.be.above(15)
  })

  it(`climbs from objects that are not created ${atOnce}`, async () => {
    expect(await turnsOf('POST /folders', CREATE, BODY)).to.be.above(15)
  })

  it('are refused to a caller who has too many of them, and to all', async () => {
    // After the refusal, the other clients hang up: otherwise each of their reads would take its whole time.
    const outcomes = async (...callers: readonly string[]) => {
      const hangUp = new AbortController()
      const reads = callers.map(async (who) => {
        const headers = { Authorization: `Bearer ${await server.token(who, 'member')}` }
        const answer = await fetch(`${server.url}/folders`, { headers, signal: hangUp.signal }).catch(() => undefined)
        return answer ? ((await answer.json()) as { readonly code: string }).code : 'was read'
      })
      // A read whose client hung up too late has ended by itself.
      const ended = async () => (await server.decisions()).filter(({ route }) => route === '/folders').length
      const before = await ended()
      await Promise.race(reads)
      for (let n = 0; n < 3; n += 1) await server.ask('GET', note, { token: bob })
      hangUp.abort()
      const told = (await Promise.all(reads)).toSorted()
      await until(async () => (await ended()) === before + callers.length)
      return told
    }
    expect(await outcomes('alice', 'alice', 'alice')).to.deep.equal(['quota-exceeded', 'was read', 'was read'])
    expect(await outcomes('alice', 'alice', 'dave', 'erin')).to.deep.equal([
      'quota-exceeded',
      'was read',
      'was read',
      'was read',
    ])
  })

  it('end when their client is gone', async () => {
    const token = await server.token('frank', 'member')
    const hangUp = new AbortController()
    const asked = fetch(`${server.url}/folders`, {
      headers: { Authorization: `Bearer ${token}` },
      signal: hangUp.signal,
    }).catch(() => 'gone')
    for (let n = 0; n < 3; n += 1) await server.ask('GET', note, { token: bob })
    hangUp.abort()
    expect(await asked).to.equal('gone')
    const ended = async () => server.lastDecision({ subject: 'frank' })
    let record = await ended()
    for (let n = 0; n < 100 && !record; n += 1) {
      await server.ask('GET', note, { token: bob })
      record = await ended()
    }
    expect(record).to.include({ problem: 'malformed-request' })
  })
})
