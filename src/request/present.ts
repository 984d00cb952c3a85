/** Status, headers and body of an answer. The fields were cut already, by the decision that granted them. */
import type { Context } from 'koa'
import type { Problem } from '../problems/problem.ts'
import type { Outcome } from '../routes/outcome.ts'
import { PROBLEM_TYPE, problemDocument } from './problem-boundary.ts'
import { hasBody } from './read-body.ts'

export function presentOutcome(ctx: Context, { status, headers, body }: Outcome): void {
  ctx.status = status
  ctx.set(headers)
  if (body === undefined) {
    ctx.body = null
    // Koa answers an empty body with 204; a 201 or a redirect without a body keeps its status.
    ctx.status = status
    return
  }
  ctx.set('Content-Type', 'application/json; charset=utf-8')
  ctx.body = JSON.stringify(body)
}

export function presentProblem(ctx: Context, problem: Problem, requestId: string): void {
  ctx.status = problem.status
  ctx.set(problem.headers)
  ctx.set('Content-Type', PROBLEM_TYPE)
  ctx.body = JSON.stringify(problemDocument(problem, requestId))
  // A body that nobody read would be read to its end for nothing.
  if (!ctx.req.complete && hasBody(ctx.req)) ctx.set('Connection', 'close')
}
