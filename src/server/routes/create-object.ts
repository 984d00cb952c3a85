/** POST to a collection. */
import { textOfTime } from '../../base/instant.ts'
import type { CreateDecision } from '../../decide/decision.ts'
import type { Evidence } from '../../decide/evidence.ts'
import { proposeNew } from '../../decide/permits/propose.ts'
import { createdObject } from '../../decide/permits/written-object.ts'
import { orRefuse } from '../../decide/refusal.ts'
import type { StoredObject } from '../../resources/object.ts'
import type { Json, Representation } from '../../resources/resource.ts'
import { successStatus } from '../../resources/routing/success-status.ts'
import type { Kept } from '../../store/contract.ts'
import type { HandledRequest, Outcome, Services } from './handler.ts'
import { claimOf, once } from './idempotency.ts'
import { newId } from './new-id.ts'
import { refuseUnmet } from './preconditions.ts'

/**
 * A repeat is proposed, permitted and checked against the preconditions like the first request. Only then is it
 * recognized as a repeat.
 */
export async function createObject(
  services: Services,
  request: HandledRequest,
  decision: CreateDecision,
  body: Readonly<Record<string, Json>>,
): Promise<Outcome> {
  const { resource, writes, ask } = request
  const claim = claimOf(request, body)
  const chosen = services.chosenId?.(request.idempotencyKey)
  const id = chosen ?? newId()
  const time = textOfTime(services.now())
  const proposal = proposeNew(resource, body, {
    id,
    filled: decision.filled,
    now: time,
    choosesId: chosen !== undefined,
  })
  const permit = orRefuse(await ask(decision.permit(proposal)))
  refuseUnmet(services, request, undefined)
  const { evidence } = permit
  const create = async () => {
    const object = createdObject(permit, time)
    const outcome = created(services, request, { object, shown: await ask(decision.show(object), permit), evidence })
    return writes.create(permit, outcome, { time, replay: claim })
  }
  if (!claim) return create()
  const replay = ({ object }: Kept) => replayed(services, request, decision, { object, evidence })
  return once(services, claim, { create, replay })
}

/**
 * The first answer, cut to the fields that the caller may read now: both of the object at that time and of the current
 * object, if it still exists.
 */
async function replayed(
  services: Services,
  request: HandledRequest,
  decision: CreateDecision,
  { object, evidence }: { readonly object: StoredObject; readonly evidence: Evidence },
): Promise<Outcome> {
  const current = await services.store.get(request.resource.name, object.id)
  const shown = await request.ask(decision.showAgain(object, current))
  const { headers, ...outcome } = created(services, request, { object, shown, evidence })
  return { ...outcome, headers: { ...headers, 'Idempotency-Replayed': 'true' } }
}

interface Created {
  readonly object: StoredObject
  readonly shown: Representation | undefined
  readonly evidence: Evidence
}

function created({ tags }: Services, { resource }: HandledRequest, { object, shown, evidence }: Created): Outcome {
  const path = resource.canonicalItemPath?.replace('{id}', () => encodeURIComponent(object.id))
  return {
    status: successStatus('create'),
    headers: {
      ...(path === undefined ? {} : { Location: path }),
      ...(shown === undefined ? {} : { ETag: tags.of({ resource: resource.name, object }, shown) }),
    },
    body: shown,
    evidence,
    objectId: object.id,
  }
}
