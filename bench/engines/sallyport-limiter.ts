/** The server's Redis limiter, alone. The same module serves the peers' `limiters.mjs --extra`. */
import { createRedisLimiter } from '../../src/limits/redis.ts'
import type { LimiterEngine, LimiterOptions } from './limiter-engine.ts'

/** What is measured is each call, however long it takes; the server's own limit is for callers who wait. */
const ANSWER_MS = 60_000

export async function create({ port, points, duration, prefix }: LimiterOptions): Promise<LimiterEngine> {
  const limiter = createRedisLimiter(`redis://127.0.0.1:${port}`, ANSWER_MS)
  await limiter.connect()
  return {
    consume: async (key) => {
      const quota = { name: prefix, key: `${prefix}:${key}`, allow: points, windowMs: duration * 1000 }
      const { admitted, atMicros } = await limiter.admit([quota])
      return { ok: admitted, at: atMicros }
    },
    close: () => limiter.disconnect(),
  }
}
