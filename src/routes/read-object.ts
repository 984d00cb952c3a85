/** GET and HEAD of an item. */
import type { ReadDecision } from '../policy/decision.ts'
import type { Outcome } from './outcome.ts'

export async function readObject(decision: ReadDecision): Promise<Outcome> {
  return { status: 200, headers: {}, body: decision.show(decision.object) }
}
