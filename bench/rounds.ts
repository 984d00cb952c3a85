/** Rounds over contenders that all run: within a round each is asked in turn, so that what the machine does meets them all. */
import { setTimeout as sleep } from 'node:timers/promises'
import { BenchFailure } from './failure.ts'
import { type LoadFigures, load, type Requests } from './machine/load.ts'
import { type Contender, type Server, startServer } from './machine/server.ts'
import { usageOf } from './machine/usage.ts'
import type { Bench } from './parts/part.ts'
import type { Row } from './report/result.ts'

export interface Asked {
  readonly subject: string
  readonly server: Server
  readonly requests: Requests
  /** The database that works for the server; its CPU time is told apart. */
  readonly database?: { cpuMicros(): number }
}

const CONNECTIONS = 32

/**
 * Rounds of at most a second before those that count: V8 compiles what is hot for some seconds, on the server's own CPU,
 * and some of it again when a load has ended and the next one comes.
 */
const WARM_UPS = 6

/** After a pause: timers that are due come first. Where the figures mean nothing, nobody waits for them. */
const [RESUMED_MS, SMALL_RESUMED_MS] = [200, 10]

const MOST_UNDER_WAY_MS = 2000

/** Starts them all, measures the guarded GET of each in every round, and stops them. Throws BenchFailure. */
export async function compareGets(
  bench: Bench,
  contenders: readonly Contender[],
  leftOut: string[],
): Promise<readonly Row[]> {
  const measure = (servers: readonly Server[]) =>
    measureRounds(
      bench,
      servers.map((server) => ({ subject: server.name, server, requests: getOf(server, CONNECTIONS) })),
    )
  return withServers(contenders, measure, leftOut)
}

/** Of the target's ids, or of others of the same caller. */
export function getOf({ target }: Server, connections: number, ids = target.ids): Requests {
  const { path, token } = target
  return { method: 'GET', paths: ids.map((id) => `${path}${id}`), token, connections }
}

/** Of the collection that the target's objects are in. */
export function listOf({ target: { path, token } }: Server, query: string, connections: number): Requests {
  return { method: 'GET', paths: [`${collectionOf(path)}${query}`], token, connections }
}

/** Another note in each request, as large as the stored ones. */
export function createOf({ target: { path, token } }: Server, connections: number): Requests {
  const body = JSON.stringify({ title: 'Note %d', body: '%d '.padEnd(158, 'lorem ipsum ') })
  return { method: 'POST', paths: [collectionOf(path)], token, body, connections }
}

function collectionOf(path: string): string {
  return path.replace(/\/$/, '')
}

/** Those that may fail, and do, are left out; why is added to `leftOut`. Throws BenchFailure for the others. */
export async function withServers<T>(
  contenders: readonly Contender[],
  use: (servers: readonly Server[]) => Promise<T>,
  leftOut: string[] = [],
): Promise<T> {
  const servers: Server[] = []
  try {
    for (const contender of contenders) {
      try {
        servers.push(await startServer(contender))
      } catch (error) {
        if (!contender.mayFail || !(error instanceof BenchFailure)) throw error
        leftOut.push(error.message)
      }
    }
    return await use(servers)
  } finally {
    await Promise.all(servers.map((server) => server.stop()))
  }
}

/**
 * The servers share a CPU, so those that aren't asked are paused: what they do by themselves would be measured with
 * each other one.
 */
export async function measureRounds(bench: Bench, asked: readonly Asked[]): Promise<readonly Row[]> {
  for (const { server } of asked) server.pause()
  const { rounds, seconds, small } = bench.settings
  for (let round = 1; !small && round <= WARM_UPS; round++) {
    for (const one of orderOf(asked, round)) await measure(one, Math.min(1, seconds))
  }
  const samples = new Map(asked.map(({ subject }) => [subject, new Map<string, number[]>()]))
  for (let round = 1; round <= rounds; round++) {
    for (const one of orderOf(asked, round)) {
      const figures = await measure(one, seconds, small ? SMALL_RESUMED_MS : RESUMED_MS)
      bench.tell(`round ${round}: ${one.subject}: ${figures['req/s'].toFixed(0)} req/s`)
      const kept = samples.get(one.subject)
      for (const [name, value] of Object.entries(figures)) kept?.getOrInsert(name, []).push(value)
    }
  }
  return [...samples].map(([subject, kept]) => ({ subject, quantities: Object.fromEntries(kept) }))
}

/**
 * Another one begins each round, and every other round goes backwards: whoever comes first, or after the same one each
 * time, would have what that one leaves behind (caches, clocks, sockets).
 */
export function orderOf<T>(all: readonly T[], round: number): readonly T[] {
  const first = (round * 3) % Math.max(1, all.length)
  const turned = [...all.slice(first), ...all.slice(0, first)]
  return round % 2 === 0 ? turned.toReversed() : turned
}

type Figures = Readonly<Record<string, number>> & { readonly 'req/s': number }

async function measure(
  { subject, server, requests, database }: Asked,
  seconds: number,
  resumedMs = RESUMED_MS,
): Promise<Figures> {
  server.resume()
  await sleep(resumedMs)
  const before = usageOf(server.pid)
  const databaseBefore = database?.cpuMicros() ?? 0
  const figures = await loadOf(subject, server, requests, seconds)
  const after = usageOf(server.pid)
  const databaseMicros = database && database.cpuMicros() - databaseBefore
  // What was under way when the load ended would be measured with what the server is asked next.
  await sleep(Math.min(MOST_UNDER_WAY_MS, (requests.connections / figures.perSecond) * 1000))
  server.pause()
  return {
    'req/s': figures.perSecond,
    'CPU us/req': (after.cpuMicros - before.cpuMicros) / figures.requests,
    ...(databaseMicros !== undefined && { 'PostgreSQL CPU us/req': databaseMicros / figures.requests }),
    'p50 ms': figures.p50,
    'p99 ms': figures.p99,
    'RSS MiB': after.mebibytes,
  }
}

async function loadOf(subject: string, server: Server, requests: Requests, seconds: number): Promise<LoadFigures> {
  try {
    return await load(server.base, requests, seconds)
  } catch (error) {
    throw error instanceof BenchFailure ? new BenchFailure(`\`${subject}\`: ${error.message}`) : error
  }
}
