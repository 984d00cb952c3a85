/**
 * The PEP (policy enforcement point, the service that asks), and its long work, which runs in slices: one slice in a
 * turn of the event loop, and callers in turn. So other requests wait for one slice, however many batches are under
 * way, and no caller's batches hold up another's.
 */

import { onceAllKnown } from '../../base/now-or-later.ts'
import { Problem } from '../../base/problems/problem.ts'
import { type Most, UnderWay } from '../../base/under-way.ts'
import { type Caller, callerKey } from '../../decide/caller.ts'
import { type FactSource, type Steps, withFacts } from '../../decide/facts.ts'
import type { Trust } from '../../decide/grants/trust.ts'
import { USERS } from '../../decide/policy.ts'
import type { TokenVerifier } from '../../identity/caller.ts'
import type { ActivePolicy } from '../../policy/live/active-policy.ts'
import type { Resources } from '../../resources/resource.ts'
import type { Store } from '../../store/contract.ts'
import type { Directory } from '../../store/directory.ts'

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

/** The most long requests under way (docs/authzen.md): each keeps its body and its answer in memory. */
const MOST: Most = { ofCaller: 32, ofAll: 128 }

export class SliceQueue {
  /** By caller, in rotation. */
  readonly #waiting = new Map<string, (() => void)[]>()
  readonly #underWay: UnderWay
  #isTaken = false

  constructor(most: Most = MOST) {
    this.#underWay = new UnderWay(most, () => tooManyUnderWay('batches and searches'))
  }

  /** Runs long work of this caller. Throws Problem quota-exceeded with too many under way, and what the work throws. */
  run<T>(caller: string, work: () => Promise<T>): Promise<T> {
    return this.#underWay.run(caller, work)
  }

  /** When this caller's next slice may begin: at once, where no other has run in this turn of the event loop. */
  next(caller: string): void | Promise<void> {
    if (!this.#isTaken) {
      this.#take()
      return
    }
    return new Promise((begin) => {
      this.#waiting.getOrInsertComputed(caller, () => []).push(begin)
    })
  }

  #take(): void {
    this.#isTaken = true
    setImmediate(() => this.#pass())
  }

  #pass(): void {
    this.#isTaken = false
    const [first] = this.#waiting
    if (!first) return
    const [caller, [begin, ...others]] = first
    this.#waiting.delete(caller)
    if (others.length > 0) this.#waiting.set(caller, others)
    this.#take()
    begin?.()
  }
}

/** `what`: e.g. "batches and searches". */
export function tooManyUnderWay(what: string): Problem {
  const detail = `Too many ${what} are under way; send them one after another, and try again in 1 s.`
  return new Problem('quota-exceeded', detail, {
    headers: { 'Retry-After': '1' },
    members: { 'violated-policies': ['under-way'] },
  })
}

/** Nobody knows yet how long a question takes: some decide about many conditions, under a policy that is new. */
const FIRST_TOGETHER = 4

/** In milliseconds: other requests wait no longer for a slice, unless one question takes longer. */
const SLICE_MS = 5

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
