/**
 * The interface of handlers: their services, the request, and the outcome. The decision is made before a handler runs.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Problem } from '../../base/problems/problem.ts'
import type { UnderWay } from '../../base/under-way.ts'
import type { Caller } from '../../decide/caller.ts'
import type { Decision, WatchDecision } from '../../decide/decision.ts'
import type { Evidence } from '../../decide/evidence.ts'
import type { Steps } from '../../decide/facts.ts'
import type { Abilities } from '../../decide/grants/abilities.ts'
import type { AlongPermit, Permit } from '../../decide/permits/permit.ts'
import type { AskedBy } from '../../decide/permits/references.ts'
import type { Snapshot } from '../../decide/snapshot.ts'
import type { AskedRecord, DecisionRecord, SearchRecord } from '../../decision-log/decision-record.ts'
import type { SignIn } from '../../identity/sign-in/sign-in.ts'
import type { ActivePolicy } from '../../policy/live/active-policy.ts'
import type { Json, Method, Resource, Resources, Route } from '../../resources/resource.ts'
import type { Comparison } from '../../resources/routing/query.ts'
import type { ReadChanges } from '../../store/changes.ts'
import type { OpenTransaction, Replay, Store } from '../../store/contract.ts'
import type { AccessParts } from '../authzen/pep.ts'
import type { AskInMemory } from '../http/in-memory.ts'
import type { UnreadAnswers } from '../http/unread-answers.ts'
import type { InFlight } from '../idempotency/idempotency-key.ts'
import type { Input, Preconditions } from '../input/input.ts'
import type { AccessRequests } from '../policy-changes/follow-grants.ts'
import type { PolicyQuestions } from '../questions/policy-questions.ts'
import type { Cursors } from './cursor.ts'
import type { EntityTags, WrittenJson } from './entity-tag.ts'

/** The request as it came. */
interface ReceivedRequest {
  readonly requestId: string
  readonly req: IncomingMessage
  readonly res: ServerResponse
}

/** Throws what the store throws, Refused, and Problem. */
export type Handler = (
  services: Services,
  request: HandledRequest,
  decision: Decision,
  input: Input,
) => Outcome | Promise<Outcome>

/** Whether a part of the server works: `degraded` means that it answers, but not as well as it should. */
export interface Health {
  readonly status: 'ok' | 'degraded' | 'unavailable'
  readonly detail?: string
}

/** How the requests of batches are asked: by the stages of all requests, on the routes of schema files alone. */
export interface Batches {
  readonly ask: AskInMemory
  /** Throws Problem quota-exceeded for too many at a time. */
  readonly underWay: Pick<UnderWay, 'run'>
  /**
   * The same in one transaction, which commits when `work` resolves; one at a time for each caller: `whose` is its name.
   * Throws PartFailed as `work` does, and what the transaction throws. Undefined where the database has none.
   */
  readonly atomically?: (<T>(whose: string, work: (asking: AtomicAsking) => Promise<T>) => Promise<T>) | undefined
}

interface AtomicAsking extends Pick<OpenTransaction, 'keep'> {
  readonly ask: AskInMemory
}

export interface Services {
  readonly store: Pick<Store, 'list' | 'get' | 'count' | 'aggregate' | 'kept' | 'lookup'>
  /** Undefined where no history is kept. */
  readonly changes?: ReadChanges | undefined
  readonly unread: Pick<UnreadAnswers, 'refuse'>
  /** The idempotency keys of running requests. */
  readonly inFlight: InFlight
  readonly now: () => Date
  /** The id that a command has chosen for the object of a POST with this idempotency key. No client can choose one. */
  readonly chosenId?: (idempotencyKey: string | undefined) => string | undefined
  /** Undefined where tokens come from elsewhere. */
  readonly signIn: SignIn | undefined
  /** The public keys for tokens that this server signs (RFC 7517 section 5). */
  readonly keySet: () => Json
  readonly cursors: Cursors
  readonly tags: EntityTags
  /** The OpenAPI document of a caller's operations under a policy, as JSON text. */
  readonly describe: (snapshot: Snapshot, caller: Caller | undefined) => Promise<string>
  /** The current state of each part of the server, by name. */
  readonly checks: () => Promise<Readonly<Record<string, Health>>>
  /** Undefined where the policy is not published in the database: then no role can be asked for. */
  readonly requests?: AccessRequests | undefined
  /** Undefined where nobody may ask about the policy. */
  readonly questions?: PolicyQuestions | undefined
  readonly batches: Batches
  /** For the routes where other services ask the policy. */
  readonly access: AccessParts
}

