/** From what the server's router says of a method and a path to what explain is asked. */
import { METHODS } from 'node:http'
import type { Problem } from '../../base/problems/problem.ts'
import { quote } from '../../present/quote.ts'
import type { Endpoint, Method, Resources, Route } from '../../resources/resource.ts'
import type { Answer } from './explanation.ts'
import { problem } from './judge.ts'
import type { Asked } from './question.ts'

/** What src/resources/routing/match-route.ts answers; review doesn't know the request layer. */
type RouterAnswer =
  | { readonly kind: 'route'; readonly route: Route; readonly endpoint: Endpoint; readonly id: string | undefined }
  | { readonly kind: 'malformed'; readonly problem: Problem }
  | { readonly kind: 'unknown-path' }
  | { readonly kind: 'unaccepted-method'; readonly route: Route }

export interface Matched {
  readonly asked: Asked
  /** The object's id, where the path has one in the place of `{id}`. */
  readonly id: string | undefined
}

export interface Routed {
  readonly method: string
  readonly path: string
  readonly match: RouterAnswer
}

export function askedOf({ method, path, match }: Routed, resources: Resources): Matched {
  if (!METHODS.includes(method)) {
    return refused(method, problem('malformed-request'), `HTTP has no method ${quote(method)}`)
  }
  switch (match.kind) {
    case 'malformed':
      return refused(method, problem(match.problem.code), sentence(match.problem.detail))
    case 'unknown-path':
      return refused(method, problem('route-not-found'), `no resource has this path${similarPaths(path, resources)}`)
    case 'unaccepted-method': {
      const { allow } = match.route
      return refused(method, problem('method-not-allowed', { Allow: allow }), `the path accepts ${allow}`)
    }
    case 'route': {
      const { route, endpoint } = match
      const id = path === route.path ? undefined : match.id
      return { asked: { kind: 'route', method: method as Method, route, endpoint }, id }
    }
  }
}

function refused(method: string, answer: Answer, reason: string): Matched {
  return { asked: { kind: 'refused', method, answer, reason }, id: undefined }
}

/** A detail for clients as a part of a sentence. */
function sentence(detail: string): string {
  return (detail.charAt(0).toLowerCase() + detail.slice(1)).replace(/\.$/, '')
}

/** The paths that have the most segments in common with it, in whatever case. */
function similarPaths(path: string, { routes }: Resources): string {
  const words = new Set(path.toLowerCase().split('/').filter(Boolean))
  const common = (route: Route) =>
    route.path
      .toLowerCase()
      .split('/')
      .filter((segment) => words.has(segment)).length
  const most = Math.max(0, ...routes.map(common))
  if (most === 0) return ''
  return `; is it ${routes
    .filter((route) => common(route) === most)
    .map((route) => route.path)
    .join(' or ')}?`
}
