/**
 * The idempotency key of a POST: the first request with a key creates, and each repeat gets that answer again. The key
 * is committed with the object, so neither exists without the other, even after a crash.
 */
import { createHash } from 'node:crypto'
import { byText } from '../../base/by-text.ts'
import { Problem } from '../../base/problems/problem.ts'
import type { Caller } from '../../decide/caller.ts'
import type { Json } from '../../resources/resource.ts'
import type { Kept, ReplayKey, Store } from '../../store/contract.ts'
import { ReplayTaken, UniqueTaken } from '../../store/errors.ts'

interface Claim extends ReplayKey {
  /** Identifies the payload: two JSON values have the same fingerprint exactly when they are equal. */
  readonly fingerprint: string
}

/**
 * Undefined without the header. Throws Problem invalid-idempotency-key for a request without credentials, because a key
 * belongs to a caller.
 */
export function claimOf(
  key: string | undefined,
  { caller, route, body }: { readonly caller: Caller | undefined; readonly route: string; readonly body: Json },
): Claim | undefined {
  if (key === undefined) return undefined
  if (!caller) throw new Problem('invalid-idempotency-key', 'An idempotency key needs a caller; send credentials.')
  const fingerprint = createHash('sha256').update(canonicalJson(body)).digest('base64url')
  return { subject: caller.id, route, key, fingerprint }
}

/** Where requests with a key meet: those of this process, and those that have committed. */
interface Claimed {
  readonly store: Pick<Store, 'kept'>
  readonly inFlight: InFlight
}

/** The two results of a claim: the object is created now, or the first answer is given again. */
interface CreateOrReplay<T> {
  readonly create: () => Promise<T>
  readonly replay: (kept: Kept) => Promise<T>
}

/**
 * Throws Problem idempotency-in-flight or idempotency-key-reused, or what the two functions throw. If another process
 * was faster, a conflict shows its commit; a unique field may conflict first.
 */
export function once<T>({ store, inFlight }: Claimed, claim: Claim, { create, replay }: CreateOrReplay<T>): Promise<T> {
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

/** The idempotency keys of running requests, within this process. */
export class InFlight {
  readonly #names = new Set<string>()

  /** Throws Problem idempotency-in-flight while work of the same name runs, or what the work throws. */
  async only<T>(name: string, work: () => Promise<T>): Promise<T> {
    if (this.#names.has(name)) throw inFlight()
    this.#names.add(name)
    try {
      return await work()
    } finally {
      this.#names.delete(name)
    }
  }
}

function inFlight(): Problem {
  const detail = 'The first request with this idempotency key is not answered yet; repeat it later.'
  return new Problem('idempotency-in-flight', detail, { headers: { 'Retry-After': '1' } })
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
