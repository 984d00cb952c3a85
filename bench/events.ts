/**
 * Streams of events on one instance: `node bench/events.ts [--streams 10000] [--changes 100] [--seconds 20]`. Prints how
 * long after the beginning of a write its event reached the clients, and the processor time of the server. The server is a
 * process of its own. Each caller has 100 streams and sees its own parcels; with `--each 1`, each stream is of another
 * caller with another token; with `--all`, everybody sees every parcel. DATABASE_URL: PostgreSQL.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { EVENTS_WORLD } from '../test/events/events-world.ts'
import { startTestServer } from '../test/server.ts'
import { withDatabase } from './fixture/environment.ts'

const { values } = parseArgs({
  options: {
    streams: { type: 'string', default: '10000' },
    changes: { type: 'string', default: '100' },
    seconds: { type: 'string', default: '20' },
    each: { type: 'string', default: '100' },
    all: { type: 'boolean', default: false },
  },
})

const EACH = Number(values.each)
/** Connections that are opened together. */
const TOGETHER = 100

interface Opened {
  readonly url: string
  readonly tokens: readonly string[]
  readonly admin: string
}

if (process.send) await serve(Number(values.streams) / EACH)
else await measure()

async function serve(callers: number): Promise<void> {
  const { DATABASE_URL: url } = process.env
  const env = url ? withDatabase(url) : {}
  const server = await startTestServer({ env, files: EVENTS_WORLD, writer: 'thread', uncheckedBecause: 'it measures' })
  const role = values.all ? 'support' : 'member'
  const tokens = await Promise.all(Array.from({ length: callers }, (_, i) => server.token(`caller${i}`, role)))
  process.send?.({ url: server.url, tokens, admin: await server.token('ada', 'admin') } satisfies Opened)
  // Whoever asks gets the processor time so far.
  process.on('message', () => process.send?.(process.cpuUsage()))
  process.once('disconnect', () => process.exit())
}

async function measure(): Promise<void> {
  const child = fork(import.meta.filename, process.argv.slice(2))
  const { url, tokens, admin } = await new Promise<Opened>((resolve) => child.once('message', resolve as () => void))
  const written = new Map<string, number>()
  const late: number[] = []
  const sockets: Socket[] = []
  const wanted = tokens.flatMap((token) => new Array<string>(EACH).fill(token))
  for (let at = 0; at < wanted.length; at += TOGETHER) {
    const some = wanted.slice(at, at + TOGETHER)
    await Promise.all(some.map((token) => open(url, token, sockets, (id) => note(id, written, late))))
  }
  process.stdout.write(`${sockets.length} streams of ${tokens.length} callers\n`)
  const idle = await busyDuring(child, () => sleep(5000))
  process.stdout.write(`without changes: ${idle.toFixed(0)} % of a processor\n`)
  const period = 1000 / Number(values.changes)
  const count = Number(values.changes) * Number(values.seconds)
  const begun = performance.now()
  const writes: Promise<void>[] = []
  const busy = await busyDuring(child, async () => {
    for (let i = 0; i < count; i++) {
      await sleep(Math.max(0, begun + i * period - performance.now()))
      writes.push(write(url, admin, `caller${i % tokens.length}`, `m${i}.`, written))
    }
    await Promise.all(writes)
  })
  const took = (performance.now() - begun) / 1000
  await sleep(3000)
  const sorted = late.toSorted((a, b) => a - b)
  const at = (share: number) => (sorted[Math.floor(sorted.length * share)] ?? Number.NaN).toFixed(0)
  const expected = count * (values.all ? sockets.length : EACH)
  process.stdout.write(
    `${count} changes in ${took.toFixed(1)} s, ${late.length} of ${expected} events; ms p50 ${at(0.5)}, p99 ${at(0.99)}, most ${at(0.99999)}; ${busy.toFixed(0)} % of a processor\n`,
  )
  for (const socket of sockets) socket.destroy()
  child.disconnect()
}

/** How much of a processor the server takes meanwhile, in percent: more than 100 with its other threads. */
async function busyDuring(child: ChildProcess, work: () => Promise<unknown>): Promise<number> {
  const spent = async () => {
    child.send('usage')
    const [{ user, system }] = (await once(child, 'message')) as [NodeJS.CpuUsage]
    return (user + system) / 1000
  }
  const [before, begun] = [await spent(), performance.now()]
  await work()
  return (100 * ((await spent()) - before)) / (performance.now() - begun)
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
