/**
 * Finds the route of a request. For an unknown path or method it leaves a value; a later stage refuses the request,
 * after the rate limits have counted it.
 */
import type { Routers } from '../../resources/routing/match-route.ts'
import { readTarget } from '../../resources/routing/request-target.ts'
import { findMalformed } from '../http/find-malformed.ts'
import type { Stage } from './stage.ts'
import type { Matched, Received } from './state.ts'

export function match(routers: Pick<Routers, 'find'>): Stage<Received, Matched> {
  return (ctx, next) => {
    const { match: found, layer } = routers.find(ctx.method, findMalformed(ctx.req) ?? readTarget(ctx.req.url ?? ''))
    ctx.state.match = found
    ctx.state.layer = layer
    // A request without clear bounds ends its connection, even if the rate limits refuse it first.
    if (found.kind === 'malformed') Object.assign(ctx.state.headers, found.problem.headers)
    return next()
  }
}
