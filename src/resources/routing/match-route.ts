/** Which route a request is for. What nothing accepts is a value: later stages answer it. */
import { createRequire } from 'node:module'
import type Router from '@koa/router'
import { Problem } from '../../base/problems/problem.ts'
import type { Endpoint, Method, Route } from '../resource.ts'
import { decode, type Target } from './request-target.ts'

// By require, because as an ES module it imports Node's HTTP (node-http.ts).
const KoaRouter: typeof Router = createRequire(import.meta.url)('@koa/router').default

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

/**
 * Strict and case-sensitive, so the route that is authorized is the route that runs; everything else is unknown. A
 * request is held against the few routes that begin like it, however many there are. No two routes fit one path
 * (check-clashes.ts).
 */
export function createRouteMatcher(routes: readonly Route[]): RouteMatcher {
  const groups = [...Map.groupBy(routes, beginningOf)].map(
    ([beginning, group]) => [beginning, finderOf(group)] as const,
  )
  const finders = new Map(groups)
  const depth = Math.max(0, ...finders.keys().map((beginning) => beginning.split('/').length))
  return (method, target) => {
    if (target instanceof Problem) return { kind: 'malformed', problem: target }
    for (const beginning of beginnings(target.path, depth)) {
      const found = finders.get(beginning)?.(target.path)
      if (found) return matchOf(found, method, target)
    }
    return { kind: 'unknown-path' }
  }
}

interface Found {
  readonly route: Route
  readonly id: string | undefined
}

type Finder = (path: string) => Found | undefined

function finderOf(routes: readonly Route[]): Finder {
  const router = new KoaRouter({ strict: true, sensitive: true })
  const layers = routes.map((route) => {
    const path = route.path.replace('{id}', ':id').replace('*', '\\*')
    return {
      route,
      layer: router.register(path, [...route.endpoints.keys()], () => undefined) as Router['stack'][number],
    }
  })
  return (path) => {
    const found = layers.find(({ layer }) => layer.match(path))
    return found && { route: found.route, id: decode(found.layer.captures(path)[0] ?? '') || undefined }
  }
}

function matchOf({ route, id }: Found, method: string, target: Target): Match {
  const endpoint = route.endpoints.get(method as Method)
  return endpoint ? { kind: 'route', route, endpoint, target, id } : { kind: 'unaccepted-method', route, id }
}

/** The part of a route's path that stands in every path that fits it. */
function beginningOf({ path }: Route): string {
  return path.split('{id}', 1)[0] ?? ''
}

/** A path, and what ends with each of its first slashes. */
function* beginnings(path: string, depth: number): Iterable<string> {
  yield path
  for (let at = path.indexOf('/'), i = 0; at >= 0 && i < depth; at = path.indexOf('/', at + 1), i++) {
    yield path.slice(0, at + 1)
  }
}
