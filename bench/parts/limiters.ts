/** The limiter on Redis, alone, beside the one that people take: speed, memory, and whether it ever admits too many. */
import { mostAdmitted } from '../engines/bursts.ts'
import type { LimiterFigures, LimiterSettings } from '../engines/time-limiters.ts'
import { measureApart } from '../machine/measure-apart.ts'
import { startRedis } from '../machine/redis.ts'
import type { PartResult, Row, Target } from '../report/result.ts'
import { ratios } from '../report/statistics.ts'
import type { Bench } from './part.ts'

export const limiters = { id: 'limiters', measure }

const PROGRAM = new URL('../engines/time-limiters.ts', import.meta.url).pathname
const POINTS = 100

const OPS = 'ops/s'
const MICROS = 'Redis us/call'
const BYTES = 'bytes/key'
const MOST = `most in any 1 s of ${POINTS}`

async function measure(bench: Bench): Promise<PartResult> {
  const redis = await startRedis()
  try {
    const rows = await measureOn(bench, redis.port)
    return {
      id: limiters.id,
      title: 'The limiter on Redis',
      method:
        'Speed: 64 in flight from one process over 10,000 keys. Most admitted: four processes burst over the edge of a window ' +
        "of one second; times are Redis's where the limiter tells them, else those of the answers.",
      rows,
      targets: targetsOf(rows),
      leftOut: bench.withoutPeers,
    }
  } finally {
    await redis.stop()
  }
}

async function measureOn({ settings, peers, tell }: Bench, port: number): Promise<readonly Row[]> {
  const { small, rounds, seconds } = settings
  const keys = small ? 500 : 50_000
  const asked: LimiterSettings = { port, rounds, seconds, keys, peers: peers !== undefined }
  const figures = await measureApart<Record<string, LimiterFigures>>(PROGRAM, asked)
  const rows: Row[] = []
  for (const [subject, { opsPerSecond, redisMicros, bytesPerKey }] of Object.entries(figures)) {
    tell(`bursts: ${subject}`)
    const bursts = { limiter: subject, port, points: POINTS, peers: peers !== undefined }
    const most = await mostAdmitted(bursts, small ? 1 : rounds)
    const quantities = { [OPS]: opsPerSecond, [MICROS]: redisMicros, [BYTES]: [bytesPerKey], [MOST]: most }
    rows.push({ subject, quantities })
  }
  return rows
}

function targetsOf(rows: readonly Row[]): readonly Target[] {
  const row = (subject: string) => rows.find((one) => one.subject === subject)
  const mine = row('ours')?.quantities
  const all: readonly Target[] = [
    {
      what: 'ops/s / rate-limiter-flexible',
      atLeast: 0.8,
      values: ratios(OPS, row('ours'), row('rate-limiter-flexible')),
    },
    { what: 'bytes a key', atMost: 400, values: mine?.[BYTES] ?? [] },
    // The worst of all trials counts, not their median.
    { what: MOST, atMost: POINTS, values: [Math.max(...(mine?.[MOST] ?? []))] },
  ]
  return all.filter(({ values }) => values.length > 0)
}