/** Gets the facts that further steps of the decision ask for: as they are, or as they will be right after a write. */
type AskFacts = <T>(steps: Steps<T>, written?: Permit<'create'> | Permit<'update'>) => T | Promise<T>

/** How the caller of a request follows events: it is decided again while its stream is open. */
interface EventStreams {
  /** Counts a stream until the returned function is called. Throws Problem quota-exceeded. */
  readonly enter: () => () => void
  /** `response`: its head is written. */
  readonly follow: (response: ServerResponse, asked: FollowedList) => void
}

interface FollowedList {
  readonly decision: WatchDecision
  readonly filter: readonly Comparison[]
  /** As the client sent it. */
  readonly lastEventId: string | undefined
}

export interface HandledRequest {
  readonly method: Method
  readonly route: Route
  readonly resource: Resource
  /** Made for a request that writes. */
  readonly writes: () => Writes
  /** Undefined without credentials. */
  readonly caller: Caller | undefined
  /** The client's address, as limits count it. */
  readonly address: string
  /** Aborts when the client is gone before its answer; made when it is first asked for. */
  readonly gone: () => AbortSignal
  /** For a batch, whose requests have the same client. */
  readonly received: () => ReceivedRequest
  /** For a stream of events. */
  readonly events: () => EventStreams
  readonly ask: AskFacts
  /** Who asks, and when: for questions about other objects. */
  readonly asked: () => AskedBy
  readonly resources: Resources
  /** What this caller can do with objects of the resource. */
  readonly abilities: () => Abilities | Promise<Abilities>
  /** The path's `{id}`, as sent. */
  readonly path: string
  readonly query: string
  readonly preconditions: Preconditions
  /** For a POST, if the client sends one. */
  readonly idempotencyKey?: string | undefined
  /** The policy that decided. */
  readonly snapshot: Snapshot
  readonly policy: ActivePolicy
  /** The time of the request, in milliseconds since the epoch. */
  readonly at: number
}

/** What is written with a delete: permits for the store, and what the decision record tells of them. */
export interface WrittenAlong {
  readonly permits: readonly AlongPermit[]
  readonly told: NonNullable<DecisionRecord['along']>
}

export interface Outcome {
  readonly status: 200 | 201 | 204 | 301 | 302 | 304 | 307 | 308
  readonly headers: Readonly<Record<string, string>>
  /** Undefined for an answer without a body. */
  readonly body: Json | WrittenJson | undefined
  /** Server-sent events in place of a body: they end when the client is gone, and in a minute. */
  readonly events?: AsyncIterable<string>
  /** The same for a stream without such an end: sends them after the head of the answer. */
  readonly stream?: (response: ServerResponse) => void
  /** The evidence of a write, if it is known only after the handler ran. */
  readonly evidence?: Evidence
  /** The id of the created object. */
  readonly objectId?: string
  /** What `?expand` has shown, for the decision record. */
  readonly expanded?: DecisionRecord['expanded']
  /** What else was written, because it referred to the deleted object; for the decision record. */
  readonly along?: WrittenAlong
  /** The questions of another service, for the decision record. */
  readonly asked?: readonly AskedRecord[]
  /** A search of another service, for the decision record. */
  readonly searched?: SearchRecord
}

/** How a request ends: with an outcome, or with a refusal. */
export type RequestEnd = { readonly outcome: Outcome } | { readonly problem: Problem }

/** `time`: when the write happens; the object and the outcome show the same time. */
interface At {
  readonly time: string
}

/** A write resolves with its outcome. If the store throws, the write throws the same error and nothing is written. */
export interface Writes {
  create(
    permit: Permit<'create'>,
    outcome: Outcome,
    at: At & { readonly replay?: Replay | undefined },
  ): Promise<Outcome>
  update(
    permit: Permit<'update'>,
    outcome: Outcome,
    at: At & { readonly replay?: Replay | undefined },
  ): Promise<Outcome>
  delete(permit: Permit<'delete'>, outcome: Outcome): Promise<Outcome>
  /**
   * The decision record of a request with this end. A change of something other than an object commits the record
   * together with the change.
   */
  record(end: RequestEnd): string
  /** Call this when a record from `record` has been committed. */
  committed(record: string): void
}
