/** A client that asks for large pages and doesn't read them fills neither the memory nor the room of its neighbours. */
import { EventEmitter, once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { expect } from 'chai'
import { UnreadAnswers, type UnreadBounds, unreadBounds } from '../../src/server/http/unread-answers.ts'
import { WrittenJson } from '../../src/server/routes/entity-tag.ts'
import { type AnswerParts, answer } from '../../src/server/stages/answer.ts'
import type { RequestState } from '../../src/server/stages/state.ts'
import { ENGINES } from '../data/each-engine.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { countedStatements } from '../store/counted-statements.ts'
import { tokensOf } from './callers.ts'
import { open, request, sleep } from './raw.ts'

const MEGABYTE = 2 ** 20

/** More than the buffers of a connection take. */
const PAGE_BYTES = 9 * MEGABYTE

const BOUNDS = { eachBytes: 24 * MEGABYTE, allBytes: 40 * MEGABYTE }

/** Three bytes a character: 60 kB a note. */
const NOTE = { title: 't', body: '\u20ac'.repeat(20_000) }

describe('large answers that nobody reads', () => {
  let server: TestServer
  let tokens: Awaited<ReturnType<typeof tokensOf>>
  const sockets: Socket[] = []

  before(async () => {
    server = await startTestServer({ demo: true, unread: BOUNDS, uncheckedBecause: 'a page is 9 MB' })
    tokens = await tokensOf(server)
    for (const owner of ['alice', 'bob']) await addPage(server, owner)
  })
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy()
    await untilStatus(tokens.alice, 200)
    await untilStatus(tokens.bob, 200)
  })
  after(() => server.stop())

  it('are refused to a caller beyond a bound, and given to others', async () => {
    const { status, headers, body } = await leaveUnread(tokens.alice)
    expect([status, headers.get('retry-after'), body.code]).to.deep.equal([503, '5', 'answers-unread'])
    expect((await page(tokens.bob)).status).to.equal(200)
    expect(await server.lastDecision({ problem: 'answers-unread' })).to.include({ subject: 'alice', status: 503 })
  })

  it('count when they are problems that repeat long names, too', async () => {
    const strict = await startTestServer({ demo: true, unread: { eachBytes: 50_000 } })
    const { alice, bob } = await tokensOf(strict)
    const members = Array.from({ length: 90 }, (_, i) => [`${i}`.padEnd(1000, 'x'), 1])
    const body = JSON.stringify(Object.fromEntries(members))
    const headers = [`Authorization: Bearer ${alice}`, 'Content-Type: application/json', 'Connection: keep-alive']
    const socket = open(strict.url)
    sockets.push(socket)
    const list = (token: string) => strict.ask('GET', '/api/v1/notes?limit=1', { token })
    for (let sent = 0; sent < 1000 && (await list(alice)).status === 200; sent += 1) {
      socket.write(request('POST /api/v1/notes', [...headers, `Content-Length: ${body.length}`], body))
    }
    expect((await list(alice)).body.code).to.equal('answers-unread')
    expect((await list(bob)).status).to.equal(200)
    socket.destroy()
    await strict.stop()
  })

  it('are given again once the caller has read or left', async () => {
    await leaveUnread(tokens.alice)
    for (const socket of sockets) socket.removeAllListeners('readable').resume()
    await untilStatus(tokens.alice, 200)
  })

  it('are refused to everybody beyond a bound, while small answers are given', async () => {
    await leaveUnread(tokens.alice)
    await leaveUnread(tokens.bob)
    await askUnread(tokens.audrey)
    expect((await page(tokens.ada)).status).to.equal(503)
    expect((await server.ask('GET', '/api/v1/notes?limit=1&fields=id', { token: tokens.audrey })).status).to.equal(200)
    expect((await server.ask('GET', '/livez')).status).to.equal(200)
  })

  it('are never refused to clients that read them', async () => {
    const answers = await Promise.all(Array.from({ length: 2 }, () => page(tokens.alice)))
    expect(answers.map(({ status, text }) => [status, Buffer.byteLength(text) > PAGE_BYTES])).to.deep.equal([
      [200, true],
      [200, true],
    ])
  })

  it('of a few callers leave room for one more, however many of them read nothing', () => {
    for (const callers of [1, 4, 10]) {
      const unread = new UnreadAnswers({ eachBytes: 64 * MEGABYTE, allBytes: 256 * MEGABYTE })
      let admitted = 1
      while (admitted > 0) {
        admitted = 0
        for (let i = 0; i < callers; i += 1) {
          try {
            unread.hold(new EventEmitter() as ServerResponse, `${i}`, Buffer.alloc(MEGABYTE))
            admitted += 1
          } catch (error) {
            expect(error).to.include({ code: 'answers-unread' })
          }
        }
      }
      const large = Buffer.alloc(10 * MEGABYTE)
      expect(() => unread.hold(new EventEmitter() as ServerResponse, 'another', large), `${callers}`).not.to.throw()
    }
  })

  it('hold up a share of the memory that the process may use', () => {
    expect(unreadBounds(64 * MEGABYTE)).to.include({ eachBytes: 2 * MEGABYTE, allBytes: 8 * MEGABYTE })
    expect(unreadBounds(2 ** 40)).to.include({ eachBytes: 64 * MEGABYTE, allBytes: 256 * MEGABYTE })
  })

  it('are cut off when a client takes too little, also if it takes some now and then', async () => {
    const impatient = await startTestServer({
      demo: true,
      unread: { pieceMs: 500 },
      uncheckedBecause: 'a page is 9 MB',
    })
    const { alice } = await tokensOf(impatient)
    await addPage(impatient, 'alice')
    const socket = open(impatient.url)
    sockets.push(socket)
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
    let taken = 0
    socket.on('data', (data) => {
      taken += data.length
      socket.pause()
      setTimeout(() => socket.resume(), 1500)
    })
    socket.write(request('GET /api/v1/notes?limit=200', [`Authorization: Bearer ${alice}`]))
    await closed
    expect(taken).to.be.lessThan(PAGE_BYTES)
    await impatient.stop()
  })

  it('leave no page in memory while the refusals wait for their records', async () => {
    const unread = new UnreadAnswers({ eachBytes: 1, allBytes: 1 })
    unread.keep(new EventEmitter() as ServerResponse, 'address:::1', Buffer.alloc(1))
    const [small, large] = [await stateAtRecord(unread, 100), await stateAtRecord(unread, PAGE_BYTES)]
    expect(small.body).to.have.length(100)
    expect([large.problem?.code, large.outcome?.body, large.body]).to.deep.equal([
      'answers-unread',
      undefined,
      undefined,
    ])
  })

  /** What is known of a request, with an answer of so many bytes, while its record is written. */
  async function stateAtRecord(unread: UnreadAnswers, bytes: number): Promise<RequestState> {
    const request = { headers: {}, rawHeaders: [] }
    const ctx = {
      req: request,
      res: { end: () => undefined },
      method: 'GET',
      writable: false,
      state: {} as RequestState,
    }
    let found = ctx.state
    const parts = {
      instance: 'one',
      policy: { active: { revision: 'r', snapshot: {} }, at: () => ({}) },
      now: () => new Date(),
      cors: { share: () => undefined },
      recorder: {
        note: () => {
          found = { ...ctx.state }
        },
      },
      faults: { note: () => undefined },
      metrics: { observeRequest: () => undefined },
      unread,
      shutdown: { begun: false },
    }
    await answer(parts as unknown as AnswerParts)(ctx as never, async () => {
      const outcome = { status: 200, headers: {}, body: new WrittenJson('x'.repeat(bytes)) }
      Object.assign(ctx.state, { address: '::1', outcome })
    })
    return found
  }

  function page(token: string) {
    return server.ask('GET', '/api/v1/notes?limit=200', { token })
  }

  /** Resolves when the answer has begun to come; nothing of it is read. */
  async function askUnread(token: string): Promise<void> {
    const socket = open(server.url)
    sockets.push(socket)
    socket.write(request('GET /api/v1/notes?limit=200', [`Authorization: Bearer ${token}`]))
    await once(socket, 'readable')
  }

  /** Asks until the server refuses. */
  async function leaveUnread(token: string) {
    for (;;) {
      await askUnread(token)
      const answer = await page(token)
      if (answer.status !== 200) return answer
    }
  }

  /** Other requests, and closed connections, are noticed a moment later. */
  async function untilStatus(token: string, status: number) {
    for (;;) {
      const answer = await page(token)
      if (answer.status === status) return answer
      expect([200, 503]).to.include(answer.status)
      await sleep(20)
    }
  }
})

