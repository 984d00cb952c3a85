/**
 * One of several processes that ask the same limiter in bursts over the edges of a window (see any-window.test.ts).
 * Started with URL, limiter and key. Says `ready`, is sent the time to begin (milliseconds since the epoch), and answers
 * with the outcomes.
 */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Quota } from '../../src/limits/limiter.ts'
import { createRedisLimiter } from '../../src/limits/redis.ts'
import { PATIENT_MS } from '../redis.ts'
import { createFixedWindow, type TimedAnswer } from './fixed-window.ts'

export const ALLOW = 100
export const WINDOW_MS = 1000

/** A client that stays idle until the edge leaves a fixed window almost empty; each burst has twice what is allowed. */
const EDGES = 2
const BEFORE_EDGE_MS = 100
const BURST = 200

/** When it was asked and answered by this process, and decided by Redis: microseconds since the epoch. */
export interface Outcome extends TimedAnswer {
  readonly askedMicros: number
  readonly answeredMicros: number
}

type Ask = (quota: Quota) => Promise<TimedAnswer>

if (import.meta.main) await run(process.argv.slice(2))

async function run([url = '', kind, key = '']: readonly string[]): Promise<void> {
  const { ask, leave } = await connect(url, kind)
  process.send?.('ready')
  const [begin] = await once(process, 'message')
  const outcomes = await askOverEdges(ask, { name: 'edge', key, allow: ALLOW, windowMs: WINDOW_MS }, Number(begin))
  process.send?.(outcomes)
  leave()
  process.disconnect?.()
}

async function askOverEdges(ask: Ask, quota: Quota, begin: number): Promise<Outcome[]> {
  await sleep(begin - Date.now())
  const outcomes = [timed(ask, quota)]
  for (let edge = 1; edge <= EDGES; edge++) {
    await sleep(begin + edge * WINDOW_MS - BEFORE_EDGE_MS - Date.now())
    outcomes.push(...(await burst(ask, quota)))
  }
  return Promise.all(outcomes)
}

async function connect(url: string, kind: string | undefined): Promise<{ ask: Ask; leave: () => void }> {
  if (kind === 'fixed') {
    const fixed = createFixedWindow(url)
    return { ask: (quota) => fixed.admit([quota]), leave: fixed.disconnect }
  }
  const sliding = createRedisLimiter(url, PATIENT_MS)
  await sliding.connect()
  return { ask: (quota) => sliding.admit([quota]), leave: sliding.disconnect }
}

/** About one request a millisecond, from before the edge to after it, not waiting for answers. */
async function burst(ask: Ask, quota: Quota): Promise<Promise<Outcome>[]> {
  const outcomes: Promise<Outcome>[] = []
  const from = performance.now()
  while (outcomes.length < BURST) {
    while (outcomes.length < Math.min(BURST, performance.now() - from)) outcomes.push(timed(ask, quota))
    await sleep(1)
  }
  return outcomes
}

async function timed(ask: Ask, quota: Quota): Promise<Outcome> {
  const askedMicros = Date.now() * 1000
  const { admitted, atMicros } = await ask(quota)
  return { admitted, atMicros, askedMicros, answeredMicros: (Date.now() + 1) * 1000 }
}
