/** The PEP (policy enforcement point, the service that asks), and its long work, which runs in slices. */

import { onceAllKnown } from '../../base/now-or-later.ts'
import { type Caller, callerKey } from '../../decide/caller.ts'
import { type FactSource, type Steps, withFacts } from '../../decide/facts.ts'
import type { Trust } from '../../decide/grants/trust.ts'
import { USERS } from '../../decide/policy.ts'
import type { TokenVerifier } from '../../identity/caller.ts'
import type { ActivePolicy } from '../../policy/live/active-policy.ts'
import type { Resources } from '../../resources/resource.ts'
import type { Store } from '../../store/contract.ts'
import type { Directory } from '../../store/directory.ts'
import { SLICE_MS, type SliceQueue } from '../slices.ts'

/** What the routes of `system/access` need. */
export interface AccessParts {
  readonly resources: Resources
  readonly store: Pick<Store, 'get' | 'lookup' | 'inOneReadTransaction'>
  readonly directory: Pick<Directory, 'accountStatus'>
  /** For the tokens of subjects that services pass along. */
  readonly verifier: TokenVerifier
  /** PUBLIC_URL, or where the server listens. */
  readonly publicUrl: () => string
  /** For the work of batches and searches. */
  readonly slices: SliceQueue
}

/** The service that asks, and all that its questions need. */
export interface Pep extends AccessParts {
  /** The service itself; undefined without credentials. */
  readonly caller: Caller | undefined
  readonly policy: ActivePolicy
  /** The time of the request, in milliseconds since the epoch. */
  readonly now: number
  /** What it may assert of others. */
  readonly trust: Trust
  readonly facts: FactSource
  /** Runs a decision with these facts. Each object is read once for a request, so that all its evaluations see the same state. */
  readonly ask: <T>(steps: Steps<T>) => T | Promise<T>
  /** Remembers what was found, or a promise of it, for the rest of the request. `key`: a name, or what it is about. */
  readonly once: <T>(key: string | object, find: () => T) => T
  /** Names the service among others whose work takes long. */
  readonly whose: string
  /** Runs work in slices. Throws Problem quota-exceeded with too many such requests under way. */
  readonly atLength: <T>(work: () => Promise<T>) => Promise<T>
  /** When the next slice may begin. */
  readonly nextSlice: () => void | Promise<void>
  /** Aborts when nobody waits for the answer any more. */
  readonly gone: () => AbortSignal
}

/** What a decision about one question needs, whoever asks it. */
export type Deciding = Pick<Pep, 'resources' | 'now' | 'trust' | 'ask'> & {
  readonly policy: Pick<ActivePolicy, 'snapshot' | 'blocked'>
}

/** What an evaluation about a known subject needs. */
export type Evaluating = Deciding & Pick<Pep, 'once'>

interface PepRequest {
  readonly caller: Caller | undefined
  /** The client's address, as limits count it. */
  readonly address: string
  readonly gone: () => AbortSignal
  readonly policy: ActivePolicy
  readonly at: number
}

export function pepOf(parts: AccessParts, request: PepRequest): Pep {
  const { caller, policy, at } = request
  const known = new Map<string | object, unknown>()
  const once = <T>(key: string | object, find: () => T): T => known.getOrInsertComputed(key, find) as T
  const whose = callerKey(request)
  const facts = factsOnce(parts, whose)
  const trust = policy.snapshot.trustOf(policy.snapshot.subjectOf(caller))
  return {
    ...parts,
    caller,
    policy,
    now: at,
    trust,
    facts,
    ask: (steps) => withFacts(steps, facts),
    once,
    whose,
    atLength: (work) => parts.slices.run(whose, work),
    nextSlice: () => parts.slices.next(whose),
    gone: request.gone,
  }
}

function factsOnce({ resources, store }: AccessParts, whose: string): FactSource {
  const read = new Map<string, Map<string, ReturnType<Store['get']>>>()
  const object = (resource: string, id: string) =>
    read.getOrInsertComputed(resource, () => new Map()).getOrInsertComputed(id, () => store.get(resource, id))
  return {
    user: (id) => (resources.byName.has(USERS) ? object(USERS, id) : undefined),
    object,
    lookup: (lookup) => store.lookup(lookup, whose),
  }
}

/** Nobody knows yet how long a question takes: some decide about many conditions, under a policy that is new. */
const FIRST_TOGETHER = 4

interface InSlices<Q, A> {
  /** Questions that are answered at the same time, at most: a store may answer their needs together. */
  readonly most: number
  readonly answer: (question: Q) => A | Promise<A>
  /** Whether the questions after this answer are left out; with such an end, `most` is 1. */
  readonly isLast?: (answer: A) => boolean
}

/** Rejects with the signal's reason soon after the client is gone. */
export async function answerInSlices<Q, A>(
  pep: Pep,
  questions: readonly Q[],
  { most, answer, isLast = () => false }: InSlices<Q, A>,
): Promise<readonly A[]> {
  const { nextSlice, gone } = pep
  const answered: A[] = []
  let size = Math.min(most, FIRST_TOGETHER)
  let since = Number.NEGATIVE_INFINITY
  while (answered.length < questions.length) {
    if (performance.now() - since >= SLICE_MS) {
      await nextSlice()
      gone().throwIfAborted()
      since = performance.now()
    }
    const group = questions.slice(answered.length, answered.length + size)
    const begun = performance.now()
    const answers = pep.store.inOneReadTransaction(() => onceAllKnown(group.map(answer)))
    // While a store is waited for, others are answered.
    size = performance.now() - begun < SLICE_MS / 2 ? Math.min(most, 2 * size) : 1
    answered.push(...(answers instanceof Promise ? await answers : answers))
    const last = answered.at(-1)
    if (last !== undefined && isLast(last)) break
  }
  return answered
}
