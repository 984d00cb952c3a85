/** Opens the rate limiter that the configuration names, and reports when Redis is lost. */
import type { Logger } from 'pino'
import type { Config } from '../../config/config.ts'
import { createLimiter } from '../../limits/create-limiter.ts'
import { type Limiter, whyLost } from '../../limits/limiter.ts'
import type { Metrics } from '../observe/metrics.ts'

export function openLimiter(
  { redisUrl, limitInstances, workers }: Config,
  log: Logger,
  metrics: Metrics,
): Promise<Limiter> {
  metrics.limiterState('ok')
  return createLimiter({
    ...(redisUrl === undefined ? {} : { redisUrl }),
    instances: limitInstances,
    workers,
    observe: (event) => {
      metrics.limiterState(event.kind === 'lost' ? 'degraded' : 'ok')
      if (event.kind === 'lost') {
        log.error({ err: event.cause }, `${whyLost(event.cause)}: this process counts rate limits alone`)
      } else log.info('Redis answers again: rate limits are shared')
    },
  })
}
