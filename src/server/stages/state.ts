/**
 * What each stage provides in `ctx.state` for the stages after it, in their order (src/server/stack.ts), and the type of
 * stages: Koa middleware whose type says what it reads from the state and what it provides.
 */
import type Koa from 'koa'
import type { Middleware, Next, ParameterizedContext } from 'koa'
import type { Problem } from '../../base/problems/problem.ts'
import type { Caller } from '../../decide/caller.ts'
import type { Decision } from '../../decide/decision.ts'
import type { Masks } from '../../decide/policy.ts'
import type { DecisionRecord } from '../../decision-log/decision-record.ts'
import type { Authentication, Credentials } from '../../identity/caller.ts'
import type { ActivePolicy } from '../../policy/live/active-policy.ts'
import type { StoredObject } from '../../resources/object.ts'
import type { Gateway, Resource } from '../../resources/resource.ts'
import type { Match, RouteMatch, RouterMiddleware } from '../../resources/routing/match-route.ts'
import type { PartOfBatch } from '../http/in-memory.ts'
import type { AnswerBody } from '../http/unread-answers.ts'
import type { Input } from '../input/input.ts'
import type { TracedSpan } from '../observe/exemplars.ts'
import type { Outcome } from '../routes/handler.ts'

/** By name, spelled as sent; each name once. */
export type ResponseHeaders = Record<string, string>

/** Provided where traces are sent (src/server/telemetry/tracing.ts). */
export interface Traced {
  /** If the request is sampled, or its client sent the id: 32 hexadecimal digits. */
  readonly traceId?: string | undefined
  /** If the request is sampled. */
  readonly span?: TracedSpan | undefined
}

/** Provided by `answer`. */
export interface Received extends Traced, PartOfBatch {
  readonly requestId: string
  /** The instance that answers. */
  readonly instance: string
  /** `performance.now()` when the request came. */
  readonly started: number
  readonly method: string
  readonly revision: string
  /** The masks of the policy that decides, for the decision record. */
  readonly masks: Masks
  /** The headers of every answer, also of a later stage's refusal. */
  readonly headers: ResponseHeaders
  /** When the request came: RFC 3339, UTC, milliseconds. */
  readonly time?: string
  /** The same in milliseconds since the epoch. */
  readonly at: number
  /** The policy that decides, in its state at that time. */
  readonly policy: ActivePolicy
}

/** Provided by `match`. */
export interface Matched {
  readonly match: Match
  /** The routes of the router that has this one; undefined where no route accepts the request. */
  readonly routes: RouterMiddleware | undefined
}

/** Provided by `refuseFloods`. */
export interface Addressed {
  /** The client's address, as limits count it. */
  readonly address: string
  /** The same in full, if it is known. */
  readonly wholeAddress?: string | undefined
  readonly credentials: Credentials
}

/** What is known of a forwarded request. */
interface ForwardedRequest {
  readonly profile: Gateway
  /** The path that the gateway asks. */
  readonly route: string
  /** The subject of the gateway; undefined if it proved nothing. */
  readonly gateway?: string
  /** The method of the client's request, if it could be read. */
  readonly method?: string
}

/** Provided by `match`, and completed by `readForwarded`. */
export interface Forwarding {
  /** Undefined for a request that no gateway asks about; else the state is about its client's request. */
  readonly forwarded?: ForwardedRequest
}

/** An object of the same state of the database as the account status of the caller. */
export interface PrefetchedObject {
  readonly resource: string
  readonly id: string
  readonly object: StoredObject | undefined
}

/** Provided by `authenticate`. */
export interface Authenticated {
  readonly authentication: Authentication
  /** Undefined if the object wasn't read. */
  readonly prefetched?: PrefetchedObject | undefined
}

/** A request that a route accepts, from a caller who is known or sent no credentials. */
export interface AcceptedRequest {
  readonly match: RouteMatch
  /** Undefined without credentials. */
  readonly caller: Caller | undefined
  /** The time of the request, in milliseconds since the epoch. */
  readonly at: number
  /** The client's whole address, if it is known. */
  readonly address?: string | undefined
  /** A gateway asks; the object is elsewhere. */
  readonly forwarded?: unknown
}

/** Provided by `refusePathMethodToken`. */
export interface Accepted {
  readonly accepted: AcceptedRequest
  /** The resource of the route. */
  readonly resource: Resource
}

/** Provided by `authorize`. */
export interface Authorized {
  readonly decision: Decision
}

/** Provided by `validate`. */
export interface Validated {
  readonly input: Input
}

/** Provided by the handler of a route. */
export interface Handled {
  readonly outcome: Outcome
  /** The latest decision about a write that came too late for the first; none while it is made, or where it failed. */
  readonly again?: { readonly decision?: Decision }
}

/** What `answer` finds when the stages have ended; members of stages that didn't run are absent. */
export interface RequestState
  extends Received,
    Partial<Matched & Addressed & Forwarding & Authenticated & Accepted & Authorized & Validated & Handled> {
  readonly problem?: Problem
  /** The body of the outcome, as it is sent. */
  readonly body?: AnswerBody | undefined
  /** The record that was stored together with its write. */
  readonly committed?: { readonly line: string; readonly unmasked: DecisionRecord } | undefined
}

/** The stage sets every member of `Provides` in `ctx.state` before it calls `next`. */
export interface Stage<Reads extends object, Provides extends object = object> {
  (ctx: StageContext<Reads & Writable<Provides>>, next: Next): unknown
  /** Exists only in the type; no stage has it at run time. */
  readonly provides?: Provides
}

type StageContext<State extends object> = ParameterizedContext<State>

export type Writable<T> = { -readonly [K in keyof T]: T[K] }

interface SpansOfStages {
  readonly stage: <S extends (ctx: never, next: Next) => unknown>(span: string, stage: S) => S
}

/**
 * Koa's `use`, for stages. A stage that reads something that no earlier stage provides doesn't compile
 * (test/stage-types.test.ts).
 */
export class Stages<State extends object = object> {
  readonly #app: Koa
  readonly #spans: SpansOfStages | undefined

  constructor(app: Koa, spans?: SpansOfStages) {
    this.#app = app
    this.#spans = spans
  }

  /** `span`: the name of its span, where traces are sent. */
  use<Provides extends object>(stage: Stage<State, Provides>, span?: string): Stages<State & Provides> {
    const used = span === undefined || !this.#spans ? stage : this.#spans.stage(span, stage)
    this.#app.use(used as Middleware)
    return this as unknown as Stages<State & Provides>
  }
}
