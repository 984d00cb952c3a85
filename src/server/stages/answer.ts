/**
 * The first stage to see a request and the last to see its answer: problems, the record, the status, the headers and
 * the body. The decision that granted the fields has already cut them.
 */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context } from 'koa'
import { Problem } from '../../base/problems/problem.ts'
import { textOfTime } from '../../base/time.ts'
import type { Recorder } from '../../decision-log/recorder.ts'
import type { LivePolicy } from '../../policy/live/live-policy.ts'
import { echoesRequestId } from '../../resources/built-in/access.ts'
import type { Route } from '../../resources/resource.ts'
import { withParameter } from '../../resources/routing/path-parameter.ts'
import type { Cors } from '../answers/cors.ts'
import { openEventStream, sendEvents } from '../answers/event-stream.ts'
import { answeredStatus, observe, settleRecord } from '../answers/record.ts'
import { PROBLEM_TYPE, problemDocument, problemOf } from '../answers/to-problem.ts'
import { hasBody } from '../http/http-server.ts'
import type { PartOfBatch } from '../http/in-memory.ts'
import { type AnswerBody, answerBodyOf, type UnreadAnswers } from '../http/unread-answers.ts'
import type { FaultLog } from '../observe/fault-log.ts'
import type { Metrics } from '../observe/metrics.ts'
import { WrittenJson } from '../routes/entity-tag.ts'
import { holderOf } from './limit-rate.ts'
import type { Received, RequestState, ResponseHeaders, Stage, Traced, Writable } from './state.ts'

/** `begun`: requests in flight are completed, and new ones are refused. */
interface Shutdown {
  readonly begun: boolean
}

export interface AnswerParts {
  readonly instance: string
  readonly policy: Pick<LivePolicy, 'active' | 'at'>
  readonly now: () => Date
  /** Undefined where CORS is off. */
  readonly cors: Cors | undefined
  readonly recorder: Recorder
  readonly faults: FaultLog
  readonly metrics: Pick<Metrics, 'observeRequest'>
  readonly unread: UnreadAnswers
  readonly shutdown: Shutdown
}

export function answer(parts: AnswerParts): Stage<object, Received> {
  const endOfTurn = createEndOfTurn()
  return async (ctx, next) => {
    const state: Writable<RequestState> = receive(parts, ctx.method, ctx.state)
    ctx.state = state
    if (ctx.req.headers['x-request-id'] !== undefined) echoRequestId(ctx.req, state.headers)
    parts.cors?.share(ctx.req, state.headers)
    try {
      // The record shows the same time that selects the valid rules.
      const time = parts.now()
      state.time = textOfTime(time)
      state.at = time.getTime()
      state.policy = parts.policy.at(state.at)
      if (state.refusal) throw state.refusal
      await next()
      holdAnswer(parts.unread, ctx.res, state)
    } catch (error) {
      const { authentication } = state
      state.problem = problemOf(error, authentication?.kind === 'caller' ? authentication.caller : undefined)
    }
    const settled = settleRecord(parts, state)
    if (settled) await settled
    await endOfTurn()
    // Otherwise the connection would stay open, and the shutdown would wait for it.
    if (parts.shutdown.begun) state.headers.Connection = 'close'
    present(ctx, state, parts)
    observe(parts, state)
  }
}

/**
 * A write is stored by now, so its answer is only counted. What the handler wrote isn't needed any more, and must not
 * wait for the record of the request: many pages that are refused in one turn would fill the memory.
 */
function holdAnswer(unread: UnreadAnswers, response: ServerResponse, state: Writable<RequestState>): void {
  const { outcome } = state
  if (outcome?.body === undefined) return
  const body = answerBodyOf(outcome.body instanceof WrittenJson ? outcome.body.text : JSON.stringify(outcome.body))
  state.outcome = { ...outcome, body: undefined }
  // Small answers aren't counted.
  if (typeof body !== 'string') {
    if (state.committed) unread.keep(response, holderOf(state), body)
    else unread.hold(response, holderOf(state), body)
  }
  state.body = body
}

function receive(
  { instance, policy: { active } }: AnswerParts,
  method: string,
  { traceId, span, batch, refusal }: Traced & PartOfBatch,
): RequestState {
  return {
    requestId: randomUUID(),
    traceId,
    span,
    batch,
    refusal,
    instance,
    started: performance.now(),
    at: Number.NaN,
    method,
    revision: active.revision,
    masks: active.snapshot.masks,
    headers: {
      'Policy-Revision': active.revision,
      ...(active.sequence === undefined ? {} : { 'Policy-Sequence': String(active.sequence) }),
      Vary: 'Authorization, Accept',
      'Cache-Control': 'private, no-cache',
    },
    policy: active,
  }
}

/** Requests in flight are completed. Later requests on a connection that is still open are refused. */
export function refuseWhileDraining(shutdown: Shutdown): Stage<Received> {
  return (_, next) => {
    if (!shutdown.begun) return next()
    throw new Problem('draining', 'The server is shutting down; try again.', { headers: { 'Retry-After': '1' } })
  }
}

