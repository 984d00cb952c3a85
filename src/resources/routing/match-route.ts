/**
 * Finds the route of a request, with @koa/router. A request that no route accepts is also a value: later stages answer
 * it.
 */
import { createRequire } from 'node:module'
import type Router from '@koa/router'
import { Problem } from '../../base/problems/problem.ts'
import type { Endpoint, Method, Resources, Route } from '../resource.ts'
import { beforeParameter, parameterOf, withParameter } from './path-parameter.ts'
import { decode, type Target } from './request-target.ts'

// Loaded by `require`: as an ES module it imports Node's HTTP, which slows the start (server/http/listen.ts).
const KoaRouter: typeof Router = createRequire(import.meta.url)('@koa/router').default

export interface RouteMatch {
  readonly kind: 'route'
  readonly route: Route
  readonly endpoint: Endpoint
  readonly target: Target
  /** The path's `{id}`, decoded; undefined where the path has none. */
  readonly id: string | undefined
  /** The id of the parent, decoded; undefined where the path names none. */
  readonly parentId?: string | undefined
}

export type Match =
  | RouteMatch
  | { readonly kind: 'malformed'; readonly problem: Problem }
  | { readonly kind: 'unknown-path' }
  | ({ readonly kind: 'unaccepted-method' } & Pick<RouteMatch, 'route' | 'id' | 'parentId'>)

type RouteMatcher = (method: string, target: Target | Problem) => Match

/** What `router.routes()` gives. */
export type RouterMiddleware = ReturnType<Router['routes']>

/** Registers handlers for the methods of a route; `path` is in the router's notation. */
type Register = (router: Router, path: string, route: Route) => void

/**
 * The routers of these routes: strict and case-sensitive, so the route that is authorized is the route that runs. Each
 * beginning of a path has its own router, so a request is compared only with the few routes that begin like its path.
 * No two routes match one path (src/resources/check/routes.ts), but a stream of events may have that of an id.
 */
export class Routers {
  /** By the beginning that all their paths share. */
  readonly #groups: ReadonlyMap<string, readonly Route[]>
  /** The routers of these groups, each made for the first request that needs it: an atomic batch needs few of them. */
  readonly #routers = new Map<string, { readonly router: Router; readonly routes: RouterMiddleware }>()
  readonly #register: Register
  readonly #routes: ReadonlyMap<unknown, Route>
  /** The length of the longest beginning, counted in slashes. */
  readonly #longestBeginning: number

  constructor(routes: readonly Route[], register: Register) {
    this.#routes = new Map(routes.map((route) => [pathOf(route), route]))
    this.#groups = Map.groupBy(routes, beginningOf)
    this.#register = register
    this.#longestBeginning = Math.max(0, ...this.#groups.keys().map((beginning) => beginning.split('/').length))
  }

  /** The match, and the routes of the router that has it. */
  find(method: string, target: Target | Problem): { readonly match: Match; readonly routes?: RouterMiddleware } {
    if (target instanceof Problem) return { match: { kind: 'malformed', problem: target } }
    // A path without a parameter is meant first. Else the order only saves time: most fit the longest beginning.
    for (const beginning of beginnings(target.path, this.#longestBeginning)) {
      const group = this.#groups.get(beginning)
      const registered = group && (this.#routers.get(beginning) ?? this.#make(beginning, group))
      const [layer] = registered?.router.match(target.path, method).path ?? []
      const route = layer && this.#routes.get(layer.path)
      if (!registered || !route) continue
      return { match: matchOf(route, method, target, beginning), routes: registered.routes }
    }
    return { match: { kind: 'unknown-path' } }
  }

  #make(beginning: string, group: readonly Route[]) {
    const router = new KoaRouter({ strict: true, sensitive: true })
    for (const route of group) this.#register(router, pathOf(route), route)
    const made = { router, routes: router.routes() }
    this.#routers.set(beginning, made)
    return made
  }
}

/** The parameter is a whole segment (src/resources/check/routes.ts), the one after the beginning. */
function matchOf(route: Route, method: string, target: Target, beginning: string): Match {
  const { path } = target
  const end = path.indexOf('/', beginning.length)
  const value = path === beginning ? undefined : decode(path.slice(beginning.length, end < 0 ? undefined : end))
  const endpoint = route.endpoints.get(method as Method)
  const named = route.parent ? { id: undefined, parentId: value } : { id: value, parentId: undefined }
  return endpoint
    ? { kind: 'route', route, endpoint, target, ...named }
    : { kind: 'unaccepted-method', route, ...named }
}

/** Finds the route of a request; doesn't answer it. */
export function createRouteMatcher(routes: readonly Route[]): RouteMatcher {
  const routers = new Routers(routes, (router, path, { endpoints }) => {
    router.register(path, [...endpoints.keys()], () => undefined)
  })
  return (method, target) => routers.find(method, target).match
}

/** The beginning that every path matching the route has. */
function beginningOf({ path }: Route): string {
  return beforeParameter(path)
}

function pathOf({ path }: Route): string {
  return withParameter(path, `:${parameterOf(path)}`).replace('*', '\\*')
}

/** A path, and each of its beginnings that ends with one of the first slashes, the longest first. */
function beginnings(path: string, depth: number): string[] {
  const found: string[] = []
  for (let at = path.indexOf('/'), i = 0; at >= 0 && i < depth; at = path.indexOf('/', at + 1), i++) {
    found.push(path.slice(0, at + 1))
  }
  return [path, ...found.reverse()]
}

// The routes that gateways can ask about: those of schema files. The program's own are not the application's.

export function forwardedRoutes({ byName }: Resources): readonly Route[] {
  return [...byName.values()].filter(({ builtIn }) => !builtIn).flatMap(({ routes }) => routes)
}
