/** Streams of events as HTTP: what is negotiated, what they are bounded by, and how they end. */
import { readFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { FollowedRecord } from '../../src/decision-log/decision-record.ts'
import { sallyport } from '../command.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { until } from '../until.ts'
import { EVENTS_WORLD } from './events-world.ts'
import { FollowingClient, Refusal } from './follow.ts'

describe('a stream of events', () => {
  let server: TestServer
  const tokens: Record<string, string> = {}
  const clients: FollowingClient[] = []

  before(async () => {
    server = await startTestServer({ files: EVENTS_WORLD })
    for (const [name, role] of [
      ['alice', 'member'],
      ['sue', 'support'],
      ['ada', 'admin'],
    ] as const)
      tokens[name] = await server.token(name, role)
    for (const name of ['walt', 'wes']) tokens[name] = await server.token(name)
  })
  afterEach(() => {
    for (const client of clients.splice(0)) client.close()
  })
  after(() => server.stop())

  const open = async (who: string) => {
    const client = await FollowingClient.open(server.url, tokens[who], { lists: false })
    clients.push(client)
    return client
  }
  const ask = (method: string, path: string, headers: Record<string, string> = {}) =>
    server.ask(method, path, { token: tokens.sue, headers })
  const make = (body: unknown) => server.ask('POST', '/parcels', { token: tokens.ada, body })

  /** What the decision log says of streams that have ended in this way. */
  const endsOf = async (end: string) =>
    (await server.deeds()).filter(
      ({ action, followed }) => action === 'watch' && (followed as FollowedRecord).end === end,
    )

  it('is never kept by a cache nor held back by a proxy, and ends with its connection', async () => {
    const { headers } = await open('sue')
    expect(headers['content-type']).to.equal('text/event-stream; charset=utf-8')
    expect(headers['cache-control']).to.equal('no-store')
    expect([headers['x-accel-buffering'], headers.connection]).to.deep.equal(['no', 'close'])
    const asked = await server.lastDecision({ route: '/parcels/events' })
    expect(asked).to.include({ action: 'watch', outcome: 'allowed', status: 200 })
    const { id } = (await make({})).body
    await until(() => clients[0]?.held.has(id) === true)
    clients[0]?.close()
    await until(async () => (await endsOf('client')).length > 0)
    const [ended] = await endsOf('client')
    expect(ended).to.deep.include({
      requestId: asked?.requestId,
      ...{ route: '/parcels/events', resource: 'parcels', outcome: 'allowed', status: 200 },
    })
    expect(ended?.followed).to.deep.include({ end: 'client', events: 1 })
    expect(ended).not.to.have.any.keys('subject', 'address')
    const found = await sallyport([
      'decisions',
      'query',
      join(server.folder, 'data/decisions.log'),
      '--action',
      'watch',
    ])
    expect(found.stdout).to.match(/ended: client {2}1 events in \d+ s/)
  })

  it('answers HEAD without a stream, OPTIONS with its methods, and 406 where the client takes something else', async () => {
    const head = await ask('HEAD', '/parcels/events')
    expect([head.status, head.text, head.headers.get('content-type')]).to.deep.equal([
      200,
      '',
      'text/event-stream; charset=utf-8',
    ])
    expect((await ask('OPTIONS', '/parcels/events')).headers.get('allow')).to.equal('GET, HEAD, OPTIONS')
    expect((await ask('GET', '/parcels/events', { Accept: 'application/json' })).body.code).to.equal('not-acceptable')
    expect((await ask('PUT', '/parcels/events')).status).to.equal(405)
    // Another id is an object's.
    expect((await ask('GET', '/parcels/event')).body.code).to.equal('object-not-found')
  })

  it('is refused without the action, or without the list that it would keep', async () => {
    for (const who of ['walt', 'wes']) {
      const refusal = await open(who).catch((error: unknown) => error)
      expect(refusal, who).to.be.instanceOf(Refusal).and.to.include({ status: 403 })
    }
    const can = await server.ask('GET', '/parcels?can=true', { token: tokens.sue })
    expect(can.body.can.actions).to.include('watch')
    const none = await server.ask('GET', '/parcels?can=true', { token: tokens.walt })
    expect(none.body.can.actions).to.not.include('watch')
  })

  it('is 401 without credentials, and no path for a request of a batch', async () => {
    const anonymous = await server.ask('GET', '/parcels/events')
    expect([anonymous.status, anonymous.body.code]).to.deep.equal([401, 'credentials-missing'])
    const of = (id: string, path: string) => ({ id, method: 'GET', path })
    const requests = [of('list', '/parcels'), of('events', '/parcels/events')]
    const { status, body } = await server.ask('POST', '/batch', { token: tokens.sue, body: { requests } })
    expect(status, JSON.stringify(body)).to.equal(200)
    expect(body.responses.map((one: { status: number }) => one.status)).to.deep.equal([200, 404])
  })

  it('cuts off a client that does not read, and tells the others in time', async () => {
    const sue = await open('sue')
    const silent = await silentClient(server.url, tokens.alice ?? '')
    const note = 'x'.repeat(90_000)
    // More than the bound and all buffers of the connection, which grow to ten megabytes.
    for (let i = 0; i < 30; i++) await Promise.all(Array.from({ length: 10 }, () => make({ ownerId: 'alice', note })))
    await until(() => sue.heard.length > 300)
    let read = 0
    silent.on('data', (piece) => {
      read += piece.length
    })
    silent.resume()
    await until(() => silent.destroyed)
    await until(async () => (await endsOf('slow')).length === 1)
    expect(read).to.be.lessThan(300 * note.length)
    expect(sue.isEnded).to.equal(false)
  })

  it('tells all of a commit whose changes are larger than one read of the log', async () => {
    const sue = await open('sue')
    await until(() => sue.heard.length === 1)
    const ids = Array.from({ length: 120 }, (_, i) => `large${i}`)
    await server.app.seeding.insert(
      'parcels',
      ids.map((id) => ({ id, document: { ownerId: 'zoe', note: 'x'.repeat(90_000) } })),
    )
    await until(() => sue.heard.length > ids.length)
    expect(sue.heard.slice(1).map(({ data }) => data.id)).to.deep.equal(ids)
  })

  it('counts its streams, and refuses what is too much', async () => {
    const many = await Promise.all(Array.from({ length: 100 }, () => open('sue')))
    const refusal = await open('sue').catch((error: unknown) => error)
    expect(refusal).to.be.instanceOf(Refusal).and.to.include({ status: 429 })
    await open('alice')
    many[0]?.close()
    await until(async () => {
      const again = await open('sue').catch(() => undefined)
      return again !== undefined
    })
  })

  it('ends at once when the server stops', async () => {
    const other = await startTestServer({ files: EVENTS_WORLD })
    const client = await FollowingClient.open(other.url, await other.token('sue', 'support'))
    await until(() => client.heard.length > 0)
    const begun = Date.now()
    await other.app.drain()
    expect(Date.now() - begun).to.be.lessThan(9000)
    await until(() => client.isEnded)
    expect(await readFile(join(other.folder, 'data/decisions.log'), 'utf8')).to.contain('"followed":{"end":"stop"')
    await removeFolder(other.folder)
  })
})

/** Sends the request, and never reads. */
async function silentClient(url: string, token: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => socket.destroy())
  socket.pause()
  socket.write(`GET /parcels/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`)
  await sleep(300)
  return socket
}
