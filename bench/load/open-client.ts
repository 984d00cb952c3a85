/**
 * An open loop: each request has a time at which it is due, at a fixed rate, and its latency counts from then, also while
 * it waits for a connection because the server is slow. So a server that stands still is seen by all requests that were
 * due meanwhile (a closed loop would omit them: coordinated omission). Plain sockets, because Node's own client can't ask
 * as fast as the server answers. The argument: an OpenOrder (bench/machine/open.ts) as JSON; it prints OpenFigures.
 */
import { connect, type Socket } from 'node:net'
import type { OpenFigures, OpenOrder } from '../machine/open.ts'

interface Connection {
  readonly socket: Socket
  /** When its request was due, and when it was sent. */
  due: number
  sentAt: number
  received: string
}

const order: OpenOrder = JSON.parse(process.argv[2] ?? '')
const { base, method, paths, token, body, connections, perSecond, seconds } = order
const { hostname, port } = new URL(base)
const heads = paths.map(
  (path) => `${method} ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: Bearer ${token}\r\n`,
)

/** Of the requests: from when they were due, and from when they were sent; and how late the client itself noticed. */
const latencies: number[] = []
const fromSending: number[] = []
const lateness: number[] = []
const free: Connection[] = []
/** When those that wait for a connection were due. */
const waiting: number[] = []
const errors: Record<string, number> = {}
const total = Math.floor(perSecond * seconds)
/** After it, requests that are still under way count as errors. */
const PATIENCE_MS = 10_000
/** A timer is a millisecond late, so the client looks at the clock all the time while a request is nearly due. */
const NEARLY_DUE_MS = 2
let [scheduled, sent, taken] = [0, 0, 0]

await Promise.all(Array.from({ length: connections }, open))
const began = performance.now()
schedule()

function open(): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true })
    const connection: Connection = { socket, due: 0, sentAt: 0, received: '' }
    socket.setEncoding('latin1')
    socket.once('error', reject)
    socket.once('connect', () => {
      free.push(connection)
      resolve()
    })
    socket.on('data', (chunk: string) => receive(connection, chunk))
    socket.once('close', () => finish('a connection was closed'))
  })
}

function dueAt(place: number): number {
  return began + (place * 1000) / perSecond
}

function schedule(): void {
  const now = performance.now()
  while (scheduled < total && dueAt(scheduled) <= now) {
    const due = dueAt(scheduled)
    scheduled += 1
    lateness.push(now - due)
    const connection = free.pop()
    if (connection) send(connection, due)
    else waiting.push(due)
  }
  if (latencies.length === total) finish()
  else if (now - began > seconds * 1000 + PATIENCE_MS) finish('no answer came')
  else if (scheduled < total && dueAt(scheduled) - now < NEARLY_DUE_MS) setImmediate(schedule)
  else setTimeout(schedule, 1)
}

function send(connection: Connection, due: number): void {
  connection.due = due
  connection.sentAt = performance.now()
  const head = heads[sent % heads.length] ?? ''
  sent += 1
  const text = body?.replaceAll('%d', String(sent))
  const about =
    text === undefined ? '' : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n`
  connection.socket.write(`${head}${about}\r\n${text ?? ''}`)
}

function receive(connection: Connection, chunk: string): void {
  connection.received += chunk
  const { received } = connection
  const head = received.indexOf('\r\n\r\n')
  if (head < 0) return
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(received.slice(0, head))?.[1] ?? Number.NaN)
  if (Number.isNaN(length)) finish('an answer has no length')
  // Not a number without a length.
  if (!(received.length >= head + 4 + length)) return
  connection.received = ''
  const status = received.slice(9, 12)
  if (!status.startsWith('2')) errors[status] = (errors[status] ?? 0) + 1
  const now = performance.now()
  latencies.push(now - connection.due)
  fromSending.push(now - connection.sentAt)
  const due = waiting[taken]
  if (due === undefined) free.push(connection)
  else {
    taken += 1
    send(connection, due)
  }
}

function finish(fault?: string): void {
  if (fault !== undefined) errors[fault] = 1
  const figures: OpenFigures = {
    requests: latencies.length,
    perSecond: latencies.length / ((performance.now() - began) / 1000),
    p50: at(latencies, 0.5),
    p99: at(latencies, 0.99),
    p999: at(latencies, 0.999),
    longest: at(latencies, 1),
    fromSending: { p50: at(fromSending, 0.5), p99: at(fromSending, 0.99) },
    clientLate: { p99: at(lateness, 0.99) },
    errors,
  }
  process.stdout.write(JSON.stringify(figures), () => process.exit(0))
}

function at(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0
}
