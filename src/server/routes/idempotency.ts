/**
 * POST with an Idempotency-Key: the first request creates, each repeat gets that answer again, authorized anew. The key
 * is committed with the object, so neither exists without the other, even after a crash.
 */

import { createHash } from 'node:crypto'
import { byText } from '../../base/by-text.ts'
import { Problem } from '../../base/problems/problem.ts'
import type { Json } from '../../resources/resource.ts'
import type { Kept, ReplayKey } from '../../store/contract.ts'
import { ReplayTaken, UniqueTaken } from '../../store/errors.ts'
import type { HandledRequest, Outcome, Services } from './handler.ts'

export interface Claim extends ReplayKey {
  /** Identifies the payload: two JSON values have the same fingerprint exactly when they are equal. */
  readonly fingerprint: string
}

/**
 * Undefined without the header. Throws Problem invalid-idempotency-key for a request without credentials, because a key
 * belongs to a caller.
 */
export function claimOf(
  { idempotencyKey: key, caller, route }: Pick<HandledRequest, 'idempotencyKey' | 'caller' | 'route'>,
  body: Json,
): Claim | undefined {
  if (key === undefined) return undefined
  if (!caller) throw new Problem('invalid-idempotency-key', 'An idempotency key needs a caller; send credentials.')
  const fingerprint = createHash('sha256').update(canonicalJson(body)).digest('base64url')
  return { subject: caller.id, route: route.path, key, fingerprint }
}

/** The two results of a claim: the object is created now, or the first answer is given again. */
export interface CreateOrReplay {
  readonly create: () => Promise<Outcome>
  readonly replay: (kept: Kept) => Promise<Outcome>
}

/**
 * Throws Problem idempotency-in-flight or idempotency-key-reused, or what the two functions throw. If another process
 * was faster, a conflict shows its commit; a unique field may conflict first.
 */
export function once(
  { store, inFlight }: Services,
  claim: Claim,
  { create, replay }: CreateOrReplay,
): Promise<Outcome> {
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
