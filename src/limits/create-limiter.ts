/** Which limiter a configuration asks for. */
import { createFailoverLimiter, type FailoverOptions, sharesOf } from './failover.ts'
import type { Limiter, Quota } from './limiter.ts'
import { createMemoryLimiter } from './memory.ts'

export interface LimiterOptions extends FailoverOptions {
  /** Where instances share their counts (redis.ts says which Redis); without it each process counts for itself. */
  readonly redisUrl?: string | undefined
  /** Processes of this instance: without Redis each of them allows its part of a quota. */
  readonly workers?: number
}

type Quotas = readonly Quota[]

/** Resolves within two seconds, whether Redis answers or not. Never rejects for a Redis that doesn't. */
export async function createLimiter({ redisUrl, workers = 1, ...options }: LimiterOptions): Promise<Limiter> {
  const memory = createMemoryLimiter()
  const local =
    workers === 1 ? memory : { ...memory, admit: (quotas: Quotas) => memory.admit(sharesOf(quotas, workers)) }
  if (redisUrl === undefined) return local
  // Its client takes time to load, which a start without Redis needn't spend.
  const { createRedisLimiter } = await import('./redis.ts')
  return createFailoverLimiter(createRedisLimiter(redisUrl), local, options)
}
