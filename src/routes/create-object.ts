/** POST to a collection. */
import type { CreateDecision } from '../policy/decision.ts'
import type { Json } from '../resources/resource.ts'
import type { Outcome } from './outcome.ts'
import { proposeNew } from './propose.ts'
import type { Asking, Services } from './services.ts'

export async function createObject(
  { now }: Services,
  { resource, owner, caller, writes }: Asking,
  decision: CreateDecision,
  body: Readonly<Record<string, Json>>,
): Promise<Outcome> {
  const proposal = proposeNew(resource, body, { owner, callerId: caller?.id, now: now().toISOString() })
  const permit = decision.permit(proposal)
  return writes.create(permit, (created) => {
    const shown = decision.show(created)
    const path = resource.canonicalItemPath?.replace('{id}', () => encodeURIComponent(created.id))
    return {
      status: 201,
      headers: path === undefined ? {} : { Location: path },
      body: Object.keys(shown).length > 0 ? shown : undefined,
      evidence: permit.evidence,
      objectId: created.id,
    }
  })
}
