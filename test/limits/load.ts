/** Ways to ask a limiter, and how long it took. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Admitter, quotaFor } from './contract.ts'

/** How many of `times` requests at once are admitted. */
export async function admittedOf(limiter: Admitter, times: number, quota = quotaFor({})): Promise<number> {
  const answers = await Promise.all(Array.from({ length: times }, () => limiter.admit([quota])))
  return answers.filter(({ admitted }) => admitted).length
}

export async function oneByOne(limiter: Admitter, times: number): Promise<void> {
  for (let ask = 0; ask < times; ask++) await limiter.admit([quotaFor({})])
}

export async function millisecondsFor(work: () => unknown): Promise<number> {
  const from = performance.now()
  await work()
  return performance.now() - from
}

/** Twenty that ask all the time; gives how long each answer took, in milliseconds. */
export function startLoad(limiter: Admitter) {
  const took: number[] = []
  let asking = true
  const quota = quotaFor({ key: 'load', allow: 1e9 })
  const askers = Array.from({ length: 20 }, async () => {
    while (asking) {
      took.push(await millisecondsFor(() => limiter.admit([quota])))
      await sleep(1)
    }
  })
  return {
    stop: async () => {
      asking = false
      await Promise.all(askers)
      return took
    },
  }
}
