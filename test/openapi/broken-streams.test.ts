/** Servers that break, stall, refuse or overwhelm a made client of events: what its program sees, and what is left. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import { runs } from '../runs.ts'
import { until } from '../until.ts'
import { makeClient } from './following-world.ts'

type Answer = (response: ServerResponse, asked: IncomingMessage, time: number) => void

const HEAD = { 'Content-Type': 'text/event-stream; charset=utf-8' }
const GONE = (id: string) => `id: ${id}\nevent: gone\ndata: {"id":"${id}"}\n\n`

/** Sends a text, and leaves the stream open. */
const says = (text: string) => (response: ServerResponse) => response.writeHead(200, HEAD).write(text)

// biome-ignore lint/suspicious/noExplicitAny: its types are there only when this test has made the client
type Calls = any

describe('a made client of events', () => {
  let file: string
  let calls: Calls
  let stop = async () => undefined as unknown

  before(async () => {
    file = await makeClient('broken.ts')
    calls = await import(file)
  })
  afterEach(() => stop())

  /** A server that answers the n-th request as the n-th of `answers`, and more of them as the last one. */
  async function serves(...answers: readonly Answer[]) {
    const asked: IncomingMessage[] = []
    /** Answers that have a client and haven't ended. */
    const open = new Set<ServerResponse>()
    const server = createServer((request, response) => {
      asked.push(request)
      open.add(response)
      response.on('close', () => open.delete(response))
      answers[Math.min(asked.length, answers.length) - 1]?.(response, request, asked.length)
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    stop = async () => {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    }
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    return { server, asked, url, open, api: (more: object = {}) => calls.connect({ url, token: 't', ...more }) }
  }

  const lastIds = (asked: readonly IncomingMessage[]) =>
    asked.map(({ headers }) => Buffer.from(String(headers['last-event-id'] ?? ''), 'latin1').toString())

  /** The ids of the first events, and the error that ended them. */
  async function first(count: number, events: AsyncIterable<{ id: string }>) {
    const ids: string[] = []
    try {
      for await (const { id } of events) if (ids.push(id) === count) break
      return { ids }
    } catch (error) {
      return { ids, error }
    }
  }

  it('throws a typed error at once for an answer that is no stream, and for a refusal', async () => {
    const problem =
      (status: number, code: string, more: object = {}) =>
      (response: ServerResponse) =>
        response
          .writeHead(status, { 'Content-Type': 'application/problem+json', ...more })
          .end(JSON.stringify({ status, code, detail: 'no', instance: 'urn:uuid:1', title: 't', type: 'about:blank' }))
    for (const [answer, status, code] of [
      [(response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<html>'), 200, 'unreadable-answer'],
      [(response) => response.writeHead(204).end(), 204, 'unreadable-answer'],
      [problem(403, 'forbidden'), 403, 'forbidden'],
      [problem(400, 'invalid-query'), 400, 'invalid-query'],
      [problem(503, 'not-ready', { 'Retry-After': '3600' }), 503, 'not-ready'],
      [says('event: gone\ndata: {"id"\n\n'), 200, 'unreadable-answer'],
    ] as readonly (readonly [Answer, number, string])[]) {
      const { api, asked } = await serves(answer)
      const { error } = await first(1, api().parcels.events())
      expect(error).to.be.instanceOf(calls.ApiProblem).and.to.include({ status, code })
      expect(asked).to.have.length(1)
      await stop()
    }
    // The same after the stream was open.
    const { api, asked } = await serves(
      (response) => response.writeHead(200, HEAD).end(`retry: 1\n${GONE('1')}`),
      problem(403, 'blocked'),
    )
    expect(await first(9, api().parcels.events())).to.have.nested.include({ 'ids[0]': '1', 'error.code': 'blocked' })
    expect(asked).to.have.length(2)
  })

  it('is sent again where the server is busy, as long as it wants to wait', async () => {
    const busy = (response: ServerResponse) => response.writeHead(429, { 'Retry-After': '1' }).end()
    const { api, asked } = await serves(busy, (response) => response.writeHead(503).end(), says(GONE('1')))
    const begun = performance.now()
    expect(await first(1, api().parcels.events())).to.deep.equal({ ids: ['1'] })
    expect(asked).to.have.length(3)
    expect(performance.now() - begun).to.be.greaterThan(1000)
  })

  it('reads nothing of an answer without an end that is no stream', async () => {
    const { api, open } = await serves((response) =>
      response.writeHead(200, { 'Content-Type': 'text/plain' }).write('x'),
    )
    const { error } = await first(1, api().parcels.events())
    expect(error).to.include({ code: 'unreadable-answer', detail: 'The answer is no stream of events.' })
    await until(() => open.size === 0)
  })

  it('throws what `fetch` says where nothing has answered yet, and waits where something has', async () => {
    const { api, asked, server } = await serves(says(`retry: 1\n${GONE('1')}`), says(GONE('2')))
    const { port } = server.address() as AddressInfo
    const events = api({ attempts: 1 }).parcels.events()
    await events.next()
    await stop()
    const { error } = await first(1, api({ attempts: 1 }).parcels.events())
    expect(String(error)).to.include('fetch failed')
    const next = events.next()
    await sleep(300)
    server.listen(port, '127.0.0.1')
    expect((await next).value.id).to.equal('2')
    expect(lastIds(asked)).to.deep.equal(['', '1'])
    await events.return()
  })

  it('does not spin where the server ends each stream at once, and waits longer each time', async () => {
    const { api, asked } = await serves((response) => response.writeHead(200, HEAD).end('retry: 0\n\n'))
    const times: number[] = []
    const onLost = () => times.push(performance.now())
    const signal = AbortSignal.timeout(1200)
    const { error } = await first(1, api().parcels.events({}, { signal, onLost }))
    expect(error).to.equal(signal.reason)
    expect(asked.length).to.be.within(2, 6)
    expect((times[2] ?? 0) - (times[1] ?? 0)).to.be.greaterThan(190)
  })

  it('waits no longer than at first after a connection that has lasted', async () => {
    const { now } = performance
    let ahead = 0
    performance.now = () => now.call(performance) + ahead
    try {
      const { api, asked } = await serves((response) => {
        ahead += 11_000
        response.writeHead(200, HEAD).end('retry: 0\n\n')
      })
      const begun = now.call(performance)
      const onLost = () => {
        if (asked.length === 6) throw new Error('enough')
      }
      await first(1, api().parcels.events({}, { onLost }))
      // Pauses that grow take 3.1 seconds at least.
      expect(now.call(performance) - begun).to.be.within(500, 3000)
    } finally {
      performance.now = now
    }
  })

  it('waits as `retry` says, however long it was open, and ends when its program throws in `onLost`', async () => {
    const { api, asked } = await serves((response) => response.writeHead(200, HEAD).end(`retry: 300\n${GONE('1')}`))
    const lost: number[] = []
    const enough = new Error('enough')
    const onLost = (error: unknown) => {
      expect(error).to.equal(undefined)
      if (lost.push(performance.now()) === 2) throw enough
    }
    expect(await first(9, api().parcels.events({}, { onLost }))).to.deep.equal({ ids: ['1', '1'], error: enough })
    expect((lost[1] ?? 0) - (lost[0] ?? 0)).to.be.greaterThan(300)
    expect(lastIds(asked)).to.deep.equal(['', '1'])
  })

  it('waits ten minutes at most, whatever `retry` says', async () => {
    const fetch = async () => new Response(`retry: ${'9'.repeat(400)}\n${GONE('1')}`, { headers: HEAD })
    const api = calls.connect({ url: 'http://nowhere.test', fetch })
    const waits = await withoutPauses(async () => {
      expect((await first(3, api.parcels.events())).ids).to.have.length(3)
    })
    expect(waits).to.have.length(2)
    for (const wait of waits) expect(wait).to.be.within(300_000, 600_000)
  })

  it('gives each event once, in order, wherever its connections break', async () => {
    // Each second one is a mark, which is no event.
    const texts = Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? GONE(`${i + 1}`) : `id: ${i + 1}\n\n`))
    const events = texts.flatMap((text, i) => (text.includes('gone') ? [`${i + 1}`] : []))
    const cuts = fc.array(fc.record({ after: fc.nat(300), inTwo: fc.nat(300), fails: fc.boolean() }), {
      maxLength: 12,
      size: 'max',
    })
    const count = runs(200)
    let broken = 0
    const property = fc.asyncProperty(cuts, async (given) => {
      const left = [...given]
      const fetch = async (request: Request) => {
        const rest = Buffer.from(texts.slice(Number(request.headers.get('Last-Event-ID') ?? 0)).join(''))
        const { after, inTwo, fails } = left.shift() ?? { after: rest.length, inTwo: 0, fails: false }
        const pieces = [rest.subarray(0, Math.min(inTwo, after)), rest.subarray(Math.min(inTwo, after), after)]
        const body = new ReadableStream({
          pull(stream) {
            const piece = pieces.shift()
            if (piece) return stream.enqueue(piece)
            broken++
            return fails ? stream.error(new TypeError('broken')) : stream.close()
          },
        })
        return new Response(body, { headers: HEAD })
      }
      const api = calls.connect({ url: 'http://nowhere.test', fetch })
      expect((await first(events.length, api.parcels.events())).ids).to.deep.equal(events)
    })
    await withoutPauses(() => fc.assert(property, { numRuns: count }))
    expect(broken).to.be.greaterThan(count / 2)
  })

  it('takes a connection for lost when nothing comes, before the answer and after it', async () => {
    const silent = () => undefined
    const { api, asked } = await serves(says(`retry: 100\n${GONE('1')}`), silent, says(GONE('2')))
    const lost: string[] = []
    const onLost = (error: unknown) => lost.push(String(error))
    const events = api().parcels.events({}, { longestSilence: 0.2, onLost })
    expect(await first(2, events)).to.deep.equal({ ids: ['1', '2'] })
    expect(lost[0]).to.equal('Error: nothing came for 0.2 seconds')
    expect(lastIds(asked)).to.deep.equal(['', '1', '1'])
  })

  it('is not lost while something comes, though it is no event', async () => {
    const { api, asked } = await serves((response) => {
      response.writeHead(200, HEAD)
      const timer = setInterval(() => response.write(':\n'), 50)
      setTimeout(() => response.end(GONE('1')), 800)
      response.on('close', () => clearInterval(timer))
    })
    expect(await first(1, api().parcels.events({}, { longestSilence: 0.3 }))).to.deep.equal({ ids: ['1'] })
    expect(asked).to.have.length(1)
  })

  it('keeps no more than the bound of an event of ten megabytes', async () => {
    const large = `event: gone\ndata: {"id":"${'x'.repeat(10_000_000)}"}\n\n`
    const { api, asked } = await serves(says(large))
    const { error } = await first(1, api().parcels.events())
    expect(error).to.be.instanceOf(calls.ApiProblem).and.to.include({ code: 'unreadable-answer' })
    expect(String(error)).to.include('more than 4000000 characters')
    expect(asked).to.have.length(1)
    const all = await first(1, api().parcels.events({}, { longestEvent: 11_000_000 }))
    expect(all.ids).to.have.length(1)
  })

  it('gives back ids of any letters as they were, and goes on before those that no header can have', async () => {
    const stream = (id: string) => (response: ServerResponse) =>
      response.writeHead(200, HEAD).end(`retry: 1\nevent: gone\nid: ${id}\ndata: {}\n\n`)
    for (const [id, sent] of [
      ['é😀\u2028', 'é😀\u2028'],
      ['a: b,c;"', 'a: b,c;"'],
      ['tab\there', 'begin'],
      ['nul\0', 'begin'],
      ['9'.repeat(2000), 'begin'],
      ['', ''],
    ] as const) {
      const { api, asked } = await serves(stream(id), says(GONE('end')))
      const { ids } = await first(2, api().parcels.events({}, { after: 'begin' }))
      expect(ids, id).to.deep.equal([id.includes('\0') ? 'begin' : id, 'end'])
      expect(lastIds(asked)).to.deep.equal(['begin', sent])
      await stop()
    }
    const { api } = await serves(says(''))
    expect(() => api().parcels.events({}, { after: 'a\r\nX: y' })).to.throw(TypeError, 'no id of an event')
  })

  it('reads on when its program is ready: a slow one slows the server down', async () => {
    let sent = 0
    const piece = GONE('x'.repeat(60_000))
    const { api } = await serves((response) => {
      response.writeHead(200, HEAD)
      const send = () => {
        while (!response.destroyed && response.write(piece)) sent += piece.length
        sent += piece.length
      }
      response.on('drain', send)
      send()
    })
    const events = api().parcels.events()
    await events.next()
    await sleep(300)
    const before = sent
    await sleep(300)
    // What the buffers of both sides have; a stream without an end would have sent a gigabyte by now.
    expect(sent).to.equal(before)
    expect(sent).to.be.lessThan(40_000_000)
    for (let i = 0; i < 1500 && sent === before; i++) await events.next()
    expect(sent).to.be.greaterThan(before)
    await events.return()
  })

  it('ends at once when its program stops, by any way, and leaves no stream open', async () => {
    const { api, open } = await serves(says(GONE('1')))
    expect(await first(1, api().parcels.events())).to.deep.equal({ ids: ['1'] })
    await until(() => open.size === 0)

    // While it waits for an event.
    const events = api().parcels.events()
    await events.next()
    const next = events.next()
    expect(await events.return()).to.deep.equal({ done: true, value: undefined })
    expect(await next).to.deep.equal({ done: true, value: undefined })

    const control = new AbortController()
    const stopped = first(9, api().parcels.events({}, { signal: control.signal }))
    await until(() => open.size === 1)
    control.abort(new Error('stopped'))
    expect(String((await stopped).error)).to.equal('Error: stopped')
    await until(() => open.size === 0)
    expect(await first(1, api().parcels.events({}, { signal: control.signal }))).to.deep.equal({
      ids: [],
      error: control.signal.reason,
    })
    expect(open.size).to.equal(0)
  })

  it('lets a program end that has stopped, and only then', async () => {
    const { url } = await serves(says(GONE('1')))
    const program = (then: string) => {
      const text = `const { connect } = await import(${JSON.stringify(file)})
        const events = connect({ url: ${JSON.stringify(url)} }).parcels.events()
        await events.next()
        console.log('first')
        ${then}`
      return spawn(process.execPath, ['--input-type=module', '-e', text], { stdio: ['ignore', 'pipe', 'inherit'] })
    }
    const [ends, waits] = [program('await events.return()'), program('await events.next()')]
    await Promise.all([once(ends, 'exit'), once(waits.stdout, 'data')])
    expect(ends.exitCode).to.equal(0)
    await sleep(300)
    expect(waits.exitCode).to.equal(null)
    waits.kill()
  })
})

/** The pauses between connections, in milliseconds, none of which was waited for. The bound for silence stays. */
async function withoutPauses(work: () => Promise<void>): Promise<readonly number[]> {
  const { setTimeout: real } = globalThis
  const waits: number[] = []
  globalThis.setTimeout = ((...given: [then: () => void, milliseconds: number, argument?: unknown]) => {
    const [then, milliseconds] = given
    // Those with an argument are of Node's own connections.
    if (milliseconds === 45_000 || given.length > 2) return Reflect.apply(real, undefined, given)
    waits.push(milliseconds)
    return real(then, 0)
  }) as typeof setTimeout
  try {
    await work()
  } finally {
    globalThis.setTimeout = real
  }
  return waits
}
