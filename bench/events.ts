/**
 * Streams of events on one instance: `node bench/events.ts [--streams 10000] [--changes 100] [--seconds 20]`. Prints how
 * long after the answer to a write its event reached the clients. The server is a process of its own. Each caller has 100
 * streams and sees its own parcels; with `--all`, everybody sees every parcel.
 */
import { fork } from 'node:child_process'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { EVENTS_WORLD } from '../test/events/events-world.ts'
import { startTestServer } from '../test/server.ts'

const EACH = 100

const { values } = parseArgs({
  options: {
    streams: { type: 'string', default: '10000' },
    changes: { type: 'string', default: '100' },
    seconds: { type: 'string', default: '20' },
    all: { type: 'boolean', default: false },
  },
})

interface Opened {
  readonly url: string
  readonly tokens: readonly string[]
  readonly admin: string
}

if (process.send) await serve(Number(values.streams) / EACH)
else await measure()

async function serve(callers: number): Promise<void> {
  const server = await startTestServer({ files: EVENTS_WORLD, writer: 'thread', uncheckedBecause: 'it measures' })
  const role = values.all ? 'support' : 'member'
  const tokens = await Promise.all(Array.from({ length: callers }, (_, i) => server.token(`caller${i}`, role)))
  process.send?.({ url: server.url, tokens, admin: await server.token('ada', 'admin') } satisfies Opened)
  process.once('disconnect', () => process.exit())
}

async function measure(): Promise<void> {
  const child = fork(import.meta.filename, process.argv.slice(2))
  const { url, tokens, admin } = await new Promise<Opened>((resolve) => child.once('message', resolve as () => void))
  const written = new Map<string, number>()
  const late: number[] = []
  const sockets: Socket[] = []
  for (const token of tokens) {
    await Promise.all(Array.from({ length: EACH }, () => open(url, token, sockets, (id) => note(id, written, late))))
  }
  process.stdout.write(`${sockets.length} streams\n`)
  const period = 1000 / Number(values.changes)
  const count = Number(values.changes) * Number(values.seconds)
  const begun = performance.now()
  const writes: Promise<void>[] = []
  for (let i = 0; i < count; i++) {
    await sleep(Math.max(0, begun + i * period - performance.now()))
    writes.push(write(url, admin, `caller${i % tokens.length}`, `m${i}.`, written))
  }
  await Promise.all(writes)
  const took = (performance.now() - begun) / 1000
  await sleep(3000)
  const sorted = late.toSorted((a, b) => a - b)
  const at = (share: number) => (sorted[Math.floor(sorted.length * share)] ?? Number.NaN).toFixed(0)
  const expected = count * (values.all ? sockets.length : EACH)
  process.stdout.write(
    `${count} changes in ${took.toFixed(1)} s, ${late.length} of ${expected} events; ms p50 ${at(0.5)}, p99 ${at(0.99)}, most ${at(0.99999)}\n`,
  )
  for (const socket of sockets) socket.destroy()
  child.disconnect()
}

async function write(url: string, token: string, ownerId: string, note: string, written: Map<string, number>) {
  written.set(note, performance.now())
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const answer = await fetch(`${url}/parcels`, { method: 'POST', headers, body: JSON.stringify({ ownerId, note }) })
  if (answer.status !== 201) throw new Error(await answer.text())
  await answer.arrayBuffer()
}

function note(id: string, written: ReadonlyMap<string, number>, late: number[]): void {
  const at = written.get(id)
  if (at !== undefined) late.push(performance.now() - at)
}

/** Resolves with the first bytes. */
function open(url: string, token: string, sockets: Socket[], heard: (note: string) => void): Promise<void> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    sockets.push(socket)
    let rest = ''
    socket.once('error', reject)
    socket.on('data', (bytes) => {
      resolve()
      const text = rest + bytes.toString('latin1')
      for (const [, id = ''] of text.matchAll(/"note":"(m\d+\.)"/g)) heard(id)
      rest = text.slice(text.lastIndexOf('"note":"', text.length - 30) < 0 ? -30 : text.length)
    })
    socket.write(`GET /parcels/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`)
  })
}
