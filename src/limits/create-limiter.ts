/** Which limiter a configuration asks for. */
import { createFailoverLimiter, type FailoverOptions } from './failover.ts'
import type { Limiter } from './limiter.ts'
import { createMemoryLimiter } from './memory.ts'

export interface LimiterOptions extends FailoverOptions {
  /** Where instances share their counts (redis.ts says which Redis); without it each process counts for itself. */
  readonly redisUrl?: string | undefined
}

/** Resolves within two seconds, whether Redis answers or not. Never rejects for a Redis that doesn't. */
export async function createLimiter({ redisUrl, ...options }: LimiterOptions): Promise<Limiter> {
  const local = createMemoryLimiter()
  if (redisUrl === undefined) return local
  // Its client takes time to load, which a start without Redis needn't spend.
  const { createRedisLimiter } = await import('./redis.ts')
  return createFailoverLimiter(createRedisLimiter(redisUrl), local, options)
}
