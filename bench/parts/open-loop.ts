/** How long guarded GETs take at rates below what the server can answer, when clients don't wait for each other. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ours } from '../contenders.ts'
import { USUAL } from '../fixture/shape.ts'
import { load } from '../machine/load.ts'
import { openLoad } from '../machine/open.ts'
import type { Server } from '../machine/server.ts'
import type { PartResult, Row } from '../report/result.ts'
import { median } from '../report/statistics.ts'
import { getOf, withServers } from '../rounds.ts'
import type { Bench } from './part.ts'

export const openLoop = { id: 'open-loop', measure }

const SHARES = [0.5, 0.7, 0.9]
const CONNECTIONS = 32
const WARM_UP_SECONDS = 5
/** What was under way ends meanwhile. */
const BETWEEN_MS = 200

const SATURATED = 'saturated: a closed loop'
const nameOf = (share: number) => `${share * 100} % of that, open loop`

async function measure(bench: Bench): Promise<PartResult> {
  const { small } = bench.settings
  const prepared = await bench.fixtures.prepared(small ? { ...USUAL, notes: 200 } : USUAL)
  const rows = await withServers([ours('ours', prepared)], ([server]) => {
    if (!server) throw new Error('the server is not there')
    return measureRounds(bench, server)
  })
  return {
    id: openLoop.id,
    title: 'Latency at a fixed rate',
    method:
      'GET of one note of 10,000 by id, with everything that ships. In each round, 32 connections in a closed loop say ' +
      'how many requests a second the server answers at most. Then requests are due at a fixed rate, at shares of that. ' +
      'Latencies count from when a request was due, also while it waits for one of 32 connections, so no delay is left ' +
      'out (coordinated omission). *Client late* is how much later than due the client itself noticed; it is a part of ' +
      'the latencies.',
    rows,
    targets: [],
    leftOut: [],
  }
}

async function measureRounds(bench: Bench, server: Server): Promise<readonly Row[]> {
  const { rounds, seconds, small } = bench.settings
  if (!small) await load(server.base, getOf(server, CONNECTIONS), WARM_UP_SECONDS)
  const samples = new Map<string, Map<string, number[]>>()
  const keep = (subject: string, figures: Readonly<Record<string, number>>) => {
    const kept = samples.getOrInsertComputed(subject, () => new Map())
    for (const [name, value] of Object.entries(figures)) kept.getOrInsert(name, []).push(value)
  }
  for (let round = 1; round <= rounds; round++) {
    const { perSecond, p50, p99 } = await load(server.base, getOf(server, CONNECTIONS), seconds)
    keep(SATURATED, { 'req/s': perSecond, 'p50 ms': p50, 'p99 ms': p99 })
    // The median so far: one slow round would make the rates of the others too low.
    const saturation = median(samples.get(SATURATED)?.get('req/s') ?? [])
    for (const share of SHARES) {
      await sleep(BETWEEN_MS)
      const { target, base } = server
      const asked = getOf(server, CONNECTIONS, target.ids)
      const found = await openLoad({ ...asked, base, perSecond: share * saturation, seconds })
      keep(nameOf(share), {
        'req/s': found.perSecond,
        'p50 ms': found.p50,
        'p99 ms': found.p99,
        'p99.9 ms': found.p999,
        'client late p99 ms': found.clientLate.p99,
      })
      bench.tell(`round ${round}: ${nameOf(share)}: p99 ${found.p99.toFixed(2)} ms`)
    }
  }
  return [...samples].map(([subject, kept]) => ({ subject, quantities: Object.fromEntries(kept) }))
}
