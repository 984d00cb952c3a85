/** Creates the limiter that the configuration asks for. */
import { createFailoverLimiter, type FailoverOptions, sharesOf } from './failover.ts'
import type { Limiter, Quota } from './limiter.ts'
import { createMemoryLimiter } from './memory.ts'

export interface LimiterOptions extends FailoverOptions {
  /**
   * The Redis in which instances share their counts (redis.ts says which Redis is supported); without it each process
   * counts for itself.
   */
  readonly redisUrl?: string | undefined
  /** The number of processes of this instance: without Redis each allows its part of a quota. */
  readonly workers?: number
}

type Quotas = readonly Quota[]

/** Resolves within two seconds, whether Redis answers or not. Never rejects because Redis doesn't answer. */
export async function createLimiter({ redisUrl, workers = 1, ...options }: LimiterOptions): Promise<Limiter> {
  const memory = createMemoryLimiter()
  const local =
    workers === 1 ? memory : { ...memory, admit: (quotas: Quotas) => memory.admit(sharesOf(quotas, workers)) }
  if (redisUrl === undefined) return local
  // The Redis client takes time to load; a start without Redis must not wait for it.
  const { createRedisLimiter } = await import('./redis.ts')
  return createFailoverLimiter(createRedisLimiter(redisUrl), local, options)
}
