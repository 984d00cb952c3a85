/** All possible rows of a matrix: every path and method, every set of relations to the object, every column. */

import { type RouteMethod, routeMethodsOf } from '../../../decide/callers-and-routes.ts'
import type { Policy } from '../../../decide/policy.ts'
import { holdsForOwnRecord } from '../../../decide/relations/all-kinds.ts'
import { namedRelations, possibleSets } from '../../../decide/relations/possible-sets.ts'
import type { Json, Method } from '../../../resources/resource.ts'
import { type Known, relatability } from '../arrange/relatability.ts'
import type { Cell } from '../predict/arrange-cell.ts'
import type { MatrixColumn, ObjectState } from '../read/expectation.ts'
import { columnText } from '../read/expectation.ts'

/** A row of a matrix: methods of the same endpoint, and one set of relations to the object. */
export interface Row {
  readonly routeMethod: RouteMethod
  readonly methods: readonly Method[]
  readonly object: ObjectState
  /** Absent for the smallest body; `file` is one of bodies/. */
  readonly body?: { readonly file: string; readonly content: Readonly<Record<string, Json>> }
  /** Sent without `If-Match` to a route that requires it. */
  readonly unconditional?: true
}

/** How many sets of further relations are tried to find an object with the named relations. */
const MOST_COMPLETIONS = 64

/**
 * One row for each difference between objects that a rule of these policies makes. A matrix can't write the path of
 * `OPTIONS *`.
 */
export function rowsOf(policies: readonly Policy[], known: Known): readonly Row[] {
  const routeMethods = routeMethodsOf(known.resources).filter(({ route }) => route.path !== '*')
  return [
    ...Map.groupBy(routeMethods, ({ route, endpoint }) => `${route.path} ${endpoint.operation}`).values(),
  ].flatMap((group) => {
    const [routeMethod] = group
    if (!routeMethod) return []
    const methods = group.map(({ method }) => method)
    return statesOf(policies, routeMethod, known).map((object) => ({ routeMethod, methods, object }))
  })
}

function statesOf(policies: readonly Policy[], routeMethod: RouteMethod, known: Known): readonly ObjectState[] {
  const [policy] = policies
  if (!policy || routeMethod.route.kind === 'collection') return [{ kind: 'none' }]
  const named = new Set(policies.flatMap((one) => [...namedHere(one, routeMethod)]))
  const relations = [...(policy.ownership.get(routeMethod.resource.name)?.relations.values() ?? [])]
  const sets = possibleSets(
    relations.filter(({ name }) => named.has(name)),
    routeMethod.resource,
  )
  const states = sets.flatMap((set) => completed(policy, routeMethod, known, { set, named }) ?? []).map(stateOf)
  return [...states, { kind: 'missing' }]
}

/**
 * Completes the set with relations that no rule about the action names. They make no difference, so as few as possible
 * hold. Undefined if no such object can exist. If one may exist but was not found, a set that may be possible.
 */
function completed(
  policy: Policy,
  { resource, route }: RouteMethod,
  known: Known,
  { set, named }: { readonly set: ReadonlySet<string>; readonly named: ReadonlySet<string> },
): ReadonlySet<string> | undefined {
  const ownership = policy.ownership.get(resource.name)
  const others = [...(ownership?.relations.values() ?? [])].filter(({ name }) => !named.has(name))
  let open: ReadonlySet<string> | undefined
  for (const more of possibleSets(others, resource).slice(0, MOST_COMPLETIONS)) {
    const relations = set.union(more)
    const kind = relatability(policy, known, { resource, relations, own: route.kind === 'caller' })
    if (kind === 'related') return relations
    if (kind === 'unarranged') open ??= relations
  }
  return open
}

/**
 * On the route of the caller's own record, always includes the relations that hold for such a record. OPTIONS concerns
 * no object.
 */
function namedHere(policy: Policy, { endpoint, resource, action, route }: RouteMethod): ReadonlySet<string> {
  const { conceal, relations } = policy.ownership.get(resource.name) ?? {}
  const own = route.kind === 'caller' ? [...(relations?.values() ?? [])].filter(holdsForOwnRecord) : []
  const read = conceal ? resource.actions.get('read') : undefined
  const actions = endpoint.operation === 'options' ? [] : [action, ...(read ? [read] : [])]
  const named = actions.flatMap((one) => namedRelations(policy, resource, one))
  return new Set([...named, ...own].map(({ name }) => name))
}

function stateOf(names: ReadonlySet<string>): ObjectState {
  return names.size === 0 ? { kind: 'other' } : { kind: 'relations', names: [...names].sort() }
}

/** One for each method of the row. */
export function cellsOf(
  { routeMethod, methods, object, body, unconditional }: Row,
  column: MatrixColumn,
): readonly Cell[] {
  const content = body && { content: body.content }
  const how = unconditional ? { unconditional } : {}
  return methods.map((method) => ({ method, path: routeMethod.route.path, object, column, ...content, ...how }))
}

/** Cells have the same key if no rule distinguishes them, even if they send different bodies. */
export function cellKey(
  policy: Policy,
  routeMethod: RouteMethod | undefined,
  { method, path, object, column, unconditional = false }: Cell,
): string {
  const named = routeMethod && namedHere(policy, routeMethod)
  const names = object.kind === 'relations' ? object.names.filter((name) => named?.has(name)) : []
  const kind = object.kind === 'relations' || object.kind === 'other' ? 'exists' : object.kind
  return JSON.stringify([method, path, kind, names, columnText(column), unconditional])
}
