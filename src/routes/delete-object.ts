/** DELETE of an item. */
import type { DeleteDecision } from '../policy/decision.ts'
import type { Outcome } from './outcome.ts'
import type { Services } from './services.ts'

export async function deleteObject({ store }: Services, decision: DeleteDecision): Promise<Outcome> {
  await store.delete(decision.permit())
  return { status: 204, headers: {}, body: undefined }
}
