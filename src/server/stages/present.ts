/** Status, headers and body of an answer. The fields were cut already, by the decision that granted them. */
import type { Context } from 'koa'
import type { Problem } from '../../base/problems/problem.ts'
import { hasBody } from '../input/read-body.ts'
import { type Outcome, WrittenJson } from '../routes/outcome.ts'
import type { Cors } from './cors.ts'
import { PROBLEM_TYPE, problemDocument, problemOf } from './problem-boundary.ts'
import type { Exchange } from './record.ts'
import { announceLifecycle } from './version.ts'

/** By name, in the spelling that is sent; each once. */
export type ResponseHeaders = Record<string, string>

interface Answer {
  readonly status: number
  readonly headers: ResponseHeaders
  /** Undefined for an answer without a body. */
  readonly text: string | undefined
}

/**
 * What the exchange came to, with the headers that every answer has. An outcome that can't be sent as HTTP becomes a fault.
 * Node's own `writeHead` sends all headers at once, which takes a fraction of Koa's time for setting them one by one.
 */
export function present(ctx: Context, exchange: Exchange, common: ResponseHeaders, cors: Cors): void {
  ctx.respond = false
  if (!ctx.writable) return
  try {
    if (exchange.outcome && !exchange.problem) {
      send(ctx, exchange, answerOf(ctx, exchange.outcome, common, cors))
      return
    }
  } catch (error) {
    exchange.problem = problemOf(error, undefined)
  }
  send(ctx, exchange, problemAnswerOf(ctx, exchange, common))
}

function answerOf(
  { req }: Context,
  { status, headers: own, body }: Outcome,
  common: ResponseHeaders,
  cors: Cors,
): Answer {
  const headers = { ...common, ...own }
  if (status === 204) cors.answerPreflight(req, headers)
  if (body === undefined) return { status, headers, text: undefined }
  headers['Content-Type'] = 'application/json; charset=utf-8'
  return { status, headers, text: body instanceof WrittenJson ? body.text : JSON.stringify(body) }
}

function problemAnswerOf({ req }: Context, { problem, requestId }: Exchange, common: ResponseHeaders): Answer {
  const told: Problem = problem ?? problemOf(undefined, undefined)
  const headers: ResponseHeaders = { ...common, ...told.headers, 'Content-Type': PROBLEM_TYPE }
  // A body that nobody read would be read to its end for nothing.
  if (!req.complete && hasBody(req)) headers.Connection = 'close'
  return { status: told.status, headers, text: JSON.stringify(problemDocument(told, requestId)) }
}

function send({ req, res }: Context, { match }: Exchange, { status, headers, text }: Answer): void {
  announceLifecycle(headers, match)
  // RFC 9110 section 8.6: neither of the two has one.
  if (status !== 204 && status !== 304) headers['Content-Length'] = String(Buffer.byteLength(text ?? ''))
  res.writeHead(status, headers)
  res.end(req.method === 'HEAD' ? undefined : text)
}
