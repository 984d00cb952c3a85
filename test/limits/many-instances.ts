/** Several instances that ask for one key all the time, and the bound on what they may admit over a failover. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { readConfig } from '../../src/config/config.ts'
import { SUB_WINDOWS } from '../../src/limits/sliding-window.ts'
import type { Metrics } from '../../src/server/observe/metrics.ts'
import { openLimiter } from '../../src/server/parts/open-limiter.ts'
import { quotaFor } from './contract.ts'
import { INSTANCES, open } from './on-redis.ts'

interface Load {
  readonly allow: number
  readonly everyMs: number
  readonly key: string
}

/** All in one window: none ends during a test. */
const WINDOW_MS = 60_000

export interface Askers {
  readonly allow: number
  /** When each was admitted, in milliseconds of performance.now(). */
  admitted(): readonly number[]
  refused(): number
  states(): readonly string[]
  stop(): Promise<readonly number[]>
}

/** As many instances as a limiter of on-redis.ts thinks there are. None of their answers may be an error. */
export async function startAskers(url: string, { allow, everyMs, key }: Load): Promise<Askers> {
  const admitted: number[] = []
  let refused = 0
  let isAsking = true
  const limiters = await Promise.all(Array.from({ length: INSTANCES }, () => open(url)))
  const quota = quotaFor({ allow, key, windowMs: WINDOW_MS })
  const askers = limiters.map(async ({ limiter }) => {
    while (isAsking) {
      if ((await limiter.admit([quota])).admitted) admitted.push(performance.now())
      else refused += 1
      await sleep(everyMs)
    }
  })
  return {
    allow,
    admitted: () => admitted,
    refused: () => refused,
    states: () => limiters.map(({ limiter }) => limiter.state()),
    stop: async () => {
      isAsking = false
      await Promise.all(askers)
      return admitted
    },
  }
}

/**
 * The most that a window with one failover admits (docs/instances.md): what is allowed, again by the instances that count
 * alone, and again what was admitted in the sub-window before the failover, of which the replica may not know.
 */
export function mostOf({ allow }: Askers, admitted: readonly number[], failedAt: number): number {
  const alone = INSTANCES * Math.max(1, Math.floor(allow / INSTANCES))
  const lost = admitted.filter((at) => at <= failedAt && at > failedAt - WINDOW_MS / SUB_WINDOWS).length
  return allow + alone + lost
}

interface Logged {
  readonly text: string
  readonly details: unknown
}

/** What is logged for a start and ten requests, and how the limiter stands then. */
export async function logOf(url: string): Promise<{ readonly logged: readonly Logged[]; readonly state: string }> {
  const logged: Logged[] = []
  const log = {
    error: ({ err }: { err: Error }, text: string) => logged.push({ text, details: `${err.stack} ${err.cause}` }),
    info: (text: string) => logged.push({ text, details: undefined }),
  }
  const metrics = { limiterState: () => undefined } as unknown as Metrics
  const limiter = await openLimiter(readConfig({ REDIS_URL: url }), log as unknown as Logger, metrics)
  for (let i = 0; i < 10; i++) await limiter.admit([quotaFor({}), quotaFor({})])
  const state = limiter.state()
  await limiter.close()
  return { logged, state }
}
