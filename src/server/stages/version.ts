/** A version on its way out: what every answer of its route says about that, and 410 once it is gone. */
import { Problem } from '../../base/problems/problem.ts'
import type { Match, RouteMatch } from '../../resources/routing/match-route.ts'
import type { ResponseHeaders } from './present.ts'

/**
 * Throws Problem gone from the sunset on (RFC 9110 section 15.5.11), whatever the method and whoever asks. `now` is
 * milliseconds since the epoch.
 */
export function refuseGone({ route }: RouteMatch, now: number): void {
  const { sunsetAt, successor } = route.lifecycle ?? {}
  if (sunsetAt === undefined || now < sunsetAt) return
  const instead = successor === undefined ? '' : ' The header Link says what stands in for it.'
  throw new Problem('gone', `This path ended on ${new Date(sunsetAt).toISOString().slice(0, 10)}.${instead}`)
}

/** Problems of the route say it too. A list has a Link of its own, which stays. */
export function announceLifecycle(headers: ResponseHeaders, match: Match | undefined): void {
  if (!match || !('route' in match) || !match.route.lifecycle) return
  const { deprecatedAt, sunsetAt, successor } = match.route.lifecycle
  // RFC 9745 section 2: a Date of structured fields (RFC 9651 section 3.3.7), in seconds.
  if (deprecatedAt !== undefined) headers.Deprecation = `@${deprecatedAt / 1000}`
  // RFC 8594 section 3: an HTTP-date.
  if (sunsetAt !== undefined) headers.Sunset = new Date(sunsetAt).toUTCString()
  if (successor === undefined) return
  const link = `<${addressOf(successor, match.id)}>; rel="successor-version"`
  headers.Link = headers.Link === undefined ? link : `${headers.Link}, ${link}`
}

/** Encoded anew, so that no id ends the link. */
function addressOf(successor: string, id: string | undefined): string {
  return successor.replace('{id}', () => encodeURIComponent(id ?? ''))
}
