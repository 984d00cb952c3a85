/** DELETE of an item. */
import type { DeleteDecision } from '../../decide/decision.ts'
import type { Outcome } from './outcome.ts'
import { refuseUnmet } from './preconditions.ts'
import type { Asking, Services } from './services.ts'

/** Throws Problem precondition-required or precondition-failed, or what the store throws. */
export async function deleteObject(services: Services, asking: Asking, decision: DeleteDecision): Promise<Outcome> {
  const permit = decision.permit()
  refuseUnmet(services, asking, { resource: asking.resource.name, object: decision.object })
  return asking.writes.delete(permit, { status: 204, headers: {}, body: undefined })
}
