/** OPTIONS: what the route accepts, which isn't what the caller may do. */
import type { Route } from '../../resources/resource.ts'
import type { Outcome } from './outcome.ts'

/** RFC 5789 section 3.1: RFC 7396, RFC 6902, and plain JSON, which is read as the first. */
export const ACCEPT_PATCH = 'application/merge-patch+json, application/json-patch+json, application/json'

export function showOptions({ allow, endpoints }: Route): Outcome {
  const patch = endpoints.has('PATCH') ? { 'Accept-Patch': ACCEPT_PATCH } : {}
  return { status: 204, headers: { Allow: allow, ...patch }, body: undefined }
}
