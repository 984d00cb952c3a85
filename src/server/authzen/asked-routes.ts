/** The action that a question names, as the route of a request that would do it. */
import type { Endpoint, Operation, Resource, Resources, Route } from '../../resources/resource.ts'
import type { DenialReason } from './trust.ts'

export interface AskedRoute {
  readonly resource: Resource
  readonly route: Route
  readonly endpoint: Endpoint
}

type AskedRoutes = ReadonlyMap<string, ReadonlyMap<string, AskedRoute>>

const made = new WeakMap<Resources, AskedRoutes>()

export function routeAsked(
  resources: Resources,
  type: string,
  action: string,
): AskedRoute | { readonly reason: DenialReason } {
  const actions = made.getOrInsertComputed(resources, makeTargets).get(type)
  if (!actions) return { reason: 'resource-unknown' }
  return actions.get(action) ?? { reason: 'action-unknown' }
}

/** The actions that a resource's routes give, `list` and `create` included; none for an unknown resource. */
export function actionsAsked(resources: Resources, type: string): readonly AskedRoute[] {
  return [...(made.getOrInsertComputed(resources, makeTargets).get(type)?.values() ?? [])]
}

/** By resource and action. Built-in resources have no objects. */
function makeTargets(resources: Resources): AskedRoutes {
  const data = [...resources.byName.values()].filter(({ builtIn }) => !builtIn)
  return new Map(
    data.map((resource) => [resource.name, resource.external ? actionsElsewhere(resource) : actionsOf(resource)]),
  )
}

function actionsOf(resource: Resource): ReadonlyMap<string, AskedRoute> {
  const found = new Map<string, AskedRoute>()
  for (const route of resource.routes.toSorted((a, b) => rank(a) - rank(b))) {
    for (const endpoint of route.redirect ? [] : route.endpoints.values()) {
      if (endpoint.operation === 'options' || found.has(endpoint.action)) continue
      found.set(endpoint.action, { resource, route, endpoint: onOneObject(endpoint) })
    }
  }
  return found
}

/** Another service needs no route of this server for an action. A rule with `>` is about a change. */
function actionsElsewhere(resource: Resource): ReadonlyMap<string, AskedRoute> {
  const path = `/${resource.name}/{id}`
  const route: Route = { path, resource: resource.name, kind: 'item', endpoints: new Map(), allow: '' }
  const names = [...resource.actions.keys()].filter((name) => name !== 'options')
  return new Map(
    names.map((action) => {
      const operation: Operation = isChange(resource, action) ? 'update' : 'read'
      return [action, { resource, route, endpoint: { operation, action } }]
    }),
  )
}

function isChange({ routes }: Resource, action: string): boolean {
  const given = routes.flatMap(({ endpoints }) => [...endpoints.values()]).filter((one) => one.action === action)
  return [action, ...given.map(({ operation }) => operation)].some((name) => CHANGES.includes(name))
}

const CHANGES = ['update', 'replace']

/** An object at a path of its own comes before the caller's own record, and a route without a view before a view. */
function rank({ kind, view }: Route): number {
  return (kind === 'caller' ? 2 : 0) + (view === undefined ? 0 : 1)
}

/** Whether a list or a stream of events shows one object is decided like a read of it, by the rules about `list` or `watch`. */
function onOneObject(endpoint: Endpoint): Endpoint {
  return ['list', 'watch'].includes(endpoint.operation) ? { ...endpoint, operation: 'read' } : endpoint
}

/** The list of the objects that the action is about. A view limits what a read shows, not what a write may change. */
export function asListing(target: AskedRoute): AskedRoute {
  const { view, ...route } = target.route
  const shown = target.endpoint.operation === 'read' && view !== undefined ? { ...route, view } : route
  return { ...target, route: shown, endpoint: { ...target.endpoint, operation: 'list' } }
}
