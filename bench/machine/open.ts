/** Load at a fixed rate whose latencies count from when requests were due (bench/load/open-client.ts). */
import { text } from 'node:stream/consumers'
import { BenchFailure } from '../failure.ts'
import type { LoadFigures, Requests } from './load.ts'
import { start } from './processes.ts'

const CLIENT = new URL('../load/open-client.ts', import.meta.url).pathname

/** GET alone. */
export interface OpenOrder extends Pick<Requests, 'method' | 'paths' | 'token' | 'body' | 'connections'> {
  readonly base: string
  readonly perSecond: number
  readonly seconds: number
}

/** Milliseconds. */
export interface OpenFigures extends LoadFigures {
  readonly p999: number
  /** What a closed loop would tell: without the time that a request waited for a connection. */
  readonly fromSending: { readonly p50: number; readonly p99: number }
  /** How much later than due the client noticed that a request was due: that is in the latencies too. */
  readonly clientLate: { readonly p99: number }
  /** By status, or by what happened. */
  readonly errors: Readonly<Record<string, number>>
}

/** Throws BenchFailure when an answer was an error, because then something else was measured. */
export async function openLoad(order: OpenOrder): Promise<OpenFigures> {
  const client = start([process.execPath, CLIENT, JSON.stringify(order)], { cpu: 'load', piped: true })
  const output = client.child.stdout ? await text(client.child.stdout) : ''
  const complaint = client.complaint()
  await client.stop()
  if (output === '') throw new BenchFailure(`the client of an open loop ended without figures: ${complaint}`)
  const figures: OpenFigures = JSON.parse(output)
  const kinds = Object.entries(figures.errors).map(([why, count]) => `${why} (${count})`)
  if (kinds.length > 0) throw new BenchFailure(`of ${figures.requests} answers were errors: ${kinds.join(', ')}`)
  return figures
}
