/** A limiter as it is often written, for comparison: a counter that ends a window after its first request. */
import { Redis } from 'ioredis'
import type { Quota } from '../../src/limits/limiter.ts'

const SCRIPT = `
local time = redis.call('TIME')
local used = redis.call('INCR', KEYS[1])
if used == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return { used <= tonumber(ARGV[1]) and 1 or 0, time[1] * 1000000 + time[2] }
`

export interface TimedAnswer {
  readonly admitted: boolean
  readonly atMicros: number
}

export function createFixedWindow(url: string) {
  const client = new Redis(url)
  return {
    async admit([quota]: readonly [Quota]): Promise<TimedAnswer> {
      const answer = await client.eval(SCRIPT, 1, quota.key, quota.allow, quota.windowMs)
      const [admitted, atMicros = 0] = answer as readonly number[]
      return { admitted: admitted === 1, atMicros }
    },
    disconnect: () => client.disconnect(),
  }
}
