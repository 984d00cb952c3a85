// Not part of the program: test/permit-types.test.ts compiles it and expects the errors that it names.
import type { DeleteDecision } from '../../src/decide/decision.ts'
import type { HandledRequest, Outcome, Services } from '../../src/server/routes/handler.ts'

export async function writeBeside({ store }: Services, decision: DeleteDecision): Promise<void> {
  await store.delete(decision.permit()) // error: handlers have no write methods of the store
}

export function writeWithoutOutcome({ writes }: HandledRequest, decision: DeleteDecision): Promise<Outcome> {
  return writes().delete(decision.permit()) // error: nothing to record
}
