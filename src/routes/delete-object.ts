/** DELETE of an item. */
import type { DeleteDecision } from '../policy/decision.ts'
import type { Outcome } from './outcome.ts'
import type { Asking } from './services.ts'

export function deleteObject({ writes }: Asking, decision: DeleteDecision): Promise<Outcome> {
  return writes.delete(decision.permit(), () => ({ status: 204, headers: {}, body: undefined }))
}
