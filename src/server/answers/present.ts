/** Status, headers and body of an answer. The decision that granted the fields has already cut them. */
import type { Context } from 'koa'
import type { Problem } from '../../base/problems/problem.ts'
import type { Match } from '../../resources/routing/match-route.ts'
import { type AnswerBody, answerBodyOf, type UnreadAnswers } from '../http/unread-answers.ts'
import { hasBody } from '../input/read-body.ts'
import type { Outcome } from '../routes/handler.ts'
import { WrittenJson } from '../routes/written-json.ts'
import { holderOf } from '../stages/refuse-unread.ts'
import type { Writable } from '../stages/stage.ts'
import type { RequestState, ResponseHeaders } from '../stages/state.ts'
import { answeredStatus } from './answered-status.ts'
import type { Cors } from './cors.ts'
import { PROBLEM_TYPE, problemDocument, problemOf } from './to-problem.ts'

interface PresentParts {
  readonly cors: Cors
  readonly unread: UnreadAnswers
}

interface Answer {
  readonly status: number
  readonly headers: ResponseHeaders
  /** Undefined for an answer without a body. */
  readonly body: AnswerBody | undefined
}

/**
 * The final answer, with the headers that every answer has. An outcome that can't be sent as HTTP becomes a fault. Node's
 * `writeHead` writes the headers, all at once (docs/decisions/0081).
 */
export function present(ctx: Context, state: Writable<RequestState>, parts: PresentParts): void {
  if (!ctx.writable) {
    // Nobody reads it any more, but what waits for its end goes on.
    ctx.res.end()
    return
  }
  try {
    if (state.outcome && !state.problem) {
      send(ctx, state, answerOf(ctx, state.outcome, state, parts.cors), parts.unread)
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

/** The body of an outcome, which has one, as it is sent. */
export function bodyOfOutcome({ body }: Outcome): AnswerBody {
  return answerBodyOf(body instanceof WrittenJson ? body.text : JSON.stringify(body))
}

function answerOf(
  { req }: Context,
  { status, headers: own }: Outcome,
  { headers: common, body }: RequestState,
  cors: Cors,
): Answer {
  const headers = { ...common, ...own }
  if (status === 204) cors.answerPreflight(req, headers)
  if (body === undefined) return { status, headers, body }
  headers['Content-Type'] = 'application/json; charset=utf-8'
  return { status, headers, body }
}

function problemAnswerOf(
  { req }: Context,
  { problem, requestId, headers: common, forwarded }: RequestState,
): Answer & { readonly body: AnswerBody } {
  const told: Problem = problem ?? problemOf(undefined, undefined)
  const status = answeredStatus({ problem: told, forwarded })
  const headers: ResponseHeaders = { ...common, ...told.headers, 'Content-Type': PROBLEM_TYPE }
  if (forwarded) headers['X-Sallyport-Problem'] = told.code
  // Otherwise the server would read the rest of a refused body.
  if (!req.complete && hasBody(req)) headers.Connection = 'close'
  return { status, headers, body: answerBodyOf(JSON.stringify({ ...problemDocument(told, requestId), status })) }
}

function send(
  ctx: Context,
  { match, forwarded }: RequestState,
  { status, headers, body }: Answer,
  unread: UnreadAnswers,
): void {
  if (!forwarded) announceLifecycle(headers, match)
  // RFC 9110 section 8.6: 204 and 304 have no Content-Length here.
  if (status !== 204 && status !== 304) headers['Content-Length'] = String(Buffer.byteLength(body ?? ''))
  unread.send(ctx.res.writeHead(status, headers), body)
}

/** Every answer of a deprecated route has these headers, problems included. The Link of a list stays. */
function announceLifecycle(headers: ResponseHeaders, match: Match | undefined): void {
  if (!match || !('route' in match) || !match.route.lifecycle) return
  const { deprecatedAt, sunsetAt, successor } = match.route.lifecycle
  // RFC 9745 section 2: a structured-field Date (RFC 9651 section 3.3.7), in seconds.
  if (deprecatedAt !== undefined) headers.Deprecation = `@${deprecatedAt / 1000}`
  // RFC 8594 section 3: an HTTP-date.
  if (sunsetAt !== undefined) headers.Sunset = new Date(sunsetAt).toUTCString()
  if (successor === undefined) return
  const link = `<${addressOf(successor, match.id)}>; rel="successor-version"`
  headers.Link = headers.Link === undefined ? link : `${headers.Link}, ${link}`
}

/** Encodes the id again, so that no id can end the link. */
function addressOf(successor: string, id: string | undefined): string {
  return successor.replace('{id}', () => encodeURIComponent(id ?? ''))
}
