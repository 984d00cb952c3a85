/** Waiting for an answer that comes by itself. */
import type { Answer } from '../server.ts'
import { until as untilHolds } from '../until.ts'

/** Asks until the answer fits. */
export async function until(ask: () => Promise<Answer>, fits: (answer: Answer) => boolean): Promise<Answer> {
  let answer = await ask()
  await untilHolds(async () => {
    if (fits(answer)) return true
    answer = await ask()
    return fits(answer)
  })
  return answer
}
