/** Holds the two backends equal: the in-process one is given the times at which Redis decided. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import type { Quota } from '../../src/limits/limiter.ts'
import { createMemoryLimiter } from '../../src/limits/memory.ts'
import type { RedisLimiter } from '../../src/limits/redis.ts'
import { uniqueKey } from './contract.ts'
import { milliseconds } from './microseconds.ts'

export interface Ask {
  readonly quotas: readonly Quota[]
  readonly waitMs: number
  /** By how much Redis's clock steps back before. */
  readonly stepBackMs: number
}

interface Times {
  readonly windowsMs: readonly number[]
  readonly waitsMs: readonly number[]
  readonly stepsBackMs: readonly number[]
}

/** One to three quotas with keys of their own, at once or after a wait; now and then a key's quota is another. */
export function asksWith({ windowsMs, waitsMs, stepsBackMs }: Times): fc.Arbitrary<readonly Ask[]> {
  const quota = fc.record({
    name: fc.constantFrom('a', 'b', 'c'),
    allow: fc.constantFrom(1, 3, 3, 3, 20),
    windowMs: fc.constantFrom(...windowsMs),
  })
  const quotas = fc
    .uniqueArray(quota, { minLength: 1, maxLength: 3, selector: ({ name }) => name })
    .map((some) => some.map((one) => ({ ...one, key: one.name })))
  const ask = fc.record({ quotas, waitMs: fc.constantFrom(...waitsMs), stepBackMs: fc.constantFrom(...stepsBackMs) })
  return fc.array(ask, { minLength: 1, maxLength: 40 })
}

/** Their answers must be the same in every figure. */
export async function decidesAlike(
  limiter: RedisLimiter,
  many: readonly Ask[],
  stepBack: (milliseconds: number) => void,
): Promise<void> {
  let atMicros = 0
  const memory = createMemoryLimiter({ now: () => milliseconds(atMicros) })
  const run = uniqueKey()
  for (const ask of many) {
    if (ask.waitMs > 0) await sleep(ask.waitMs)
    stepBack(ask.stepBackMs)
    const asked = ask.quotas.map((quota) => ({ ...quota, key: run + quota.key }))
    const { atMicros: at, ...admission } = await limiter.admit(asked)
    atMicros = at
    expect(admission).to.deep.equal(await memory.admit(asked))
  }
}
