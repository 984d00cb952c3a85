// Not part of the program: test/permit-types.test.ts compiles it and expects the errors that it names.
import type { CreateDecision } from '../../src/decide/decision.ts'
import type { Proposal } from '../../src/decide/issue-permits.ts'
import type { Store } from '../../src/store/contract.ts'

export async function writeWithoutAsking(store: Store): Promise<void> {
  await store.create({ kind: 'create', resource: 'notes', id: 'x', version: 0, document: {} }) // error: no permit
  await store.delete({ kind: 'delete', resource: 'notes', id: 'x', version: 1, document: {} }) // error: no permit
}

export async function writeWithoutLooking(store: Store, decision: CreateDecision, proposal: Proposal): Promise<void> {
  await store.create(decision.permit(proposal)) // error: it may be a refusal
}
