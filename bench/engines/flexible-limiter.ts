/** rate-limiter-flexible on ioredis with auto-pipelining, its quickest form. Its package is the peers'. */
import { Redis } from 'ioredis'
import { loadPeerPackage } from '../machine/peer-packages.ts'
import type { CreateLimiter } from './limiter-engine.ts'

/** What is used of the package. */
interface Flexible {
  readonly RateLimiterRedis: new (options: object) => { consume(key: string): Promise<unknown> }
}

export async function loadFlexible(): Promise<CreateLimiter> {
  const { RateLimiterRedis } = (await loadPeerPackage('rate-limiter-flexible')) as Flexible
  return async ({ port, points, duration, prefix }) => {
    const redis = new Redis({ port, enableAutoPipelining: true })
    await redis.ping()
    const limiter = new RateLimiterRedis({ storeClient: redis, points, duration, keyPrefix: prefix })
    return {
      consume: async (key) => ({ ok: await isAdmitted(limiter.consume(key)), at: micros() }),
      close: () => redis.disconnect(),
    }
  }
}

/** A refusal rejects with something that is no error. */
async function isAdmitted(consumed: Promise<unknown>): Promise<boolean> {
  try {
    await consumed
    return true
  } catch (refusal) {
    if (refusal instanceof Error) throw refusal
    return false
  }
}

function micros(): number {
  return (performance.timeOrigin + performance.now()) * 1000
}
