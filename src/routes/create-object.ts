/** POST to a collection. */
import type { CreateDecision } from '../policy/decision.ts'
import type { Json } from '../resources/resource.ts'
import { entityTag } from './entity-tag.ts'
import type { Outcome } from './outcome.ts'
import { refuseUnmet } from './preconditions.ts'
import { proposeNew } from './propose.ts'
import type { Asking, Services } from './services.ts'

export async function createObject(
  services: Services,
  asking: Asking,
  decision: CreateDecision,
  body: Readonly<Record<string, Json>>,
): Promise<Outcome> {
  const { now, tagKey } = services
  const { resource, owner, caller, writes } = asking
  const proposal = proposeNew(resource, body, { owner, callerId: caller?.id, now: now().toISOString() })
  const permit = decision.permit(proposal)
  refuseUnmet(services, asking, undefined)
  return writes.create(permit, (created) => {
    const shown = decision.show(created)
    const empty = Object.keys(shown).length === 0
    const path = resource.canonicalItemPath?.replace('{id}', () => encodeURIComponent(created.id))
    return {
      status: 201,
      headers: {
        ...(path === undefined ? {} : { Location: path }),
        ...(empty ? {} : { ETag: entityTag(tagKey, { resource: resource.name, object: created }, shown) }),
      },
      body: empty ? undefined : shown,
      evidence: permit.evidence,
      objectId: created.id,
    }
  })
}
