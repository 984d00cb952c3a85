/** PUT and PATCH of an item. */
import type { UpdateDecision } from '../policy/decision.ts'
import type { Proposal } from '../policy/permits.ts'
import type { Json } from '../resources/resource.ts'
import { represent } from '../store/contract.ts'
import type { Outcome } from './outcome.ts'
import { proposeReplacement, proposeUpdate } from './propose.ts'
import type { Asking } from './services.ts'
import type { Writes } from './writes.ts'

type Body = Readonly<Record<string, Json>>

export async function replaceObject(
  { resource, owner, writes }: Asking,
  decision: UpdateDecision,
  body: Body,
): Promise<Outcome> {
  decision.refuseHidden(Object.keys(body))
  const before = represent(decision.object)
  return write(writes, decision, proposeReplacement(resource, body, { before, writable: decision.writable, owner }))
}

export async function updateObject(
  { resource, writes }: Asking,
  decision: UpdateDecision,
  body: Body,
): Promise<Outcome> {
  decision.refuseHidden(Object.keys(body))
  return write(writes, decision, proposeUpdate(resource, body, represent(decision.object)))
}

function write(writes: Writes, decision: UpdateDecision, proposal: Proposal): Promise<Outcome> {
  const permit = decision.permit(proposal)
  return writes.update(permit, (updated) => {
    const shown = decision.show(updated)
    const empty = Object.keys(shown).length === 0
    return { status: empty ? 204 : 200, headers: {}, body: empty ? undefined : shown, evidence: permit.evidence }
  })
}
