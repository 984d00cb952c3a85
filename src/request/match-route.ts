/** Which route a request is for. What nothing accepts is a value: later stages answer it. */
import Router from '@koa/router'
import { Problem } from '../problems/problem.ts'
import type { Endpoint, Method, Route } from '../resources/resource.ts'
import { decode, type Target } from './request-target.ts'

export interface RouteMatch {
  readonly kind: 'route'
  readonly route: Route
  readonly endpoint: Endpoint
  readonly target: Target
  /** The path's `{id}`, decoded; undefined where the path has none. */
  readonly id: string | undefined
}

export type Match =
  | RouteMatch
  | { readonly kind: 'malformed'; readonly problem: Problem }
  | { readonly kind: 'unknown-path' }
  | { readonly kind: 'unaccepted-method'; readonly route: Route; readonly id: string | undefined }

export type RouteMatcher = (method: string, target: Target | Problem) => Match

type Layer = Router['stack'][number]

/** Strict and case-sensitive, so the route that is authorized is the route that runs; everything else is unknown. */
export function createRouteMatcher(routes: readonly Route[]): RouteMatcher {
  const router = new Router({ strict: true, sensitive: true })
  const byLayer = new Map<Layer, Route>()
  for (const route of routes) {
    const path = route.path.replace('{id}', ':id').replace('*', '\\*')
    byLayer.set(router.register(path, [...route.endpoints.keys()], () => undefined) as Layer, route)
  }
  return (method, target) => {
    if (target instanceof Problem) return { kind: 'malformed', problem: target }
    const { path } = target
    const layer = router.match(path, method).path[0]
    const route = layer && byLayer.get(layer)
    if (!layer || !route) return { kind: 'unknown-path' }
    const id = decode(layer.captures(path)[0] ?? '') || undefined
    const endpoint = route.endpoints.get(method as Method)
    return endpoint ? { kind: 'route', route, endpoint, target, id } : { kind: 'unaccepted-method', route, id }
  }
}
