/** The routes that show objects of a resource, for decisions that are about more than the route of the request. */

import type { Operation, Resource, Route } from '../resources/resource.ts'

type ObjectOperation = Extract<Operation, 'read' | 'delete'>

/** How one object is asked for; a resource without such a route is asked for by the usual action. */
export function objectRoute(resource: Resource, operation: ObjectOperation, now: number) {
  const route: Route = { path: '', resource: resource.name, kind: 'item', endpoints: new Map(), allow: '' }
  return servedRoute(resource, operation, now) ?? { route, endpoint: { operation, action: operation } }
}

/** Undefined if no route of the resource is for this, or none any more. `now`: milliseconds since the epoch. */
export function servedRoute({ routes, canonicalItemPath }: Resource, operation: ObjectOperation | 'list', now: number) {
  const wanted = operation === 'list' ? 'collection' : 'item'
  const canonical = routes.filter(({ path }) => path === canonicalItemPath)
  const served = [...canonical, ...routes].filter(({ kind, parent, redirect, lifecycle, history }) => {
    return (
      kind === wanted && !parent && !redirect && !history && now < (lifecycle?.sunsetAt ?? Number.POSITIVE_INFINITY)
    )
  })
  const asked = served.flatMap((route) => [...route.endpoints.values()].map((endpoint) => ({ route, endpoint })))
  return asked.find(({ endpoint }) => endpoint.operation === operation)
}