interface WrittenAnswer {
  readonly status: number
  readonly headers: ResponseHeaders
  /** Undefined for an answer without a body. */
  readonly body: AnswerBody | undefined
}

/**
 * The final answer, with the headers that every answer has. An outcome that can't be sent as HTTP becomes a fault. Node's
 * `writeHead` writes the headers, all at once (docs/decisions/0081).
 */
export function present(
  ctx: Context,
  state: Writable<RequestState>,
  parts: Pick<AnswerParts, 'cors' | 'unread'>,
): void {
  if (!ctx.writable) {
    // Nobody reads it any more, but what waits for its end goes on.
    ctx.res.end()
    return
  }
  try {
    if (state.outcome && !state.problem) {
      const { status } = state.outcome
      const headers = { ...state.headers, ...state.outcome.headers }
      if (status === 204) parts.cors?.answerPreflight(ctx.req, headers)
      const { events, stream } = state.outcome
      if (events) {
        sendEvents(ctx.res, headers, events)
        return
      }
      if (stream) {
        openEventStream(ctx.res, headers)
        stream(ctx.res)
        return
      }
      if (state.body !== undefined) headers['Content-Type'] = 'application/json; charset=utf-8'
      send(ctx, state, { status, headers, body: state.body }, parts.unread)
      return
    }
  } catch (error) {
    state.problem = problemOf(error, undefined)
  }
  const refused = problemAnswerOf(ctx, state)
  // A problem names the members that a client has sent, which may be long.
  parts.unread.keep(ctx.res, holderOf(state), refused.body)
  send(ctx, state, refused, parts.unread)
}

function problemAnswerOf(
  { req }: Context,
  { problem, requestId, traceId, headers: common, forwarded }: RequestState,
): WrittenAnswer & { readonly body: AnswerBody } {
  const shown: Problem = problem ?? problemOf(undefined, undefined)
  const status = answeredStatus({ problem: shown, forwarded })
  const headers: ResponseHeaders = { ...common, ...shown.headers, 'Content-Type': PROBLEM_TYPE }
  if (forwarded) headers['X-Sallyport-Problem'] = shown.code
  // Otherwise the server would read the rest of a refused body.
  if (!req.complete && hasBody(req)) headers.Connection = 'close'
  return {
    status,
    headers,
    body: answerBodyOf(JSON.stringify({ ...problemDocument(shown, requestId), traceId, status })),
  }
}

function send(
  ctx: Context,
  { match, forwarded }: RequestState,
  { status, headers, body }: WrittenAnswer,
  unread: UnreadAnswers,
): void {
  if (!forwarded && match && 'route' in match && match.route.lifecycle) {
    announceLifecycle(headers, match.route.lifecycle, match.id ?? match.parentId)
  }
  // RFC 9110 section 8.6: 204 and 304 have no Content-Length here.
  if (status !== 204 && status !== 304) headers['Content-Length'] = String(Buffer.byteLength(body ?? ''))
  unread.send(ctx.res.writeHead(status, headers), body)
}

/** Every answer of a deprecated route has these headers, problems included. The Link of a list stays. */
function announceLifecycle(headers: ResponseHeaders, lifecycle: NonNullable<Route['lifecycle']>, id?: string): void {
  const { deprecatedAt, sunsetAt, successor } = lifecycle
  // RFC 9745 section 2: a structured-field Date (RFC 9651 section 3.3.7), in seconds.
  if (deprecatedAt !== undefined) headers.Deprecation = `@${deprecatedAt / 1000}`
  // RFC 8594 section 3: an HTTP-date.
  if (sunsetAt !== undefined) headers.Sunset = new Date(sunsetAt).toUTCString()
  if (successor === undefined) return
  const link = `<${addressOf(successor, id)}>; rel="successor-version"`
  headers.Link = headers.Link === undefined ? link : `${headers.Link}, ${link}`
}

/** Encodes the id again, so that no id can end the link. */
function addressOf(successor: string, id: string | undefined): string {
  return withParameter(successor, encodeURIComponent(id ?? ''))
}

/** So that the answer has exactly the bytes of the request; all its headers together have at most 16 KiB. */
const ECHOED = /^[\t\x20-\x7e]+$/

/** Of a request target in absolute form (RFC 9112 section 3.2.2). */
const ORIGIN = /^https?:\/\/[^/]*/i

function echoRequestId({ url = '', headers }: IncomingMessage, answer: ResponseHeaders): void {
  const id = headers['x-request-id']
  if (typeof id !== 'string' || !ECHOED.test(id)) return
  if (echoesRequestId(url.startsWith('/') ? url : url.replace(ORIGIN, ''))) answer['X-Request-ID'] = id
}

/** Resolves when the requests that came in this turn have been handled as far as they need not wait. */
type EndOfTurn = () => Promise<void>

function createEndOfTurn(): EndOfTurn {
  let end: Promise<void> | undefined
  return () => {
    if (end) return end
    const { promise, resolve } = Promise.withResolvers<void>()
    end = promise
    setImmediate(() => {
      end = undefined
      resolve()
    })
    return promise
  }
}
