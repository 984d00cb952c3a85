/**
 * POST to a collection. With an Idempotency-Key, the first request creates, and each repeat gets that answer again,
 * authorized anew. The key is committed with the object, so neither exists without the other, even after a crash.
 */
import { createHash, randomFillSync } from 'node:crypto'
import { v7 } from 'uuid'
import { byText } from '../../base/by-text.ts'
import { Problem } from '../../base/problems/problem.ts'
import { textOfTime } from '../../base/time.ts'
import type { CreateDecision } from '../../decide/decision.ts'
import type { Evidence } from '../../decide/evidence.ts'
import { createdObject } from '../../decide/permits/permit.ts'
import { proposeNew } from '../../decide/permits/propose.ts'
import { orRefuse } from '../../decide/refusal.ts'
import type { StoredObject } from '../../resources/object.ts'
import type { Json, Representation } from '../../resources/resource.ts'
import { successStatus } from '../../resources/routing/success-status.ts'
import type { Kept, ReplayKey } from '../../store/contract.ts'
import { ReplayTaken, UniqueTaken } from '../../store/errors.ts'
import { refuseUnmet } from './entity-tag.ts'
import type { HandledRequest, Outcome, Services } from './handler.ts'

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
  refuseUnmet(services.tags, request, undefined)
  const { evidence } = permit
  const create = async () => {
    const object = createdObject(permit, time)
    const outcome = created(services, request, { object, shown: await ask(decision.show(object), permit), evidence })
    return writes().create(permit, outcome, { time, replay: claim })
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

interface Claim extends ReplayKey {
  /** Identifies the payload: two JSON values have the same fingerprint exactly when they are equal. */
  readonly fingerprint: string
}

/**
 * Undefined without the header. Throws Problem invalid-idempotency-key for a request without credentials, because a key
 * belongs to a caller.
 */
function claimOf(
  { idempotencyKey: key, caller, route }: Pick<HandledRequest, 'idempotencyKey' | 'caller' | 'route'>,
  body: Json,
): Claim | undefined {
  if (key === undefined) return undefined
  if (!caller) throw new Problem('invalid-idempotency-key', 'An idempotency key needs a caller; send credentials.')
  const fingerprint = createHash('sha256').update(canonicalJson(body)).digest('base64url')
  return { subject: caller.id, route: route.path, key, fingerprint }
}

/** The two results of a claim: the object is created now, or the first answer is given again. */
interface CreateOrReplay {
  readonly create: () => Promise<Outcome>
  readonly replay: (kept: Kept) => Promise<Outcome>
}

/**
 * Throws Problem idempotency-in-flight or idempotency-key-reused, or what the two functions throw. If another process
 * was faster, a conflict shows its commit; a unique field may conflict first.
 */
function once({ store, inFlight }: Services, claim: Claim, { create, replay }: CreateOrReplay): Promise<Outcome> {
  const { subject, route, key, fingerprint } = claim
  const again = (kept: Kept) => {
    if (kept.fingerprint !== fingerprint) throw reused()
    return replay(kept)
  }
  return inFlight.only(JSON.stringify([subject, route, key]), async () => {
    const kept = await store.kept(claim)
    if (kept) return again(kept)
    try {
      return await create()
    } catch (error) {
      const taken = error instanceof ReplayTaken || error instanceof UniqueTaken
      const meanwhile = taken ? await store.kept(claim) : undefined
      if (!meanwhile) throw error
      return again(meanwhile)
    }
  })
}

function reused(): Problem {
  const detail = 'This idempotency key was used with another payload; use a new key for a new request.'
  return new Problem('idempotency-key-reused', detail)
}

/** JSON with sorted members, because their order has no meaning. */
export function canonicalJson(json: Json): string {
  if (Array.isArray(json)) return `[${json.map(canonicalJson).join()}]`
  if (typeof json !== 'object' || json === null) return JSON.stringify(json)
  const members = Object.entries(json).toSorted(([a], [b]) => byText(a, b))
  return `{${members.map(([name, value]) => `${JSON.stringify(name)}:${canonicalJson(value)}`).join()}}`
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
