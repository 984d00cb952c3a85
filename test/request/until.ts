/** Waiting for what is promised within a second. */
import type { Answer } from '../server.ts'
import { sleep } from './raw.ts'

/** Bound of the promise, with room for a busy machine. */
const SECOND_MS = 10_000

/** Asks until the answer fits; fails when it doesn't within the promised time. */
export async function until(ask: () => Promise<Answer>, fits: (answer: Answer) => boolean): Promise<Answer> {
  const deadline = performance.now() + SECOND_MS
  for (;;) {
    const answer = await ask()
    if (fits(answer)) return answer
    if (performance.now() > deadline) throw new Error(`still ${answer.status} ${answer.text}`)
    await sleep(25)
  }
}
