/** Waits for what comes by itself. Only a fault takes minutes, on a busy machine too: no test says how soon it comes. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'

const EVERY_MS = 20
const WITHIN_MS = 120_000

export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + WITHIN_MS; Date.now() < end; await sleep(EVERY_MS)) if (await holds()) return
  expect.fail(`it did not come: ${holds}`)
}
