/** How long a guarded GET takes while another client creates at a fixed rate, which waits for the disk again and again. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ours } from '../contenders.ts'
import { USUAL } from '../fixture/shape.ts'
import { load } from '../machine/load.ts'
import { openLoad } from '../machine/open.ts'
import type { Server } from '../machine/server.ts'
import type { Row, Target } from '../report/result.ts'
import { ratios } from '../report/statistics.ts'
import { createOf, getOf, withServers } from '../rounds.ts'
import type { Bench } from './part.ts'

const READS_PER_SECOND = 1000
const CREATES_PER_SECOND = 1000
/** More than wait at a server that keeps up. */
const CONNECTIONS = 64

const WARM_UP_SECONDS = 5
/** The creates begin before the reads, and end after them. */
const AROUND_MS = 300

const ALONE = 'guarded GET, 1,000/s'
const BESIDE = 'guarded GET, 1,000/s, beside 1,000 creates/s'
const CREATES = 'create, 1,000/s, beside 1,000 guarded GETs/s'

export const BESIDE_METHOD =
  'Reads beside writes: a guarded GET and a create are sent 1,000 times a second each, whether or not the earlier ones ' +
  'are answered. This server may use all CPUs, because one thread answers and another one writes.'

type Figures = Readonly<Record<string, number>>

export async function measureBesideWrites(bench: Bench): Promise<readonly Row[]> {
  const prepared = await bench.fixtures.prepared(bench.settings.small ? { ...USUAL, notes: 200 } : USUAL, 'beside')
  return withServers([{ ...ours('beside writes', prepared), cpu: 'any' }], async ([server]) => {
    if (!server) throw new Error('the server is not there')
    if (!bench.settings.small) await load(server.base, getOf(server, 32), WARM_UP_SECONDS)
    const rows = new Map<string, Map<string, number[]>>()
    for (let round = 1; round <= bench.settings.rounds; round++) {
      const measured = await measureRound(server, bench.settings.seconds)
      for (const [subject, figures] of Object.entries(measured)) {
        const kept = rows.getOrInsertComputed(subject, () => new Map())
        for (const [name, value] of Object.entries(figures)) kept.getOrInsert(name, []).push(value)
      }
      const p99 = (subject: string) => measured[subject]?.['p99 ms']?.toFixed(2)
      bench.tell(`round ${round}: p99 of ${ALONE}: ${p99(ALONE)} ms; beside creates: ${p99(BESIDE)} ms`)
    }
    return [...rows].map(([subject, kept]) => ({ subject, quantities: Object.fromEntries(kept) }))
  })
}

async function measureRound(server: Server, seconds: number): Promise<Readonly<Record<string, Figures>>> {
  const { base } = server
  const reads = () => openLoad({ ...getOf(server, CONNECTIONS), base, perSecond: READS_PER_SECOND, seconds })
  const alone = await reads()
  const lasting = seconds + (2 * AROUND_MS) / 1000
  const creates = openLoad({ ...createOf(server, CONNECTIONS), base, perSecond: CREATES_PER_SECOND, seconds: lasting })
  const [beside, created] = await Promise.all([sleep(AROUND_MS).then(reads), creates])
  const figuresOf = ({ perSecond, p50, p99 }: typeof alone) => ({ 'req/s': perSecond, 'p50 ms': p50, 'p99 ms': p99 })
  return { [ALONE]: figuresOf(alone), [BESIDE]: figuresOf(beside), [CREATES]: figuresOf(created) }
}

export function besideTargets(rows: readonly Row[]): readonly Target[] {
  const row = (subject: string) => rows.find((one) => one.subject === subject)
  const values = ratios('p99 ms', row(BESIDE), row(ALONE))
  return [{ what: 'p99 of a guarded GET beside 1,000 creates a second / alone', atMost: 2, values }]
}
