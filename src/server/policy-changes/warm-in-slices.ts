/** Makes the cells of a policy that takes over between requests: a little in each turn, and not for long before it rules. */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'

const SLICE_MS = 2

/** What takes rights away can't wait for the cells of everybody: those that aren't made by then are made while it rules. */
const PATIENCE_MS = 200

/** Rejects with what a step throws, while it waits for it. */
export async function warmInSlices(steps: AsyncIterable<unknown>, patienceMs = PATIENCE_MS): Promise<void> {
  const warm = inSlices(steps)
  // A page that fails later is made again when it is asked.
  warm.catch(() => {})
  await Promise.race([warm, sleep(patienceMs, undefined, { ref: false })])
}

async function inSlices(steps: AsyncIterable<unknown>): Promise<void> {
  let end = performance.now() + SLICE_MS
  for await (const _ of steps) {
    if (performance.now() < end) continue
    await nextTurn()
    end = performance.now() + SLICE_MS
  }
}
