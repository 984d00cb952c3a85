// Not part of the program: test/permit-types.test.ts compiles it and expects the errors that it names.
import type { CreateDecision } from '../../src/decide/decision.ts'
import type { Proposal } from '../../src/decide/permits/issue-permits.ts'
import type { HandledRequest } from '../../src/server/routes/handler.ts'
import type { Store } from '../../src/store/contract.ts'

const NO_EVIDENCE = { relations: [], lines: [], fieldsRefused: [], facts: {} }
const CHECKED = { resource: 'notes', id: 'x', document: {}, evidence: NO_EVIDENCE, readSet: { lookups: [] } }

export async function writeWithoutAsking(store: Store): Promise<void> {
  await store.create({ ...CHECKED, kind: 'create', version: 0 }) // error: no permit
  await store.delete({ ...CHECKED, kind: 'delete', version: 1 }) // error: no permit
}

export async function writeWithoutLooking(
  store: Store,
  { ask }: HandledRequest,
  decision: CreateDecision,
  proposal: Proposal,
): Promise<void> {
  await store.create(await ask(decision.permit(proposal))) // error: it may be a refusal
}
