/** Checks the routes of one file, one by one, and then with the others. */
import type { Diagnostic, Place } from '../../base/diagnostic.ts'
import type { Path } from '../../base/json-pointer.ts'
import { BUILT_IN_PATHS } from '../built-in/resources.ts'
import {
  BUILT_IN_ACTIONS,
  canBothMatch,
  declaredRoutes,
  isExternal,
  isStream,
  operationOf,
  type RouteDeclaration,
  routeKind,
} from '../load/make-routes.ts'
import { parameterOf } from '../routing/path-parameter.ts'
import type { SchemaFile } from '../schema/schema-file.ts'

/** Paths that the program itself answers. */
const RESERVED_PATHS = [...BUILT_IN_PATHS, '/metrics']

/** Methods whose effect depends on the state that the client has seen. */
const CHANGING = ['PUT', 'PATCH', 'DELETE']

type RouteCheck = (file: SchemaFile, route: RouteDeclaration, path: Path) => readonly Diagnostic[]

const CHECKS: readonly RouteCheck[] = [
  checkPath,
  checkReserved,
  checkMethods,
  checkObject,
  checkAction,
  checkRedirect,
  checkLifecycle,
  checkSuccessor,
  checkPrecondition,
  checkEvents,
]

/** `x-resource` must have passed checkXResource. */
export function checkRoutes(file: SchemaFile): readonly Diagnostic[] {
  const routes = declaredRoutes(file)
  const single = routes.flatMap((route, i) => CHECKS.flatMap((check) => check(file, route, routePath(i))))
  return [...single, ...checkMixedActions(file, routes)]
}

/** The path and the action of a command, which is a route with one method. */
export function checkCommandRoute(file: SchemaFile, route: RouteDeclaration): readonly Diagnostic[] {
  const single = [checkPath, checkReserved, checkAction].flatMap((check) => check(file, route, []))
  if (single.length > 0 || routeKind(route) === 'item') return single
  return [
    file.fault(['path'], 'route-path', `the path \`${route.path}\` of a command names no object: it lacks \`{id}\``),
  ]
}

export function routePath(index: number): Path {
  return ['x-resource', 'routes', index]
}

/** The fault of a path, as the end of a sentence; undefined for a valid path. */
export function pathFault(path: string): string | undefined {
  const segments = path.split('/').slice(1)
  if (!path.startsWith('/')) return 'does not start with `/`'
  if (path.endsWith('/')) return 'ends with `/`'
  if (segments.includes('')) return 'has an empty segment'
  if (segments.includes('.') || segments.includes('..')) return 'has a dot segment'
  const parameters = segments.filter((segment) => /[{}]/.test(segment))
  if (parameters.length > 1) return 'has more than one parameter'
  if (parameters.some((segment) => !PARAMETER.test(segment))) return 'has a parameter that is no whole segment'
  // A path is compared as text, so it must not contain characters that clients may write plain or percent-encoded.
  if (/[^A-Za-z0-9._~{}/-]/.test(path)) return 'has a character other than letters, digits and `-._~`'
  return undefined
}

/** `{id}`, or a field. */
const PARAMETER = /^\{[A-Za-z][A-Za-z0-9_]{0,63}\}$/

function checkPath(file: SchemaFile, { path }: RouteDeclaration, at: Path): readonly Diagnostic[] {
  const fault = pathFault(path)
  return fault ? [file.fault([...at, 'path'], 'route-path', `the path \`${path}\` ${fault}`)] : []
}

function checkReserved(file: SchemaFile, { path }: RouteDeclaration, at: Path): readonly Diagnostic[] {
  const reserved = RESERVED_PATHS.find((one) => canBothMatch(one, path))
  if (!reserved) return []
  return [
    file.fault(
      [...at, 'path'],
      'route-reserved',
      `\`${path}\` can match \`${reserved}\`, which the server answers itself`,
    ),
  ]
}

function checkMethods(file: SchemaFile, route: RouteDeclaration, at: Path): readonly Diagnostic[] {
  const kind = routeKind(route)
  return route.methods.flatMap((method, i) => {
    const where = [...at, 'methods', i]
    if (route.methods.indexOf(method) < i)
      return [file.fault(where, 'route-method-twice', `\`${method}\` is listed twice`)]
    if (isStream(route) || operationOf(kind, method, { isExternal: isExternal(file) })) return []
    const noun = kind === 'collection' ? 'a collection (without `{id}`)' : 'an item'
    return [file.fault(where, 'route-method', `${noun} can't declare \`${method}\``)]
  })
}

function checkObject(file: SchemaFile, { path, object }: RouteDeclaration, at: Path): readonly Diagnostic[] {
  const name = parameterOf(path)
  if (object === undefined || name === undefined) return []
  return [
    file.fault(
      [...at, 'object'],
      'route-object',
      `\`${path}\` has the parameter \`{${name}}\`, so the object can't be the caller's own`,
    ),
  ]
}

function checkAction(file: SchemaFile, { action }: RouteDeclaration, at: Path): readonly Diagnostic[] {
  if (action === undefined || !BUILT_IN_ACTIONS.some((name) => name === action)) return []
  return [file.fault([...at, 'action'], 'route-action', `\`${action}\` is the name of a built-in action`)]
}

function checkRedirect(file: SchemaFile, route: RouteDeclaration, at: Path): readonly Diagnostic[] {
  const both = route.moved !== undefined && route.found !== undefined
  if (both) return [file.faultAtKey([...at, 'found'], 'route-redirect', "a route can't have both `moved` and `found`")]
  return (['moved', 'found'] as const).flatMap((key) => {
    const fault = redirectFault(route.path, route[key])
    return fault ? [file.fault([...at, key], 'route-redirect', `the path \`${route[key]}\` ${fault}`)] : []
  })
}

