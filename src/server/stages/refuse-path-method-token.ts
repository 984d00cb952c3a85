/**
 * Refuses requests without a route and callers with bad credentials, after the rate limits have counted the request.
 */

import { Problem } from '../../base/problems/problem.ts'
import type { Caller } from '../../decide/caller.ts'
import type { Authentication } from '../../identity/caller.ts'
import type { Resource, Resources } from '../../resources/resource.ts'
import type { Match, RouteMatch } from '../../resources/routing/match-route.ts'
import { failureOf } from './authenticate.ts'
import type { Stage } from './stage.ts'
import type { Accepted, AcceptedRequest, Authenticated, Matched } from './state.ts'

/**
 * Throws, in this order: 400 and similar for a malformed request, 404, 405 with `Allow`, 401 (bad credentials, also on
 * public routes) or the key server's fault, and 410 after a route's sunset.
 */
export function refusePathMethodToken(resources: Resources, now: () => Date): Stage<Matched & Authenticated, Accepted> {
  return (ctx, next) => {
    const accepted = acceptedOf(ctx.state.match, ctx.state.authentication)
    refuseGone(accepted.match, now().getTime())
    ctx.state.accepted = accepted
    ctx.state.resource = resourceOf(resources, accepted.match)
    return next()
  }
}

function acceptedOf(match: Match, authentication: Authentication): AcceptedRequest {
  switch (match.kind) {
    case 'malformed':
      throw match.problem
    case 'unknown-path':
      throw new Problem('route-not-found', 'No resource has this path; check the URL.')
    case 'unaccepted-method':
      throw new Problem(
        'method-not-allowed',
        `This path does not accept the method; use one of ${match.route.allow}.`,
        {
          headers: { Allow: match.route.allow },
        },
      )
    case 'route':
      return { match, caller: callerOf(authentication) }
  }
}

function callerOf(authentication: Authentication): Caller | undefined {
  switch (authentication.kind) {
    case 'anonymous':
      return undefined
    case 'caller':
      return authentication.caller
    case 'rejected':
      throw new Problem(
        authentication.code,
        authentication.code === 'token-expired'
          ? 'The token has expired; get a new one.'
          : 'The credentials are not a valid bearer token for this server; get a new one.',
        { headers: { 'WWW-Authenticate': `Bearer realm="sallyport", error="invalid_token"` } },
      )
    case 'failed':
      throw failureOf(authentication)
  }
}

/**
 * Throws Problem gone from the sunset on (RFC 9110 section 15.5.11), for every method and caller. `now` is milliseconds
 * since the epoch.
 */
function refuseGone({ route }: RouteMatch, now: number): void {
  const { sunsetAt, successor } = route.lifecycle ?? {}
  if (sunsetAt === undefined || now < sunsetAt) return
  const instead = successor === undefined ? '' : ' Use the path in the header Link.'
  throw new Problem('gone', `This path ended on ${new Date(sunsetAt).toISOString().slice(0, 10)}.${instead}`)
}

function resourceOf({ byName }: Resources, { route }: RouteMatch): Resource {
  const resource = byName.get(route.resource)
  if (!resource) throw new Error(`no schema declares ${route.resource}`)
  return resource
}
