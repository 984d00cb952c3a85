/**
 * The routes and actions that a schema file declares: the methods that a path accepts, and their names in the policy.
 */
import ms, { type StringValue } from 'ms'
import type { Action, Endpoint, FieldReference, Method, Operation, Route, RouteKind } from '../resource.ts'
import { parameterOf, parentFieldOf } from '../routing/path-parameter.ts'
import type { SchemaFile } from '../schema/schema-file.ts'

type Operations = ReadonlyMap<string, Operation>

const COLLECTION: Operations = new Map([
  ['GET', 'list'],
  ['POST', 'create'],
])
const ITEM: Operations = new Map([
  ['GET', 'read'],
  ['PUT', 'replace'],
  ['PATCH', 'update'],
  ['DELETE', 'delete'],
])

/** Another service takes any of the methods at any path. */
const ELSEWHERE: Operations = new Map([...ITEM, ['POST', 'update']])

const STREAM: Operations = new Map([['GET', 'watch']])

/** The actions of every resource. */
export const BUILT_IN_ACTIONS: readonly Operation[] = [
  'list',
  'read',
  'create',
  'replace',
  'update',
  'delete',
  'options',
]

/** The order of `Allow`. */
const METHODS: readonly Method[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** The operation of a method on a kind of route; undefined if the kind can't have the method, or always has it. */
export function operationOf(
  kind: RouteKind,
  method: string,
  { isExternal = false, isStream = false } = {},
): Operation | undefined {
  if (isStream) return STREAM.get(method)
  const own = (kind === 'collection' ? COLLECTION : ITEM).get(method)
  return own ?? (isExternal ? ELSEWHERE.get(method) : undefined)
}

/** In the order of the file. The file must have passed the checks. `references`: those of its fields. */
export function makeRoutes(file: SchemaFile, references: readonly FieldReference[]): readonly Route[] {
  return Object.freeze(declaredRoutes(file).map((route) => makeRoute(file, references, route)))
}

/** The built-in actions, whether or not a route gives them, and the file's own. */
export function makeActions(routes: readonly Route[], declared: readonly string[] = []): ReadonlyMap<string, Action> {
  const own = routes.flatMap(({ endpoints }) => [...endpoints.values()])
  const names = new Set([...BUILT_IN_ACTIONS, ...own.map(({ action }) => action), ...declared])
  const plain = new Map(
    [...names].map((name): [string, Action] => [name, Object.freeze({ name, hasFields: hasFields(name, own) })]),
  )
  const update = plain.get('update')
  for (const { command, endpoints } of routes) {
    const action = command && !command.grantsSteps && plain.get(endpoints.get('POST')?.action ?? '')
    if (action && update) plain.set(action.name, Object.freeze({ ...action, also: update }))
  }
  return plain
}

/**
 * The route for `Location`: the first item route that shows the whole object; a deprecated one only if all are
 * deprecated.
 */
export function canonicalItemPath(routes: readonly Route[]): string | undefined {
  const plain = routes.filter((route) => route.kind === 'item' && isPlain(route))
  return (plain.find(({ lifecycle }) => lifecycle === undefined) ?? plain[0])?.path
}

/** HEAD comes with GET (RFC 9110 section 9.1), OPTIONS with every route. `actionOf` names the policy's action. */
export function makeEndpoints(
  operations: Operations,
  actionOf: (operation: Operation) => string,
): Pick<Route, 'endpoints' | 'allow'> {
  const head = operations.get('GET')
  const all: Operations = new Map([...operations, ...(head ? [['HEAD', head] as const] : []), ['OPTIONS', 'options']])
  const accepted = METHODS.flatMap((method): [Method, Endpoint][] => {
    const operation = all.get(method)
    return operation ? [[method, Object.freeze({ operation, action: actionOf(operation) })]] : []
  })
  return { endpoints: new Map(accepted), allow: accepted.map(([method]) => method).join(', ') }
}

function makeRoute(file: SchemaFile, references: readonly FieldReference[], declared: RouteDeclaration): Route {
  const kind = routeKind(declared)
  const operations = new Map(
    declared.methods.flatMap((method) => {
      const operation = operationOf(kind, method, { isExternal: isExternal(file), isStream: isStream(declared) })
      return operation ? [[method, operation] as const] : []
    }),
  )
  const own = declared.action
  return Object.freeze({
    path: declared.path,
    resource: file.resource,
    kind,
    ...makeEndpoints(operations, (operation) => (operation === 'options' ? operation : (own ?? operation))),
    ...parentOf(references, declared),
    ...(declared.view === undefined ? {} : { view: declared.view }),
    ...redirectOf(declared),
    ...lifecycleOf(declared),
    ...(declared.precondition === undefined ? {} : { precondition: declared.precondition }),
    ...(declared.events && { events: Object.freeze({ keepMs: ms((declared.events.keep ?? '1d') as StringValue) }) }),
  })
}

function parentOf(references: readonly FieldReference[], { path }: RouteDeclaration): Pick<Route, 'parent'> {
  const found = references.find(({ field }) => field === parentFieldOf(path))
  return found ? { parent: Object.freeze({ field: found.field, resource: found.reference.resource }) } : {}
}

function redirectOf({ moved, found }: RouteDeclaration): Pick<Route, 'redirect'> {
  const to = moved ?? found
  return to === undefined ? {} : { redirect: Object.freeze({ to, permanent: moved !== undefined }) }
}

/** A date is the beginning of its day in UTC. */
function lifecycleOf({ deprecated, sunset, successor }: RouteDeclaration): Pick<Route, 'lifecycle'> {
  if (deprecated === undefined && sunset === undefined && successor === undefined) return {}
  const lifecycle = {
    ...(deprecated === undefined ? {} : { deprecatedAt: Date.parse(deprecated) }),
    ...(sunset === undefined ? {} : { sunsetAt: Date.parse(sunset) }),
    ...(successor === undefined ? {} : { successor }),
  }
  return { lifecycle: Object.freeze(lifecycle) }
}

/** Delete and options have no fields, whatever their action is called. */
function hasFields(action: string, endpoints: readonly Endpoint[]): boolean {
  if (action === 'delete' || action === 'options') return false
  const given = endpoints.filter((endpoint) => endpoint.action === action)
  return given.length === 0 || given.some(({ operation }) => operation !== 'delete')
}

function isPlain({ view, redirect, endpoints }: Route): boolean {
  const own = [...endpoints.values()].some(({ operation, action }) => operation !== action)
  return view === undefined && redirect === undefined && !own
}

/** The form that x-resource.schema.json states. */
export interface RouteDeclaration {
  readonly path: string
  /** Any words, until checkRoutes has checked that the kind of route can have them. */
  readonly methods: readonly string[]
  readonly object?: 'caller'
  readonly view?: string
  readonly action?: string
  readonly moved?: string
  readonly found?: string
  /** Days of the calendar, `YYYY-MM-DD`. */
  readonly deprecated?: string
  readonly sunset?: string
  readonly successor?: string
  readonly precondition?: 'required'
  /** `keep`: such as `1d`, which is also meant without it. */
  readonly events?: { readonly keep?: string }
}

/** The routes of a file whose `x-resource` has passed checkXResource. */
export function declaredRoutes({ json }: SchemaFile): readonly RouteDeclaration[] {
  return xResource(json).routes ?? []
}

/** Whether the objects are kept elsewhere. */
export function isExternal({ json }: SchemaFile): boolean {
  return xResource(json).external === true
}

/** The actions that no route needs. */
export function declaredActions({ json }: SchemaFile): readonly string[] {
  return xResource(json).actions ?? []
}

interface XResource {
  readonly external?: true
  readonly actions?: readonly string[]
  readonly routes?: readonly RouteDeclaration[]
}

function xResource(json: SchemaFile['json']): XResource {
  return (json as unknown as { 'x-resource': XResource })['x-resource']
}

/** Whether the route is a stream of events. */
export function isStream({ events }: RouteDeclaration): boolean {
  return events !== undefined
}

export function routeKind({ path, object }: RouteDeclaration): RouteKind {
  if (object === 'caller') return 'caller'
  return parameterOf(path) === 'id' ? 'item' : 'collection'
}

/** Whether one request path can match both: a parameter matches any segment of the other path. */
export function canBothMatch(a: string, b: string): boolean {
  const [left, right] = [a.split('/'), b.split('/')]
  return left.length === right.length && left.every((segment, i) => fits(segment, right[i] ?? ''))
}

function fits(a: string, b: string): boolean {
  return a === b || parameterOf(a) !== undefined || parameterOf(b) !== undefined
}
