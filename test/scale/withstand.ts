/** Runs a cluster under load through a fault, judges it, and keeps a row for the table at the end. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { type Evidence, judge, recordsIn, type Span, type Verdict } from './checker.ts'
import { Cluster, type ClusterOptions, type LogLine, until } from './cluster.ts'
import type { FaultName } from './faults.ts'
import { History } from './history.ts'
import { keepEvidence } from './keep-evidence.ts'
import { longestLag, longestRefusal } from './longest.ts'
import { observe } from './observed.ts'
import { fill, publish, readAll } from './office.ts'
import { FIRST, LIMIT, WRITERS } from './world.ts'

interface Row {
  readonly fault: FaultName
  readonly verdict: Verdict
  readonly refusedMs: number
  readonly lagMs: number
  readonly said: readonly string[]
}

const rows: Row[] = []
const unproven: string[] = []
process.on('exit', () => {
  // Not among the results of tests that run side by side.
  if (rows.length + unproven.length > 0 && process.env.MOCHA_WORKER_ID === undefined) process.stdout.write(table())
})

export interface Fault extends ClusterOptions {
  readonly name: FaultName
  /** The least load before the fault and after the recovery. */
  readonly calmMs?: number
  /** Resolves when the operator has done everything; from then on, the instances recover by themselves. */
  readonly happen: (cluster: Cluster, history: History) => Promise<void>
}

/** A promise that can't be tested here must not look like a kept one: the table names it, and the suite fails. */
export function untested(fault: FaultName, why: string, cause: unknown): never {
  unproven.push(`${fault} | untested: ${why}`)
  throw new Error(`untested: ${fault}, because ${why}`, { cause })
}

type Unprepared = Omit<Fault, 'name'>

/** A machine with other work takes longer; a client that is never served again is a fault. */
const RECOVERED_WITHIN_MS = 180_000
const LEAST_WRITES = 3

/** For so long, and until each writer has written some times. */
async function calm(history: History, milliseconds: number): Promise<void> {
  const since = performance.now()
  await sleep(milliseconds)
  await until(() => history.hasWritten(since, LEAST_WRITES), RECOVERED_WITHIN_MS)
}

/** Fails for any fault that the checker finds, or if a client isn't served again. */
export async function withstand(fault: Fault): Promise<Evidence> {
  const { calmMs = 3000 } = fault
  return underLoad(fault, async (cluster, history) => {
    const observed = observe(cluster)
    await calm(history, calmMs)
    await fault.happen(cluster, history)
    const healed = performance.now()
    await until(() => history.hasRecovered(healed), RECOVERED_WITHIN_MS)
    await calm(history, calmMs)
    await history.end()
    const evidence = await collect(cluster, history)
    const verdict = judge(evidence)
    const { operations } = evidence
    const times = { refusedMs: longestRefusal(operations), lagMs: longestLag(evidence) }
    rows.push({ fault: fault.name, verdict, ...times, said: await observed.end(operations) })
    const { writes, ...faults } = verdict
    expect(faults, JSON.stringify(faults)).to.deep.equal({
      lost: [],
      doubled: [],
      unrecorded: [],
      repeated: [],
      wrong: [],
      stale: [],
      overAdmitted: [],
    })
    // In each calm, every writer updates and creates.
    expect(writes).to.be.greaterThan(2 * WRITERS.length * LEAST_WRITES)
    return evidence
  })
}

/** What the checker finds after a fault that nothing is prepared for; nobody waits until clients are served again. */
export async function verdictAfter(fault: Unprepared): Promise<Verdict> {
  return underLoad(fault, async (cluster, history) => {
    await calm(history, fault.calmMs ?? 3000)
    await fault.happen(cluster, history)
    await history.end()
    return judge(await collect(cluster, history))
  })
}

type Load<T> = (cluster: Cluster, history: History) => Promise<T>

async function underLoad<T>(options: ClusterOptions, work: Load<T>): Promise<T> {
  const cluster = await Cluster.start(options, async (made) => {
    made.makeSigningKey()
    await publish(made, 'open', FIRST)
  })
  let history: History | undefined
  try {
    history = new History(cluster, await fill(cluster))
    history.begin()
    return await work(cluster, history)
  } catch (error) {
    const kept = keepEvidence(cluster, history)
    throw new Error(`${(error as Error).message} (logs and requests: ${kept})`, { cause: error })
  } finally {
    await cluster.remove()
  }
}

/** Also while the load goes on. */
export async function collect(cluster: Cluster, history: History): Promise<Evidence> {
  // First the outbox, then the logs: a record may move meanwhile.
  const { tasks, outbox, versions } = await readAll(cluster)
  const logs = cluster.instances.map(({ decisions }) => recordsIn(decisions))
  return {
    operations: history.operations,
    removals: history.removals,
    tasks,
    records: [...recordsIn(outbox), ...logs.flat()],
    logs,
    published: history.published,
    versions,
    limit: LIMIT,
    redisLost: cluster.instances.flatMap(({ log }) => timesWithoutRedis(log)),
  }
}

function timesWithoutRedis(log: readonly LogLine[]): readonly Span[] {
  const spans: Span[] = []
  let from: number | undefined
  for (const { at, line } of log) {
    if (String(line.msg).startsWith('Redis does not answer')) from ??= at
    if (from !== undefined && String(line.msg).startsWith('Redis answers again')) {
      spans.push({ from, to: at })
      from = undefined
    }
  }
  return from === undefined ? spans : [...spans, { from, to: Number.POSITIVE_INFINITY }]
}

function table(): string {
  const counted = 'writes | lost | doubled | without record | with two | wrong | stale | over-admitted'
  const head = `fault | ${counted} | longest refusal | policy lag`
  const lines = rows.map(({ fault, verdict, refusedMs, lagMs }) => {
    const { writes, lost, doubled, unrecorded, repeated, wrong, stale, overAdmitted } = verdict
    const counts = [lost, doubled, unrecorded, repeated, wrong, stale, overAdmitted].map(({ length }) => length)
    return [fault, writes, ...counts, seconds(refusedMs), seconds(lagMs)].join(' | ')
  })
  const said = rows.flatMap(({ fault, said: all }) => [`${fault}:`, ...all.map((one) => `  ${one}`)])
  return `\n${[head, ...lines, ...unproven, '', 'What the instances answered and logged:', ...said].join('\n')}\n`
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`
}
