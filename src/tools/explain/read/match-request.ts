/** Matches a method and a path like the server's router, for explain. */
import { METHODS } from 'node:http'
import { quote } from '../../../present/quote.ts'
import type { Method, Resources, Route } from '../../../resources/resource.ts'
import type { Match } from '../../../resources/routing/match-route.ts'
import { problem, unaccepted } from '../finding.ts'
import type { MatchedRequest } from '../question.ts'

interface RoutedRequest {
  readonly method: string
  readonly path: string
  readonly match: Match
}

export function matchRequest({ method, path, match }: RoutedRequest, resources: Resources): MatchedRequest {
  if (!METHODS.includes(method)) {
    return unaccepted(method, problem('malformed-request'), `HTTP has no method ${quote(method)}`)
  }
  switch (match.kind) {
    case 'malformed':
      return unaccepted(method, problem(match.problem.code), asClause(match.problem.detail))
    case 'unknown-path':
      return unaccepted(method, problem('route-not-found'), `no resource has this path${similarPaths(path, resources)}`)
    case 'unaccepted-method': {
      const { allow } = match.route
      return unaccepted(method, problem('method-not-allowed', { Allow: allow }), `the path accepts ${allow}`)
    }
    case 'route': {
      const { route, endpoint, id } = match
      return { kind: 'route', method: method as Method, route, endpoint, id: path === route.path ? undefined : id }
    }
  }
}

/** Turns a sentence for clients into a part of another sentence. */
function asClause(detail: string): string {
  return (detail.charAt(0).toLowerCase() + detail.slice(1)).replace(/\.$/, '')
}

/** The paths that share the most segments with this one; upper and lower case count as the same. */
function similarPaths(path: string, { routes }: Resources): string {
  const words = new Set(path.toLowerCase().split('/').filter(Boolean))
  const common = (route: Route) =>
    route.path
      .toLowerCase()
      .split('/')
      .filter((segment) => words.has(segment)).length
  const most = Math.max(0, ...routes.map(common))
  if (most === 0) return ''
  const similar = routes.filter((route) => common(route) === most)
  return `; is it ${similar.map((route) => route.path).join(' or ')}?`
}
