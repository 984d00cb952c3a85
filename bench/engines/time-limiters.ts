/** A process of its own that measures limiters side by side on one Redis; settings in its argument, figures on stdout. */
import { Redis } from 'ioredis'
import { median } from '../report/statistics.ts'
import type { CreateLimiter, LimiterEngine } from './limiter-engine.ts'
import { limiters } from './limiters.ts'

export interface LimiterSettings {
  readonly port: number
  readonly rounds: number
  readonly seconds: number
  /** Callers that are counted when the memory of one is taken. */
  readonly keys: number
  readonly peers: boolean
}

/** A value a round; bytes are measured once. */
export interface LimiterFigures {
  readonly opsPerSecond: readonly number[]
  /** Microseconds of Redis's own time. */
  readonly redisMicros: readonly number[]
  readonly bytesPerKey: number
}

const IN_FLIGHT = 64
const CALLERS = 10_000
const NEVER_REACHED = 1_000_000_000

const settings: LimiterSettings = JSON.parse(process.argv[2] ?? '{}')
const admin = new Redis({ port: settings.port })
process.stdout.write(JSON.stringify(await timeLimiters(settings)))
admin.disconnect()

async function timeLimiters({ rounds, seconds, keys, peers }: LimiterSettings) {
  const found = await limiters(peers)
  const figures = new Map([...found.keys()].map((name) => [name, { ops: [] as number[], micros: [] as number[] }]))
  for (let round = 1; round <= rounds; round++) {
    for (const [name, create] of found) {
      const { opsPerSecond, redisMicros } = await timeOnce(create, seconds)
      figures.get(name)?.ops.push(opsPerSecond)
      figures.get(name)?.micros.push(redisMicros)
    }
  }
  const all: Record<string, LimiterFigures> = {}
  for (const [name, { ops, micros }] of figures) {
    const create = found.get(name)
    if (create) all[name] = { opsPerSecond: ops, redisMicros: micros, bytesPerKey: await bytesPerKey(create, keys) }
  }
  return all
}

async function timeOnce(create: CreateLimiter, seconds: number) {
  await admin.flushall()
  const limiter = await create({ port: settings.port, points: NEVER_REACHED, duration: 60, prefix: 'speed' })
  await consumeFor(limiter, seconds / 2)
  await admin.config('RESETSTAT')
  const calls = await consumeFor(limiter, seconds)
  // A limiter may put several calls into one script.
  const redisMicros = (await microsOfScripts()) / calls
  limiter.close()
  return { opsPerSecond: calls / seconds, redisMicros }
}

/** How many were answered. */
async function consumeFor(limiter: LimiterEngine, seconds: number): Promise<number> {
  const end = performance.now() + seconds * 1000
  let count = 0
  const asking = async () => {
    // At least once, however busy the machine is.
    do await limiter.consume(`u${count++ % CALLERS}`)
    while (performance.now() < end)
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, asking))
  return count
}

/** With the commands in them. */
async function microsOfScripts(): Promise<number> {
  const stats = await admin.info('commandstats')
  const scripts = [...stats.matchAll(/^cmdstat_(?:evalsha|eval|fcall):calls=\d+,usec=(\d+)/gm)]
  return scripts.reduce((total, match) => total + Number(match[1]), 0)
}

/** The median of what `MEMORY USAGE` says of the keys of callers that each asked once. */
async function bytesPerKey(create: CreateLimiter, keys: number): Promise<number> {
  await admin.flushall()
  const limiter = await create({ port: settings.port, points: NEVER_REACHED, duration: 600, prefix: 'rl' })
  for (let from = 0; from < keys; from += 500) {
    await Promise.all(Array.from({ length: 500 }, (_, i) => limiter.consume(`u${100_000 + from + i}`)))
  }
  const sizes: number[] = []
  for await (const names of admin.scanStream({ count: 1000 })) {
    for (const name of names.slice(0, 20)) sizes.push(Number(await admin.memory('USAGE', name)))
  }
  limiter.close()
  return median(sizes)
}
