/**
 * Refuses requests before anything is decided, and after the rate limits have counted them: requests without a route, bad
 * credentials, and requests that this process can't decide by a policy that is new enough.
 */
import { Problem } from '../../base/problems/problem.ts'
import type { Caller } from '../../decide/caller.ts'
import type { Authentication } from '../../identity/caller.ts'
import type { Resources, Route } from '../../resources/resource.ts'
import type { Match, RouteMatch } from '../../resources/routing/match-route.ts'
import type { PolicyChannel } from '../policy-changes/follow-versions.ts'
import { failureOf } from './authenticate.ts'
import type { Accepted, Addressed, Authenticated, Forwarding, Matched, Received, Stage } from './state.ts'

/**
 * Throws, in this order: 400 and similar for a malformed request, 404, 405 with `Allow`, 401 (bad credentials, also on
 * public routes) or the key server's fault, and 410 after a route's sunset.
 */
export function refusePathMethodToken(
  resources: Resources,
): Stage<Received & Matched & Addressed & Forwarding & Authenticated, Accepted> {
  return (ctx, next) => {
    const { match, authentication, at, wholeAddress: address, forwarded } = ctx.state
    if (match.kind !== 'route') throw noRoute(match)
    const caller = callerOf(authentication)
    if (match.route.lifecycle) refuseGone(match.route.lifecycle, at)
    const resource = resources.byName.get(match.route.resource)
    if (!resource) throw new Error(`no schema declares ${match.route.resource}`)
    ctx.state.accepted = { match, caller, at, address, forwarded }
    ctx.state.resource = resource
    return next()
  }
}

function noRoute(match: Exclude<Match, RouteMatch>): Problem {
  switch (match.kind) {
    case 'malformed':
      return match.problem
    case 'unknown-path':
      return new Problem('route-not-found', 'No resource has this path; check the URL.')
    case 'unaccepted-method': {
      const { allow } = match.route
      const detail = `This path does not accept the method; use one of ${allow}.`
      return new Problem('method-not-allowed', detail, { headers: { Allow: allow } })
    }
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
function refuseGone({ sunsetAt, successor }: NonNullable<Route['lifecycle']>, now: number): void {
  if (sunsetAt === undefined || now < sunsetAt) return
  const instead = successor === undefined ? '' : ' Use the path in the header Link.'
  throw new Problem('gone', `This path ended on ${new Date(sunsetAt).toISOString().slice(0, 10)}.${instead}`)
}

/** A restart, which liveness may lead to, would not make the versions readable. */
const LIVENESS = '/livez'

const AT_LEAST = 'policy-sequence-at-least'

/** Throws Problem. `channel`: undefined for a policy from a folder. */
export function requirePolicy(channel: PolicyChannel | undefined): Stage<Received & Accepted> {
  return (ctx, next) => {
    const { policy, at, accepted } = ctx.state
    if (channel?.state(at) === 'expired' && accepted.match.route.path !== LIVENESS) throw expired()
    const wanted = ctx.req.headers[AT_LEAST]
    if (wanted !== undefined) refuseBehind(String(wanted), policy.sequence)
    return next()
  }
}

function refuseBehind(wanted: string, sequence: number | undefined): void {
  if (sequence === undefined) {
    throw new Problem(
      'invalid-policy-sequence',
      'The policy of this server has no sequence; omit the header Policy-Sequence-At-Least.',
    )
  }
  if (!/^\d{1,15}$/.test(wanted)) {
    throw new Problem(
      'invalid-policy-sequence',
      'Policy-Sequence-At-Least is not a whole number; send the number of a header Policy-Sequence.',
    )
  }
  if (sequence >= Number(wanted)) return
  throw new Problem('policy-behind', `This instance has version ${sequence} of the policy; try again.`, {
    headers: { 'Retry-After': '1' },
  })
}

function expired(): Problem {
  return new Problem('policy-expired', 'The server could not read its policy for too long; try again later.', {
    headers: { 'Retry-After': '5' },
  })
}
