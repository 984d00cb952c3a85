/** A service that asks: the policy and the time of its request, and the facts that its evaluations have in common. */
import type { Caller } from '../../decide/caller.ts'
import { type FactSource, type Steps, withFacts } from '../../decide/facts.ts'
import type { Trust } from '../../decide/grants/trust.ts'
import { USERS } from '../../decide/policy.ts'
import type { TokenVerifier } from '../../identity/caller.ts'
import type { ActivePolicy } from '../../policy/active-policy.ts'
import type { Resources } from '../../resources/resource.ts'
import type { Store } from '../../store/contract.ts'
import type { Directory } from '../../store/directory.ts'
import { callerKey, type Turns } from './turns.ts'

/** What the routes of `system/access` need. */
export interface AccessParts {
  readonly resources: Resources
  readonly store: Pick<Store, 'get' | 'lookup' | 'atOnce'>
  readonly directory: Pick<Directory, 'standing'>
  /** For the tokens of subjects that services pass along. */
  readonly verifier: TokenVerifier
  /** PUBLIC_URL, or where the server listens. */
  readonly publicUrl: () => string
  /** For the work of batches and searches. */
  readonly turns: Turns
}

export interface Asker extends AccessParts {
  /** The service itself; undefined without credentials. */
  readonly caller: Caller | undefined
  readonly policy: ActivePolicy
  /** The time of the request, in milliseconds since the epoch. */
  readonly now: number
  /** What it may assert of others. */
  readonly trust: Trust
  /** Runs a decision. Each object is read once for a request, so that all its evaluations see the same state. */
  readonly ask: <T>(steps: Steps<T>) => T | Promise<T>
  /** Remembers what was found, or a promise of it, for the rest of the request. */
  readonly once: <T>(key: string, find: () => T) => T
  /** Names the service among others whose work takes long. */
  readonly whose: string
  /** Runs work in slices. Throws Problem quota-exceeded with too many such requests under way. */
  readonly atLength: <T>(work: () => Promise<T>) => Promise<T>
  /** When the next slice may begin. */
  readonly turn: () => void | Promise<void>
  /** Aborts when nobody waits for the answer any more. */
  readonly gone: AbortSignal
}

interface Request {
  readonly caller: Caller | undefined
  /** The client's address, as limits count it. */
  readonly address: string
  readonly gone: AbortSignal
  readonly policy: ActivePolicy
  readonly at: number
}

export function askerOf(parts: AccessParts, request: Request): Asker {
  const { caller, policy, at } = request
  const known = new Map<string, unknown>()
  const once = <T>(key: string, find: () => T): T => known.getOrInsertComputed(key, find) as T
  const facts = factsOnce(parts)
  const trust = policy.snapshot.trustOf(policy.snapshot.subjectOf(caller))
  const whose = callerKey(request)
  return {
    ...parts,
    caller,
    policy,
    now: at,
    trust,
    ask: (steps) => withFacts(steps, facts),
    once,
    whose,
    atLength: (work) => parts.turns.run(whose, work),
    turn: () => parts.turns.next(whose),
    get gone() {
      return request.gone
    },
  }
}

function factsOnce({ resources, store }: AccessParts): FactSource {
  const read = new Map<string, Map<string, ReturnType<Store['get']>>>()
  const object = (resource: string, id: string) =>
    read.getOrInsertComputed(resource, () => new Map()).getOrInsertComputed(id, () => store.get(resource, id))
  return {
    user: (id) => (resources.byName.has(USERS) ? object(USERS, id) : undefined),
    object,
    lookup: (lookup) => store.lookup(lookup),
  }
}