/** Whether another path can replace this one: the fault as a predicate about the other path, or undefined. */
function redirectFault(path: string, to: string | undefined): string | undefined {
  if (to === undefined) return undefined
  if (to === path) return 'leads back to the same route'
  const name = parameterOf(to)
  if (name !== undefined && name !== parameterOf(path)) return `has \`{${name}}\`, but the route has not`
  return pathFault(to)
}

/** RFC 9745 section 4: the sunset is not before the deprecation. */
function checkLifecycle(file: SchemaFile, { deprecated, sunset }: RouteDeclaration, at: Path): readonly Diagnostic[] {
  if (deprecated === undefined || sunset === undefined || deprecated <= sunset) return []
  const message = `the sunset \`${sunset}\` is before the deprecation \`${deprecated}\``
  return [file.fault([...at, 'sunset'], 'route-lifecycle', message)]
}

function checkSuccessor(file: SchemaFile, { path, successor }: RouteDeclaration, at: Path): readonly Diagnostic[] {
  const fault = redirectFault(path, successor)
  return fault ? [file.fault([...at, 'successor'], 'route-lifecycle', `the path \`${successor}\` ${fault}`)] : []
}

/** Somebody may rely on a key without effect, so it is refused. */
function checkPrecondition(file: SchemaFile, route: RouteDeclaration, at: Path): readonly Diagnostic[] {
  const elsewhere = (route.moved ?? route.found) !== undefined
  const guards = !elsewhere && route.methods.some((method) => CHANGING.includes(method))
  if (route.precondition === undefined || guards) return []
  const message = `\`${route.path}\` has no method that a precondition could guard`
  return [file.faultAtKey([...at, 'precondition'], 'route-precondition', message)]
}

function checkEvents(file: SchemaFile, route: RouteDeclaration, at: Path): readonly Diagnostic[] {
  if (!isStream(route)) return []
  const { path, methods, object } = route
  const fault = (message: string) => [file.faultAtKey([...at, 'events'], 'route-events', message)]
  if (methods.some((method) => method !== 'GET'))
    return fault(`\`${path}\` is a stream of events, so it takes GET alone`)
  if (parameterOf(path) === undefined && object === undefined) return []
  return fault(`\`${path}\` names an object, and a stream of events is about all objects of a resource`)
}

/**
 * A decision about DELETE concerns the whole object, every other decision concerns fields; one rule can't express both.
 */
function checkMixedActions(file: SchemaFile, routes: readonly RouteDeclaration[]): readonly Diagnostic[] {
  const first = new Map<string, boolean>()
  return routes.flatMap(({ action, methods }, i) => {
    if (action === undefined) return []
    const kinds = new Set(methods.map((method) => method === 'DELETE'))
    const known = first.get(action) ?? methods[0] === 'DELETE'
    first.set(action, known)
    if (![...kinds].some((deletes) => deletes !== known)) return []
    const message = `the action \`${action}\` is used for DELETE and for other methods`
    return [file.fault([...routePath(i), 'action'], 'route-action-mixed', message)]
  })
}

// Checks that no request can match two routes (of one file or of two), and that no redirect leads to another redirect.

export interface PlacedRoute {
  readonly file: SchemaFile
  readonly route: RouteDeclaration
  readonly at: Path
}

/** The files' `x-resource` must have passed checkXResource; routes with faulty paths are left out. */
export function checkClashes(files: readonly SchemaFile[], commands: readonly PlacedRoute[]): readonly Diagnostic[] {
  const all = [...files.flatMap(placedRoutes), ...commands.filter(({ route }) => pathFault(route.path) === undefined)]
  return [...all.flatMap((one, i) => clashFault(one, all.slice(0, i))), ...all.flatMap((one) => chainFault(one, all))]
}

function placedRoutes(file: SchemaFile): readonly PlacedRoute[] {
  return declaredRoutes(file)
    .map((route, i) => ({ file, route, at: routePath(i) }))
    .filter(({ route }) => pathFault(route.path) === undefined)
}

function clashFault({ file, route, at }: PlacedRoute, earlier: readonly PlacedRoute[]): readonly Diagnostic[] {
  const other = earlier.find((one) => canBothMatch(one.route.path, route.path) && !isOnlyWay(one.route, route))
  if (!other) return []
  const place = written(other.file.place([...other.at, 'path']))
  const message = `\`${route.path}\` and \`${other.route.path}\` (${place}) can match the same request`
  return [file.fault([...at, 'path'], 'route-clash', message)]
}

/** A stream may stand where an id could: the path without a parameter is meant first. */
function isOnlyWay(one: RouteDeclaration, other: RouteDeclaration): boolean {
  return (
    one.path !== other.path && [one, other].some((route) => isStream(route) && parameterOf(route.path) === undefined)
  )
}

function chainFault({ file, route, at }: PlacedRoute, all: readonly PlacedRoute[]): readonly Diagnostic[] {
  const key = route.moved === undefined ? 'found' : 'moved'
  const next = all.find((one) => one.route.path === route[key] && one.route !== route)
  if (!next || (next.route.moved ?? next.route.found) === undefined) return []
  const message = `\`${route[key]}\` is itself a redirect (${written(next.file.place(next.at))})`
  return [file.fault([...at, key], 'route-redirect', message)]
}

function written({ file, line, column }: Place): string {
  return `${file}:${line}:${column}`
}
