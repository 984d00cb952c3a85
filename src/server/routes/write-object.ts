/** PUT and PATCH of an item. */

import type { UpdateDecision } from '../../decide/decision.ts'
import type { Proposal } from '../../decide/permits.ts'
import { proposeReplacement, proposeUpdate } from '../../decide/propose.ts'
import { isRefusal, orRefuse, type Refusal } from '../../decide/refusal.ts'
import { represent, type StoredObject } from '../../resources/object.ts'
import type { Json } from '../../resources/resource.ts'
import { updatedObject } from '../../store/contract.ts'
import { sameJson } from './json-patch/measure.ts'
import type { Outcome } from './outcome.ts'
import { refuseUnmet } from './preconditions.ts'
import type { Asking, Services } from './services.ts'

type Body = Readonly<Record<string, Json>>

export async function replaceObject(
  services: Services,
  asking: Asking,
  decision: UpdateDecision,
  body: Body,
): Promise<Outcome> {
  const { resource, owner } = asking
  const { object, writable, readable } = decision
  const proposal = proposeReplacement(resource, body, { before: represent(object), writable, readable, owner })
  return writeProposal(services, asking, decision, proposal)
}

export async function updateObject(
  services: Services,
  asking: Asking,
  decision: UpdateDecision,
  body: Body,
): Promise<Outcome> {
  const proposal = proposeUpdate(asking.resource, body, represent(decision.object))
  return writeProposal(services, asking, decision, proposal)
}

/**
 * The permit carries the version that the preconditions were held against, and the store writes over no other: so they
 * hold in the very statement that writes. What changes nothing isn't written: version, tag and time stay.
 */
export async function writeProposal(
  services: Services,
  asking: Asking,
  decision: UpdateDecision,
  proposal: Proposal,
): Promise<Outcome> {
  const resource = asking.resource.name
  const refuseUnmetNow = () => refuseUnmet(services, asking, { resource, object: decision.object })
  const permitted = decision.permit(proposal)
  if (isRefusal(permitted) && isOfAnotherState(permitted)) refuseUnmetNow()
  const permit = orRefuse(permitted)
  refuseUnmetNow()
  const { evidence } = permit
  const outcomeOf = (object: StoredObject): Outcome => {
    const shown = decision.show(object)
    if (!shown) return { status: 204, headers: {}, body: undefined, evidence }
    // The body is the representation that the tag is of, whatever the client had sent (RFC 9110 section 8.7).
    const headers = { ETag: services.tags.of({ resource, object }, shown), 'Content-Location': asking.path }
    return { status: 200, headers, body: shown, evidence }
  }
  // Else the tag would tell whether a field that the caller can't read had the value already.
  const isBlind = [...proposal.named].some((name) => !decision.readable.has(name))
  if (!isBlind && sameJson(permit.document, decision.object.document)) return outcomeOf(decision.object)
  const time = services.now().toISOString()
  return asking.writes.update(permit, outcomeOf(updatedObject(permit, decision.object, time)), { time })
}

/** A body that a client had read, with what the server had set by then: whether that is still so is If-Match's question. */
function isOfAnotherState({ check, faults = [] }: Refusal): boolean {
  const isUnfit = check === 'schema' || check === 'size'
  return isUnfit && faults.every(({ code, pointer }) => code === 'readOnly' && pointer !== '/id')
}
