/** PUT, PATCH and DELETE of an item. */

import type { DeleteDecision, UpdateDecision } from '../../decide/decision.ts'
import type { Proposal } from '../../decide/permits/issue-permits.ts'
import { updatedObject } from '../../decide/permits/permit.ts'
import { proposePatched, proposeReplacement, proposeUpdate } from '../../decide/permits/propose.ts'
import { isRefusal, orRefuse, type Refusal } from '../../decide/refusal.ts'
import { represent, type StoredObject, sameJson } from '../../resources/object.ts'
import type { Representation } from '../../resources/resource.ts'
import { successStatus } from '../../resources/routing/success-status.ts'
import { refuseUnmet } from './entity-tag.ts'
import type { HandledRequest, Outcome, Services } from './handler.ts'
import { applyJsonPatch, fieldsOf, type PatchOperation } from './json-patch.ts'
import { withReferences, withReferring } from './references.ts'

export async function replaceObject(
  services: Services,
  request: HandledRequest,
  decision: UpdateDecision,
  body: Representation,
): Promise<Outcome> {
  const { resource } = request
  const { object, writable, readable, filled } = decision
  const proposal = proposeReplacement(resource, body, { before: represent(object), writable, readable, filled })
  return writeProposal(services, request, decision, proposal)
}

export async function updateObject(
  services: Services,
  request: HandledRequest,
  decision: UpdateDecision,
  body: Representation,
): Promise<Outcome> {
  const proposal = proposeUpdate(request.resource, body, represent(decision.object))
  return writeProposal(services, request, decision, proposal)
}

/** PATCH with a JSON Patch (RFC 6902). */
export async function patchObject(
  services: Services,
  request: HandledRequest,
  decision: UpdateDecision,
  operations: readonly PatchOperation[],
): Promise<Outcome> {
  const { resource } = request
  const { object } = decision
  const { named, read } = fieldsOf(operations)
  // Checked first, so that the answer is the same for every stored value.
  orRefuse(decision.checkRead(read, named))
  const before = represent(object)
  const applied = applyJsonPatch(before, operations)
  if (applied.kind !== 'applied') {
    // 403 comes first, then 412 and 428 (semantics.md, "Refusals").
    orRefuse(decision.checkNamed(named))
    if (applied.kind === 'conflict') refuseUnmet(services.tags, request, { resource: resource.name, object })
    throw applied.problem
  }
  return writeProposal(services, request, decision, proposePatched(resource, applied.after, { before, named, read }))
}

/** Throws Problem precondition-required, precondition-failed or referenced, or what the store throws. */
export async function deleteObject(
  services: Services,
  request: HandledRequest,
  decision: DeleteDecision,
): Promise<Outcome> {
  const permit = decision.permit()
  refuseUnmet(services.tags, request, { resource: request.resource.name, object: decision.object })
  const { permit: whole, along } = await withReferring(services, request, permit)
  const outcome = { status: successStatus('delete'), headers: {}, body: undefined } as const
  return request.writes().delete(whole, along ? { ...outcome, along } : outcome)
}

/**
 * The permit carries the version that the preconditions were compared with, and the store overwrites no other version.
 * So the preconditions still hold in the statement that writes. A proposal without changes isn't written: version, tag
 * and time stay.
 */
async function writeProposal(
  services: Services,
  request: HandledRequest,
  decision: UpdateDecision,
  proposal: Proposal,
): Promise<Outcome> {
  const resource = request.resource.name
  const permitted = await request.ask(decision.permit(proposal))
  if (!isRefusal(permitted) || isOfAnotherState(permitted)) {
    refuseUnmet(services.tags, request, { resource, object: decision.object })
  }
  const permit = orRefuse(permitted)
  const { evidence } = permit
  const outcomeOf = async (object: StoredObject, written?: typeof permit): Promise<Outcome> => {
    const shown = await request.ask(decision.show(object), written)
    const status = successStatus('update', shown !== undefined)
    if (!shown) return { status, headers: {}, body: undefined, evidence }
    // The tag belongs to the representation in this body, whatever the client had sent (RFC 9110 section 8.7).
    const headers = { ETag: services.tags.of({ resource, object }, shown), 'Content-Location': request.path }
    return { status, headers, body: shown, evidence }
  }
  // Otherwise the tag would reveal whether a field that the caller can't read already had the value.
  const isBlind = !proposal.named.isSubsetOf(decision.readable)
  if (!isBlind && sameJson(permit.document, decision.object.document)) return outcomeOf(decision.object)
  const time = services.now().toISOString()
  const { object, readable } = decision
  const before = { document: object.document, named: proposal.named, readable }
  const refers = request.resource.references !== undefined
  const resting = refers ? await withReferences(services, request, permit, before) : permit
  const outcome = await outcomeOf(updatedObject(permit, decision.object, time), permit)
  return request.writes().update(resting, outcome, { time })
}

/**
 * Whether the body may come from an earlier read, with the server's fields of that time. If-Match checks whether they
 * are still current.
 */
function isOfAnotherState({ check, faults = [] }: Refusal): boolean {
  const isUnfit = check === 'schema' || check === 'size'
  return isUnfit && faults.every(({ code, pointer }) => code === 'readOnly' && pointer !== '/id')
}
