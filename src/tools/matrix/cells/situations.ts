/** The situations that rules tell apart: the object of a request by its relations, and the conditions that hold. */

import { MOST_SETS, namedRelations, possibleSets } from '../../../analysis/possible-sets.ts'
import { smallestSubsets } from '../../../base/subsets.ts'
import type { RouteMethod } from '../../../decide/callers-and-routes.ts'
import type { Policy } from '../../../decide/policy.ts'
import { holdsForOwnRecord, leavesOf, valuesWhoeverAsks } from '../../../decide/relations/all-kinds.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'
import { completedSet } from '../arrange/completed-set.ts'
import { conditionsAbout } from '../arrange/conditions-about.ts'
import type { Known } from '../arrange/relatability.ts'
import type { Cell } from '../predict/arrange-world.ts'
import type { ObjectState } from '../read/expectation.ts'

/** The object of a request, the conditions that hold, and what a write makes of the object. */
export type Situation = Pick<Cell, 'object' | 'when' | 'becomes'>

export function* statesOf(
  policies: readonly Policy[],
  routeMethod: RouteMethod,
  known: Known,
): Generator<Situation, undefined> {
  const objects = objectsOf(policies, routeMethod, known)
  for (const when of conditionSets(policies, routeMethod)) for (const object of objects) yield { object, ...when }
  return undefined
}

/** Each set of the conditions that rules name, smallest first: the empty one is stated as no condition. */
export function conditionSets(
  policies: readonly Policy[],
  { resource, endpoint }: RouteMethod,
): readonly Pick<Situation, 'when'>[] {
  const names = [...new Set(policies.flatMap((policy) => conditionsAbout(policy, resource, endpoint)))].sort()
  return smallestSubsets(names, MOST_SETS).map(whenOf)
}

export function whenOf(when: readonly string[]): Pick<Situation, 'when'> {
  return when.length === 0 ? {} : { when: when.toSorted() }
}

function objectsOf(policies: readonly Policy[], routeMethod: RouteMethod, known: Known): readonly ObjectState[] {
  const [policy] = policies
  if (!policy || routeMethod.route.kind === 'collection') return [{ kind: 'none' }]
  const named = namedBy(policies, routeMethod)
  const states = setsOf(policy, routeMethod, named)
    .flatMap((set) => completed(policy, routeMethod, known, { set, named }) ?? [])
    .map(stateOf)
  return [...states, { kind: 'missing' }]
}

export function namedBy(policies: readonly Policy[], routeMethod: RouteMethod): ReadonlySet<string> {
  return new Set(policies.flatMap((one) => [...namedHere(one, routeMethod)]))
}

export function setsOf(
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

/** Completes the set with relations that no rule about the action names (arrange/completed.ts). */
export function completed(
  { ownership }: Policy,
  { resource, route }: RouteMethod,
  known: Known,
  sets: { readonly set: ReadonlySet<string>; readonly named: ReadonlySet<string> },
): ReadonlySet<string> | undefined {
  const about = { resource, ownership: ownership.get(resource.name), own: route.kind === 'caller' }
  return completedSet(about, known, sets)
}

/**
 * On the route of the caller's own record, always includes the relations that hold for such a record. OPTIONS concerns
 * no object.
 */
export function namedHere(policy: Policy, { endpoint, resource, action, route }: RouteMethod): ReadonlySet<string> {
  const { conceal, relations } = policy.ownership.get(resource.name) ?? {}
  const own = route.kind === 'caller' ? [...(relations?.values() ?? [])].filter(holdsForOwnRecord) : []
  const read = conceal ? resource.actions.get('read') : undefined
  const actions = endpoint.operation === 'options' ? [] : [action, ...(read ? [read] : [])]
  const named = actions.flatMap((one) => namedRelations(policy, resource, one))
  const states = endpoint.operation === 'create' ? statesBeside(named, relations?.values() ?? []) : []
  return new Set([...named, ...states, ...own].map(({ name }) => name))
}

/** The states of the fields that these states look at: rules about creating name those that are allowed. */
function statesBeside(named: readonly Relation[], all: Iterable<Relation>): readonly Relation[] {
  const fieldOf = (relation: Relation) => valuesWhoeverAsks(relation)?.field
  const fields = new Set(named.flatMap(leavesOf).flatMap((leaf) => fieldOf(leaf) ?? []))
  return [...all].filter((relation) => fields.has(fieldOf(relation) ?? ''))
}

export function stateOf(names: ReadonlySet<string>): ObjectState {
  return names.size === 0 ? { kind: 'other' } : { kind: 'relations', names: [...names].sort() }
}
