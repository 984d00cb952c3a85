/** Status, headers and body of an answer. The fields were cut already, by the decision that granted them. */
import type { Context } from 'koa'
import type { Problem } from '../problems/problem.ts'
import { type Outcome, WrittenJson } from '../routes/outcome.ts'
import { PROBLEM_TYPE, problemDocument, problemOf } from './problem-boundary.ts'
import { hasBody } from './read-body.ts'
import type { Exchange } from './record.ts'

/** What the exchange came to. An outcome that can't be sent as HTTP becomes a fault. */
export function present(ctx: Context, exchange: Exchange): void {
  try {
    if (exchange.outcome && !exchange.problem) {
      presentOutcome(ctx, exchange.outcome)
      return
    }
  } catch (error) {
    exchange.problem = problemOf(error, undefined)
  }
  presentProblem(ctx, exchange.problem ?? problemOf(undefined, undefined), exchange.requestId)
}

function presentOutcome(ctx: Context, { status, headers, body }: Outcome): void {
  ctx.status = status
  ctx.set(headers)
  if (body === undefined) {
    ctx.body = null
    // Koa answers an empty body with 204; a 201 or a redirect without a body keeps its status.
    ctx.status = status
    return
  }
  ctx.set('Content-Type', 'application/json; charset=utf-8')
  ctx.body = body instanceof WrittenJson ? body.text : JSON.stringify(body)
}

function presentProblem(ctx: Context, problem: Problem, requestId: string): void {
  ctx.status = problem.status
  ctx.set(problem.headers)
  ctx.set('Content-Type', PROBLEM_TYPE)
  ctx.body = JSON.stringify(problemDocument(problem, requestId))
  // A body that nobody read would be read to its end for nothing.
  if (!ctx.req.complete && hasBody(ctx.req)) ctx.set('Connection', 'close')
}
