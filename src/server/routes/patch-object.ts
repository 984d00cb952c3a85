/** PATCH of an item with a JSON Patch (RFC 6902). */
import type { UpdateDecision } from '../../decide/decision.ts'
import { proposePatched } from '../../decide/propose.ts'
import { orRefuse } from '../../decide/refusal.ts'
import { represent } from '../../resources/object.ts'
import { applyJsonPatch } from './json-patch/apply.ts'
import { fieldsOf, type PatchOperation } from './json-patch/operation.ts'
import type { Outcome } from './outcome.ts'
import { refuseUnmet } from './preconditions.ts'
import type { Asking, Services } from './services.ts'
import { writeProposal } from './write-object.ts'

/** Throws Refused, Problem, and what the store throws. */
export async function patchObject(
  services: Services,
  asking: Asking,
  decision: UpdateDecision,
  operations: readonly PatchOperation[],
): Promise<Outcome> {
  const { resource } = asking
  const { object } = decision
  const { named, read } = fieldsOf(operations)
  // Before anything is looked at: the answer is the same whatever is stored.
  orRefuse(decision.checkRead(read) ?? decision.checkNamed(named))
  const before = represent(object)
  const applied = applyJsonPatch(before, operations)
  if (applied.kind === 'conflict') {
    // 412 and 428 come before 409 (semantics.md, "Refusals").
    refuseUnmet(services, asking, { resource: resource.name, object })
    throw applied.problem
  }
  return writeProposal(services, asking, decision, proposePatched(resource, applied.after, { before, named, read }))
}
