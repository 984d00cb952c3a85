/** The fields that an operation shows: those that reading grants, cut to the view of the route. */
import type { RouteMethod } from '../../decide/callers-and-routes.ts'
import type { Access, Granted } from './access.ts'

/**
 * A list shows the fields that `list` grants, a write's answer the fields that `read` grants (semantics.md, "The
 * actions").
 */
export function fieldsShown(access: Access, { route, endpoint, resource }: RouteMethod): Granted {
  const shows = endpoint.operation === 'list' || endpoint.operation === 'read' ? endpoint.action : 'read'
  const { some, every } = access.granted(resource, shows)
  if (route.view === undefined) return { some, every }
  const view = access.snapshot.viewOf(resource.name, route.view)
  return { some: some.intersection(view), every: every.intersection(view) }
}
