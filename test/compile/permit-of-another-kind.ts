// Not part of the program: test/permit-types.test.ts compiles it and expects the error that it names.
import type { CreateDecision } from '../../src/decide/decision.ts'
import type { Proposal } from '../../src/decide/permits/issue-permits.ts'
import { orRefuse } from '../../src/decide/refusal.ts'
import type { HandledRequest } from '../../src/server/routes/handler.ts'
import type { Store } from '../../src/store/contract.ts'

export async function updateWithCreatePermit(
  store: Store,
  { ask }: HandledRequest,
  decision: CreateDecision,
  proposal: Proposal,
): Promise<void> {
  await store.update(orRefuse(await ask(decision.permit(proposal)))) // error: a permit to create
}
