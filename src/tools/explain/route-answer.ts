/** The answer to an allowed request that concerns no object: OPTIONS, a redirect, a built-in route. */
import { redirectStatus, successStatus } from '../../resources/routing/success-status.ts'
import type { ExplainedAnswer } from './explanation.ts'
import type { SupposedRequest } from './supposed-request.ts'

export function routeAnswer({ route, endpoint, method }: SupposedRequest): ExplainedAnswer {
  const { allow, redirect } = route
  if (endpoint.operation === 'options')
    return { status: successStatus('options'), code: null, headers: { Allow: allow } }
  if (redirect) return { status: redirectStatus(redirect, method), code: null, headers: { Location: redirect.to } }
  // DELETE ends the session of the caller; the command line can't know whether there is one.
  return { status: successStatus(endpoint.operation === 'delete' ? 'delete' : 'read'), code: null, headers: {} }
}

export function isRedirect({ route, endpoint }: SupposedRequest): boolean {
  return route.redirect !== undefined && endpoint.operation !== 'options'
}
