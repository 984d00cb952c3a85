/** One of several processes that ask a limiter for one key all at once, over the edge of a window; tells when it was admitted. */
import { setTimeout as sleep } from 'node:timers/promises'
import { limiters } from './limiters.ts'

export interface BurstSettings {
  readonly limiter: string
  readonly port: number
  readonly points: number
  readonly peers: boolean
}

/** From one client to the other side: at first that it is ready, then what was admitted. */
export type BurstMessage = 'ready' | readonly number[]

/** When to ask, in milliseconds since the epoch; the first one opens the window. */
export interface Burst {
  readonly key: string
  readonly begin: number
  readonly opens: boolean
}

/** From shortly before a window's edge to shortly after it, in milliseconds of the window. */
const FROM_MS = 900
const ASKED = 200

const { limiter, port, points, peers }: BurstSettings = JSON.parse(process.argv[2] ?? '{}')
const create = (await limiters(peers)).get(limiter)
if (!create) throw new Error(`there is no limiter ${limiter}`)
const engine = await create({ port, points, duration: 1, prefix: 'edge' })
await engine.consume('warm')
process.on('message', async (burst: Burst) => process.send?.(await ask(burst)))
process.send?.('ready' satisfies BurstMessage)

async function ask({ key, begin, opens }: Burst): Promise<BurstMessage> {
  await sleep(begin - Date.now())
  const asked = opens ? [engine.consume(key)] : []
  await sleep(begin + FROM_MS - Date.now())
  for (const start = performance.now(); asked.length < ASKED; await sleep(1)) {
    while (asked.length < Math.min(ASKED, performance.now() - start)) asked.push(engine.consume(key))
  }
  const answers = await Promise.all(asked)
  return answers.filter(({ ok }) => ok).map(({ at }) => at)
}
