/** PUT and PATCH of an item. */
import type { UpdateDecision } from '../policy/decision.ts'
import type { Proposal } from '../policy/permits.ts'
import { Problem } from '../problems/problem.ts'
import type { Json, Representation } from '../resources/resource.ts'
import { represent, type StoredObject } from '../store/contract.ts'
import type { Outcome } from './outcome.ts'
import { refuseUnmet } from './preconditions.ts'
import { proposeReplacement, proposeUpdate } from './propose.ts'
import type { Asking, Services } from './services.ts'

type Body = Readonly<Record<string, Json>>

export async function replaceObject(
  services: Services,
  asking: Asking,
  decision: UpdateDecision,
  body: Body,
): Promise<Outcome> {
  const { resource, owner } = asking
  const { object, writable } = decision
  decision.refuseHidden(Object.keys(body))
  const proposal = propose(services, asking, object, (before) =>
    proposeReplacement(resource, body, { before, writable, owner }),
  )
  return writeProposal(services, asking, decision, proposal)
}

export async function updateObject(
  services: Services,
  asking: Asking,
  decision: UpdateDecision,
  body: Body,
): Promise<Outcome> {
  const { resource } = asking
  decision.refuseHidden(Object.keys(body))
  const proposal = propose(services, asking, decision.object, (before) => proposeUpdate(resource, body, before))
  return writeProposal(services, asking, decision, proposal)
}

/** Throws what `make` throws, or what the preconditions say where the only fault is that the body is of another state. */
function propose(
  services: Services,
  asking: Asking,
  object: StoredObject,
  make: (before: Representation) => Proposal,
): Proposal {
  try {
    return make(represent(object))
  } catch (error) {
    if (isOfAnotherState(error)) refuseUnmet(services, asking, { resource: asking.resource.name, object })
    throw error
  }
}

/** A body that a client had read, with what the server had set by then: whether that is still so is If-Match's question. */
function isOfAnotherState(error: unknown): boolean {
  if (!(error instanceof Problem)) return false
  return error.errors.every(({ code, pointer }) => code === 'readOnly' && pointer !== '/id')
}

/**
 * The permit carries the version that the preconditions were held against, and the store writes over no other: so they
 * hold in the very statement that writes.
 */
export async function writeProposal(
  services: Services,
  asking: Asking,
  decision: UpdateDecision,
  proposal: Proposal,
): Promise<Outcome> {
  const resource = asking.resource.name
  const permit = decision.permit(proposal)
  refuseUnmet(services, asking, { resource, object: decision.object })
  const { evidence } = permit
  return asking.writes.update(permit, (object) => {
    const shown = decision.show(object)
    if (Object.keys(shown).length === 0) return { status: 204, headers: {}, body: undefined, evidence }
    // The body is the representation that the tag is of, whatever the client had sent (RFC 9110 section 8.7).
    const headers = { ETag: services.tags.of({ resource, object }, shown), 'Content-Location': asking.path }
    return { status: 200, headers, body: shown, evidence }
  })
}
