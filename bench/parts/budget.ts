/** Where the time of a guarded GET goes: the server's own CPU profile under load, by stage. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { withProfile } from '../contenders.ts'
import { BenchFailure } from '../failure.ts'
import { USUAL } from '../fixture/shape.ts'
import { type CpuProfile, type Span, shareOfStages } from '../machine/cpu-profile.ts'
import { load } from '../machine/load.ts'
import { type Server, startServer } from '../machine/server.ts'
import { usageOf } from '../machine/usage.ts'
import type { PartResult, Row } from '../report/result.ts'
import { median } from '../report/statistics.ts'
import { getOf } from '../rounds.ts'
import type { Bench } from './part.ts'

export const budget = { id: 'budget', measure }

const CONNECTIONS = 32
const MICROS = 'us/req'

/** Stages that take less are told as one. */
const LEAST_MICROS = 0.2

async function measure(bench: Bench): Promise<PartResult> {
  const rounds: ReadonlyMap<string, number>[] = []
  for (let round = 1; round <= bench.settings.rounds; round++) {
    bench.tell(`round ${round}`)
    rounds.push(await profileOnce(bench))
  }
  return {
    id: budget.id,
    title: 'Where the time of a guarded GET goes',
    method:
      "`node --cpu-prof` under the load of the guarded GET: each stage's share of the samples, of the CPU time of a request. " +
      'Built-in functions count for who called them. The profiler costs time too, so that the sum is more than a request takes without it.',
    rows: rowsOf(rounds),
    targets: [],
    leftOut: [],
  }
}

/** The largest first. */
function rowsOf(rounds: readonly ReadonlyMap<string, number>[]): readonly Row[] {
  const stages = new Set(rounds.flatMap((round) => [...round.keys()]))
  const all = [...stages].map((stage) => ({ stage, sample: rounds.map((round) => round.get(stage) ?? 0) }))
  const large = all.filter(({ sample }) => median(sample) >= LEAST_MICROS)
  const little = all.filter((one) => !large.includes(one))
  const rest = rounds.map((_, i) => little.reduce((sum, { sample }) => sum + (sample[i] ?? 0), 0))
  const told = [...large.toSorted((a, b) => median(b.sample) - median(a.sample)), { stage: 'all else', sample: rest }]
  return told.map(({ stage, sample }) => ({ subject: stage, quantities: { [MICROS]: sample } }))
}

/** Stage -> microseconds of a request. */
async function profileOnce({ settings, fixtures }: Bench): Promise<ReadonlyMap<string, number>> {
  const prepared = await fixtures.prepared(settings.small ? { ...USUAL, notes: 200 } : USUAL)
  const folder = await fixtures.scratch()
  const { span, micros } = await loadUnderProfile(await startServer(withProfile('ours', prepared, folder)), settings)
  const shares = shareOfStages(await readProfile(folder), span)
  return new Map([...shares].map(([stage, share]) => [stage, share * micros]))
}

/** The profile is written when the server stops. */
async function loadUnderProfile(
  server: Server,
  { seconds }: Bench['settings'],
): Promise<{ span: Span; micros: number }> {
  try {
    const requests = getOf(server, CONNECTIONS)
    await load(server.base, requests, seconds)
    const before = usageOf(server.pid)
    const from = monotonicMicros()
    const figures = await load(server.base, requests, seconds)
    const micros = (usageOf(server.pid).cpuMicros - before.cpuMicros) / figures.requests
    return { span: { from, to: monotonicMicros() }, micros }
  } finally {
    await server.stop()
  }
}

function monotonicMicros(): number {
  return Number(process.hrtime.bigint()) / 1000
}

/** Threads leave profiles too; the loop that answers has the largest. */
async function readProfile(folder: string): Promise<CpuProfile> {
  const names = (await readdir(folder)).filter((file) => file.endsWith('.cpuprofile'))
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))
  const largest = texts.toSorted((a, b) => b.length - a.length)[0]
  if (largest === undefined) throw new BenchFailure('the server left no CPU profile')
  return JSON.parse(largest)
}