describe('large pages that wait for their turn on PostgreSQL', () => {
  const ASKED = 24

  /** How many of the pages that one client asks for at once, and never takes, are read from the database. */
  async function pagesRead(unread: Partial<UnreadBounds>): Promise<number> {
    const [, postgres] = ENGINES
    if (!postgres) throw new Error('there is no such engine')
    const on = await postgres[1]({ unread, uncheckedBecause: 'a page is 9 MB' })
    await addPage(on.server, 'alice')
    const token = await on.server.token('alice', 'member')
    const asked = Array.from({ length: ASKED }, () => open(on.server.url))
    try {
      // What one page of its own reads; pages that share a statement have no large documents.
      const isOfOne = (text: string) => text.includes('"objects_notes"') && !text.includes('asked(')
      const [, read] = await countedStatements(async () => {
        for (const socket of asked) {
          socket.write(request('GET /api/v1/notes?limit=200', [`Authorization: Bearer ${token}`]))
        }
        await Promise.all(asked.map((socket) => once(socket, 'readable')))
      }, isOfOne)
      return read
    } finally {
      for (const socket of asked) socket.destroy()
      await on.stop()
    }
  }

  it('are not read any more once their caller has as much as it may leave unread', async () => {
    expect(await pagesRead({ eachBytes: MEGABYTE })).to.be.lessThan(ASKED / 2)
  }).timeout(60_000)

  it('are read where it may leave as much unread (negative control)', async () => {
    expect(await pagesRead({ eachBytes: 400 * MEGABYTE, allBytes: 2000 * MEGABYTE })).to.be.greaterThan(ASKED / 2)
  }).timeout(60_000)
})

/** The notes of a page, in the store. */
async function addPage({ app: { seeding } }: TestServer, ownerId: string): Promise<void> {
  const notes = Array.from({ length: PAGE_BYTES / 60_000 }, () => ({
    id: crypto.randomUUID(),
    document: { ...NOTE, ownerId },
  }))
  // In parts, so that no busy machine takes longer than the store allows.
  for (let i = 0; i < notes.length; i += 10) await seeding.insert('notes', notes.slice(i, i + 10))
}
