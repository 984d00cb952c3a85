/** What a schema file writes about a route, and when two paths can fit one request. */
import type { RouteKind } from '../resource.ts'
import type { SchemaFile } from '../schema/schema-file.ts'

/** As x-resource.schema.json has it. */
export interface RouteDeclaration {
  readonly path: string
  /** Any words, until checkRoutes has found them possible for the kind of route. */
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
}

/** The routes of a file whose `x-resource` has passed checkXResource. */
export function declaredRoutes({ json }: SchemaFile): readonly RouteDeclaration[] {
  return (json as unknown as { 'x-resource': { routes: readonly RouteDeclaration[] } })['x-resource'].routes
}

export function kindOf({ path, object }: RouteDeclaration): RouteKind {
  if (object === 'caller') return 'caller'
  return hasParameter(path) ? 'item' : 'collection'
}

export function hasParameter(path: string): boolean {
  return path.includes('{id}')
}

/** Whether one request path can fit both: a parameter fits whatever the other path has in its place. */
export function canBothMatch(a: string, b: string): boolean {
  const [left, right] = [a.split('/'), b.split('/')]
  return left.length === right.length && left.every((segment, i) => fits(segment, right[i] ?? ''))
}

function fits(a: string, b: string): boolean {
  return a === b || a === '{id}' || b === '{id}'
}
