/** Content negotiation (RFC 9110 section 12.5.1): there is one representation, JSON; 406 where the client wants none of it. */
import type { Context } from 'koa'
import { Problem } from '../../base/problems/problem.ts'
import type { Operation } from '../../resources/resource.ts'

/** As it is sent: a client may insist on the parameter or leave it out. */
const REPRESENTATION = 'application/json;charset=utf-8'

/** What is answered without a body has nothing to negotiate. */
const BODILESS: readonly Operation[] = ['delete', 'options']

/** Throws Problem not-acceptable. A header without one well-formed media range fits nothing. */
export function refuseUnacceptable(ctx: Context, operation: Operation): void {
  const { accept } = ctx.req.headers
  // What most clients send needs no negotiation.
  if (accept === undefined || accept === '*/*' || BODILESS.includes(operation)) return
  if (ctx.accepts(REPRESENTATION) !== false) return
  throw new Problem('not-acceptable', 'The answer is application/json, which the header Accept excludes.')
}
