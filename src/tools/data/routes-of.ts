/** The routes with which a command lists, reads and creates objects of a resource, and the order of the resources. */
import { oneOf } from '../../base/did-you-mean.ts'
import type { Operation, Resource, Route } from '../../resources/resource.ts'
import { ToolError } from '../load-policy.ts'
import { objectsNamed } from '../references.ts'
import type { Pipeline } from './pipeline.ts'

/** A path of the resource that serves the action whole, without a view of its own; undefined if no path does. */
export function pathOf({ routes }: Resource, operation: Operation, now: number): string | undefined {
  return routes.find((route) => servesWhole(route, operation, now))?.path
}

function servesWhole(route: Route, operation: Operation, now: number): boolean {
  const { sunsetAt } = route.lifecycle ?? {}
  if (route.kind === 'caller' || route.parent || route.redirect || route.view !== undefined) return false
  if (sunsetAt !== undefined && sunsetAt <= now) return false
  return [...route.endpoints.values()].some((one) => one.operation === operation && one.action === operation)
}

export function itemPath(path: string, id: string): string {
  return path.replace('{id}', () => encodeURIComponent(id))
}

/** Objects that others name come before those, so that an import meets them first; resources in a circle by name. */
export function inOrderOfNames(
  { policy }: Pick<Pipeline, 'policy'>,
  resources: readonly Resource[],
): readonly Resource[] {
  const ordered = new Set<Resource>()
  const visiting = new Set<Resource>()
  const visit = (resource: Resource) => {
    if (ordered.has(resource) || visiting.has(resource)) return
    visiting.add(resource)
    const named = new Set(objectsNamed(policy, resource.name).map(({ to }) => to))
    for (const one of resources) if (named.has(one.name)) visit(one)
    ordered.add(resource)
  }
  for (const resource of resources.toSorted((a, b) => (a.name < b.name ? -1 : 1))) visit(resource)
  return [...ordered]
}

// The resources whose objects are stored, by name.

/** Throws ToolError. */
export function resourceNamed(name: string, stored: readonly Resource[]): Resource {
  const found = stored.find((one) => one.name === name)
  if (found) return found
  const known = stored.map((one) => one.name)
  throw new ToolError(`no schema declares the resource \`${name}\`: name ${oneOf(name, known)}`)
}
