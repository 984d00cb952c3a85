/** Load at a fixed rate (an open loop): requests are sent when they are due, also while others wait. */
import { text } from 'node:stream/consumers'
import { BenchFailure } from '../failure.ts'
import type { LoadFigures, Requests } from './load.ts'
import { start } from './processes.ts'

const CLIENT = new URL('../load/paced-client.ts', import.meta.url).pathname

export interface PacedOrder extends Pick<Requests, 'method' | 'paths' | 'token' | 'body'> {
  readonly base: string
  readonly perSecond: number
  readonly seconds: number
}

/** Throws BenchFailure when an answer was an error, because then something else was measured. */
export async function pacedLoad(order: PacedOrder): Promise<LoadFigures> {
  const client = start([process.execPath, CLIENT, JSON.stringify(order)], { cpu: 'load', piped: true })
  const output = client.child.stdout ? await text(client.child.stdout) : ''
  const complaint = client.complaint()
  await client.stop()
  if (output === '') throw new BenchFailure(`the client of a fixed rate ended without figures: ${complaint}`)
  const { errors, ...figures } = JSON.parse(output) as LoadFigures & { readonly errors: Record<string, number> }
  const kinds = Object.entries(errors).map(([why, count]) => `${count} were ${why}`)
  if (kinds.length > 0) throw new BenchFailure(`of ${figures.requests} answers, ${kinds.join(', ')}`)
  return figures
}
