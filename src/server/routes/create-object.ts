/** POST to a collection. With an Idempotency-Key, a repeat gets the first answer again, authorized anew. */
import { randomFillSync } from 'node:crypto'
import { v7 } from 'uuid'
import { textOfTime } from '../../base/time.ts'
import type { CreateDecision } from '../../decide/decision.ts'
import type { Evidence } from '../../decide/evidence.ts'
import { createdObject } from '../../decide/permits/permit.ts'
import { proposeNew } from '../../decide/permits/propose.ts'
import { orRefuse } from '../../decide/refusal.ts'
import type { StoredObject } from '../../resources/object.ts'
import type { Json, Representation } from '../../resources/resource.ts'
import { successStatus } from '../../resources/routing/success-status.ts'
import type { Kept } from '../../store/contract.ts'
import { claimOf, once } from '../idempotency/idempotency-key.ts'
import { refuseUnmet } from './entity-tag.ts'
import type { HandledRequest, Outcome, Services } from './handler.ts'
import { withReferences } from './references.ts'

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
  const { resource, route, caller, idempotencyKey, writes, ask } = request
  const claim = claimOf(idempotencyKey, { caller, route: route.path, body })
  const chosen = services.chosenId?.(idempotencyKey)
  const id = chosen ?? newId()
  const time = textOfTime(services.now())
  const proposal = proposeNew(resource, body, {
    id,
    filled: decision.filled,
    now: time,
    choosesId: chosen !== undefined,
  })
  const permit = orRefuse(await ask(decision.permit(proposal)))
  refuseUnmet(services.tags, request, undefined)
  const { evidence } = permit
  const create = async () => {
    const object = createdObject(permit, time)
    const resting = resource.references ? await withReferences(services, request, permit) : permit
    const outcome = created(services, request, { object, shown: await ask(decision.show(object), permit), evidence })
    return writes().create(resting, outcome, { time, replay: claim })
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

const ID_BYTES = 16

/** Taken for many ids at once: to ask for the bytes of one id costs more than the rest of the id. */
const pool = Buffer.alloc(256 * ID_BYTES)
let taken = pool.length

let msecs = 0
let seq = 0

/**
 * Ids of one process ascend, also within a millisecond and when the clock is set back (RFC 9562 section 6.2, method 1),
 * as long as the clock isn't behind for 2^31 ids.
 */
export function newId(): string {
  const random = randomBytes()
  const now = Date.now()
  if (now > msecs) {
    msecs = now
    // The highest bit is 0 at first, so that the numbers of a millisecond don't run out.
    seq = random.readUInt32BE() & 0x7fff_ffff
  } else {
    seq += 1
  }
  return v7({ random, msecs, seq })
}

/** They are given out once. */
function randomBytes(): Buffer {
  if (taken === pool.length) {
    randomFillSync(pool)
    taken = 0
  }
  taken += ID_BYTES
  return pool.subarray(taken - ID_BYTES, taken)
}
