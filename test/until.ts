/** Waits for what comes by itself. Only a fault takes minutes, on a busy machine too: no test says how soon it comes. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'

const WITHIN_MS = 120_000
/** A look costs CPU that others need: a tenth of the time waited so far passes before the next one. */
const [SHORTEST_MS, LONGEST_MS] = [20, 100]

export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const begun = Date.now()
  for (let waited = 0; waited < WITHIN_MS; waited = Date.now() - begun) {
    if (await holds()) return
    await sleep(Math.min(LONGEST_MS, Math.max(SHORTEST_MS, waited / 10)))
  }
  expect.fail(`it did not come: ${holds}`)
}
