/** All possible rows of a matrix: every path and method, every set of relations to the object, every column. */

import { type RouteMethod, routeMethodsOf } from '../../../decide/callers-and-routes.ts'
import type { Policy } from '../../../decide/policy.ts'
import { holdsForOwnRecord } from '../../../decide/relations/all-kinds.ts'
import { MOST_SETS, namedRelations, possibleSets } from '../../../decide/relations/possible-sets.ts'
import type { Json, Method } from '../../../resources/resource.ts'
import { conditionsAbout } from '../arrange/conditions-about.ts'
import { type Known, relatability } from '../arrange/relatability.ts'
import type { Cell } from '../predict/arrange-world.ts'
import type { MatrixColumn, ObjectState } from '../read/expectation.ts'
import { columnText } from '../read/expectation.ts'
import { resultsNear, statesResults } from './results.ts'

/** The object of a request, the conditions that hold, and what a write makes of the object. */
type Situation = Pick<Cell, 'object' | 'when' | 'becomes'>

/** A row of a matrix: methods of the same endpoint, and one situation. */
export interface Row extends Situation {
  readonly routeMethod: RouteMethod
  readonly methods: readonly Method[]
  /** Absent for the smallest body; `file` is one of bodies/. */
  readonly body?: { readonly file: string; readonly content: Readonly<Record<string, Json>> }
  /** Sent without `If-Match` to a route that requires it. */
  readonly unconditional?: true
}

/** How many sets of further relations are tried to find an object with the named relations. */
const MOST_COMPLETIONS = 64

/**
 * One row for each difference between objects that a rule of these policies makes. A matrix can't write the path of
 * `OPTIONS *`. Matrices may state results of writes with body files, so only probes need rows for them.
 */
export function rowsOf(
  policies: readonly Policy[],
  known: Known,
  results: 'with results' | 'without results' = 'without results',
): readonly Row[] {
  const routeMethods = routeMethodsOf(known.resources).filter(({ route }) => route.path !== '*')
  return [
    ...Map.groupBy(routeMethods, ({ route, endpoint }) => `${route.path} ${endpoint.operation}`).values(),
  ].flatMap((group) => {
    const [routeMethod] = group
    if (!routeMethod) return []
    const methods = group.map(({ method }) => method)
    // One more than people read shows that there are more.
    return [...situationsOf(policies, routeMethod, known, results).take(MOST_SETS + 1)].map((one) => ({
      routeMethod,
      methods,
      ...one,
    }))
  })
}

function* situationsOf(
  policies: readonly Policy[],
  routeMethod: RouteMethod,
  known: Known,
  results: 'with results' | 'without results',
): Generator<Situation, undefined> {
  const states = statesOf(policies, routeMethod, known)
  const conditions = conditionSets(policies, routeMethod)
  for (const when of conditions) for (const object of states) yield { object, ...when }
  if (results === 'without results' || !statesResults(policies, routeMethod)) return undefined
  for (const object of states) {
    for (const becomes of resultsOf(policies, routeMethod, known, object)) {
      for (const when of conditions) yield { object, ...when, becomes: [...becomes].sort() }
    }
  }
  return undefined
}

/** Each set of the conditions that rules name, smallest first: the empty one is stated as no condition. */
function conditionSets(
  policies: readonly Policy[],
  { resource, endpoint }: RouteMethod,
): readonly Pick<Situation, 'when'>[] {
  const names = [...new Set(policies.flatMap((policy) => conditionsAbout(policy, resource, endpoint)))].sort()
  const sets = names.reduce<readonly (readonly string[])[]>(
    (some, name) =>
      [...some, ...some.map((set) => [...set, name])].toSorted((a, b) => a.length - b.length).slice(0, MOST_SETS),
    [[]],
  )
  return sets.map((when) => (when.length === 0 ? {} : { when }))
}

/** What a write can make of the object, with all relations that then hold. */
function resultsOf(
  policies: readonly Policy[],
  routeMethod: RouteMethod,
  known: Known,
  object: ObjectState,
): readonly ReadonlySet<string>[] {
  const [policy] = policies
  if (!policy || object.kind === 'missing' || object.kind === 'none') return []
  const named = namedBy(policies, routeMethod)
  const possible = setsOf(policy, routeMethod, named)
  const complete = (set: ReadonlySet<string>) => completed(policy, routeMethod, known, { set, named }) ?? []
  const names = new Set(object.kind === 'relations' ? object.names : [])
  const stored = names.intersection(named)
  return resultsNear(policies, routeMethod, { stored, possible }).flatMap((set) => {
    const same = set.union(names.difference(named))
    return isPossible(policy, routeMethod, known, same) ? same : complete(set)
  })
}

function isPossible(
  policy: Policy,
  { resource, route }: RouteMethod,
  known: Known,
  relations: ReadonlySet<string>,
): boolean {
  return relatability(policy, known, { resource, relations, own: route.kind === 'caller' }) !== 'impossible'
}

function statesOf(policies: readonly Policy[], routeMethod: RouteMethod, known: Known): readonly ObjectState[] {
  const [policy] = policies
  if (!policy || routeMethod.route.kind === 'collection') return [{ kind: 'none' }]
  const named = namedBy(policies, routeMethod)
  const states = setsOf(policy, routeMethod, named)
    .flatMap((set) => completed(policy, routeMethod, known, { set, named }) ?? [])
    .map(stateOf)
  return [...states, { kind: 'missing' }]
}

function namedBy(policies: readonly Policy[], routeMethod: RouteMethod): ReadonlySet<string> {
  return new Set(policies.flatMap((one) => [...namedHere(one, routeMethod)]))
}

function setsOf(
  { ownership }: Policy,
  { resource }: RouteMethod,
  named: ReadonlySet<string>,
): readonly ReadonlySet<string>[] {
  const relations = [...(ownership.get(resource.name)?.relations.values() ?? [])]
  return possibleSets(
    relations.filter(({ name }) => named.has(name)),
    resource,
  )
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
  { routeMethod, methods, object, when, becomes, body, unconditional }: Row,
  column: MatrixColumn,
): readonly Cell[] {
  const content = body && { content: body.content }
  const how = { ...(unconditional && { unconditional }), ...(when && { when }), ...(becomes && { becomes }) }
  return methods.map((method) => ({ method, path: routeMethod.route.path, object, column, ...content, ...how }))
}

/** Cells have the same key if no rule distinguishes them, even if they send different bodies. */
export function cellKey(
  policy: Policy,
  routeMethod: RouteMethod | undefined,
  { method, path, object, column, when = [], becomes, unconditional = false }: Cell,
): string {
  const named = routeMethod && namedHere(policy, routeMethod)
  const counting = (some: readonly string[]) => some.filter((name) => named?.has(name))
  const names = object.kind === 'relations' ? counting(object.names) : []
  const conditions = routeMethod ? conditionsAbout(policy, routeMethod.resource, routeMethod.endpoint) : []
  const about = [when.filter((name) => conditions.includes(name)), becomes ? counting(becomes) : null]
  const kind = object.kind === 'relations' || object.kind === 'other' ? 'exists' : object.kind
  return JSON.stringify([method, path, kind, names, columnText(column), ...about, unconditional])
}
