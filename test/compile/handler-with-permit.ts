// Not part of the program: test/permit-types.test.ts compiles it and expects no error.
import type { CreateDecision } from '../../src/decide/decision.ts'
import type { Proposal } from '../../src/decide/permits/issue-permits.ts'
import { orRefuse } from '../../src/decide/refusal.ts'
import type { HandledRequest } from '../../src/server/routes/handler.ts'
import type { Store } from '../../src/store/contract.ts'

export async function writeAfterAsking(
  store: Store,
  { ask }: HandledRequest,
  decision: CreateDecision,
  proposal: Proposal,
): Promise<void> {
  await store.create(orRefuse(await ask(decision.permit(proposal))))
}
