/** PUT and PATCH of an item. */
import type { Proposal, UpdateDecision } from '../policy/decision.ts'
import type { Json } from '../resources/resource.ts'
import { represent } from '../store/contract.ts'
import type { Outcome } from './outcome.ts'
import { proposeReplacement, proposeUpdate } from './propose.ts'
import type { Asking, Services } from './services.ts'

type Body = Readonly<Record<string, Json>>

export async function replaceObject(
  services: Services,
  { resource, owner }: Asking,
  decision: UpdateDecision,
  body: Body,
): Promise<Outcome> {
  decision.refuseHidden(Object.keys(body))
  const before = represent(decision.object)
  return write(services, decision, proposeReplacement(resource, body, { before, writable: decision.writable, owner }))
}

export async function updateObject(
  services: Services,
  { resource }: Asking,
  decision: UpdateDecision,
  body: Body,
): Promise<Outcome> {
  decision.refuseHidden(Object.keys(body))
  return write(services, decision, proposeUpdate(resource, body, represent(decision.object)))
}

async function write({ store }: Services, decision: UpdateDecision, proposal: Proposal): Promise<Outcome> {
  const permit = decision.permit(proposal)
  const shown = decision.show(await store.update(permit))
  const empty = Object.keys(shown).length === 0
  return { status: empty ? 204 : 200, headers: {}, body: empty ? undefined : shown, evidence: permit.evidence }
}
