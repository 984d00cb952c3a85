/** Turns what match-route and authenticate found out into refusals, once the rate limits have had their say. */

import { Problem } from '../../base/problems/problem.ts'
import type { Caller } from '../../decide/caller.ts'
import type { Authentication } from '../../identity/caller.ts'
import type { Match, RouteMatch } from '../../resources/routing/match-route.ts'

export interface Asked {
  readonly match: RouteMatch
  /** Undefined without credentials. */
  readonly caller: Caller | undefined
}

/**
 * 400 and the like for what isn't well-formed, 404, 405 with `Allow`, then 401 (bad credentials, on public routes too)
 * or the key server's fault.
 */
export function refuseUnanswerable(match: Match, authentication: Authentication): Asked {
  switch (match.kind) {
    case 'malformed':
      throw match.problem
    case 'unknown-path':
      throw new Problem('route-not-found', 'No resource has this path.')
    case 'unaccepted-method':
      throw new Problem('method-not-allowed', `This path accepts ${match.route.allow}.`, {
        headers: { Allow: match.route.allow },
      })
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
          : 'The credentials are not a valid bearer token for this server.',
        { headers: { 'WWW-Authenticate': `Bearer realm="sallyport", error="invalid_token"` } },
      )
    case 'failed':
      if (authentication.code === 'store-unavailable') throw authentication.cause
      throw new Problem(authentication.code, 'The server that holds the signing keys gave no usable answer.', {
        cause: authentication.cause,
        headers: authentication.code === 'key-server-unavailable' ? { 'Retry-After': '10' } : {},
      })
  }
}

/** 401 for a caller without credentials (RFC 6750 section 3: no `error` when none were sent), 403 for everybody else. */
export function notPermitted(caller: Caller | undefined, detail: string, cause?: unknown): Problem {
  if (caller) return new Problem('forbidden', detail, { cause })
  return new Problem('credentials-missing', 'Send a bearer token in the header Authorization.', {
    cause,
    headers: { 'WWW-Authenticate': 'Bearer realm="sallyport"' },
  })
}
