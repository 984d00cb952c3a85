/**
 * Makes the cells of a new policy between requests: a few in each turn, and only for a short time before the policy is
 * in force.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'

const SLICE_MS = 2

/** A policy that revokes access can't wait for all cells: the remaining cells are made while it is in force. */
const PATIENCE_MS = 200

/** Rejects with the error of a step that fails during the wait. */
export async function warmInSlices(steps: AsyncIterable<unknown>, patienceMs = PATIENCE_MS): Promise<void> {
  const warm = inSlices(steps)
  // A cell that fails later is made again when a request needs it.
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
