/** The guarded GET with its limits counted in Redis, as several instances share them. */
import { bare, ours } from '../contenders.ts'
import { USUAL } from '../fixture/shape.ts'
import { startRedis } from '../machine/redis.ts'
import type { PartResult } from '../report/result.ts'
import { ratios } from '../report/statistics.ts'
import { compareGets } from '../rounds.ts'
import type { Bench } from './part.ts'

export const redisLimits = { id: 'redis-limits', measure }

async function measure(bench: Bench): Promise<PartResult> {
  const usual = await bench.fixtures.prepared(bench.settings.small ? { ...USUAL, notes: 200 } : USUAL)
  const inProcess = await bench.fixtures.prepared(bench.settings.small ? { ...USUAL, notes: 200 } : USUAL, 'in process')
  const redis = await startRedis()
  try {
    const port = String(redis.port)
    const leftOut = [...bench.withoutPeers]
    const contenders = [
      bare('bare node:http', usual.target),
      ...(bench.peers
        ? [{ ...bench.peers.contender('Koa by hand', { REDIS_PORT: port }), name: 'Koa by hand, Redis' }]
        : []),
      ours('ours', inProcess),
      ours('ours, Redis', usual, { REDIS_URL: `redis://127.0.0.1:${port}` }),
    ]
    const rows = await compareGets(bench, contenders, leftOut)
    const row = (subject: string) => rows.find((one) => one.subject === subject)
    const ratio = (under: string) => ratios('req/s', row('ours, Redis'), row(under))
    return {
      id: redisLimits.id,
      title: 'The guarded GET with limits in Redis',
      method: 'As above, the limits of a request counted in Redis in one round trip; Redis on the CPU of the load.',
      rows,
      targets: [
        { what: 'req/s / bare node:http', atLeast: 0.3, values: ratio('bare node:http') },
        { what: 'req/s / ours without Redis', atLeast: 0.85, values: ratio('ours') },
      ],
      leftOut,
    }
  } finally {
    await redis.stop()
  }
}
