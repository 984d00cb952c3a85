/**
 * All attacks. Each request that a role may make about its own object is repeated by every other caller, in every way.
 */

import { type RouteMethod, routeMethodsOf } from '../../../decide/callers-and-routes.ts'
import { comparedFields, leavesOf, needsCaller, stepOf } from '../../../decide/relations/all-kinds.ts'
import { ownerFieldOf } from '../../../decide/relations/ownership.ts'
import { possibleSets } from '../../../decide/relations/possible-sets.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'
import type { Resource } from '../../../resources/resource.ts'
import { relatability } from '../arrange/relatability.ts'
import type { EvaluatedPolicy } from '../predict/answer.ts'
import type { Suite } from '../predict/suite.ts'
import { callerIn, type MatrixColumn } from '../read/expectation.ts'

/** Where the victim's ids are put. */
type Vector = 'id in path' | 'owner in body' | 'parent in body' | 'id in body' | 'owner in query' | 'id in query'

export interface Attack {
  readonly vector: Vector
  readonly routeMethod: RouteMethod
  /** The owner of the object, who may make the request. */
  readonly victim: Extract<MatrixColumn, { kind: 'roles' }>
  readonly attacker: Exclude<MatrixColumn, { kind: 'user' }>
  /** How the victim relates to the object. */
  readonly relations: readonly string[]
}

type Victim = Attack['victim']
type Attacker = Attack['attacker']

/** In the order of routes, methods, victims and attackers. `narrow` keeps resources; empty for all. */
export function planAttacks(
  suite: Suite,
  evaluated: EvaluatedPolicy,
  narrow: readonly string[] = [],
): readonly Attack[] {
  const roles = [...suite.policy.roles.keys()].map((role): Victim => ({ kind: 'roles', roles: [role] }))
  const attackers: readonly Attacker[] = [{ kind: 'anonymous' }, ...roles]
  const routeMethods = routeMethodsOf(suite.resources).filter(
    ({ resource }) => !resource.builtIn && isChosen(resource, narrow),
  )
  return routeMethods.flatMap((routeMethod) =>
    roles
      .filter((victim) => mayReach(evaluated, victim, routeMethod))
      .flatMap((victim) => attackers.flatMap((attacker) => attacksOn(suite, { routeMethod, victim, attacker }))),
  )
}

function isChosen({ name }: Resource, narrow: readonly string[]): boolean {
  return narrow.length === 0 || narrow.includes(name)
}

/** Whether this role can make the request at all. */
function mayReach(
  { grants }: EvaluatedPolicy,
  victim: Victim,
  { resource, action, endpoint, route }: RouteMethod,
): boolean {
  if (route.redirect) return false
  const table = grants.table(grants.subjectOf(callerIn(victim)), resource.name, action.name)
  return endpoint.operation === 'options' || table.roleLevel(() => true).allowed
}

function attacksOn(suite: Suite, about: Omit<Attack, 'vector' | 'relations'>): readonly Attack[] {
  return relationsOf(suite, about.routeMethod).flatMap((relations) =>
    vectorsOf(suite, about).map((vector) => ({ vector, ...about, relations })),
  )
}

/**
 * The ways in which the victim is the owner of an object; without such a relation, none of the caller's holds. One for
 * which no object was found is planned as well, so that the report says that it could not be tried.
 */
function relationsOf(suite: Suite, { resource, route }: RouteMethod): readonly (readonly string[])[] {
  return route.kind === 'collection' ? [[]] : waysToOwn(suite, resource, route.kind === 'caller')
}

/** The sets of relations of an owner to an object; `own`: to the record with the owner's id. Sorted names. */
export function waysToOwn(suite: Suite, resource: Resource, own: boolean): readonly (readonly string[])[] {
  const { policy } = suite
  const declared = policy.ownership.get(resource.name)?.relations
  const relations = [...(declared?.values() ?? [])].filter(
    (relation) => !needsCaller(relation) || relation.name === 'owner' || namesParent(relation),
  )
  return (
    possibleSets(relations, resource)
      .filter((set) => !declared?.has('owner') || set.has('owner'))
      // One relation by a parent at a time, because each set is tried as every caller.
      .filter((set) => relations.filter((one) => namesParent(one) && set.has(one.name)).length <= 1)
      .filter((set) => relatability(policy, suite, { resource, relations: set, own }) !== 'impossible')
      .map((set) => [...set].sort())
  )
}

function vectorsOf(
  { policy }: Suite,
  { routeMethod, attacker }: Pick<Attack, 'routeMethod' | 'attacker'>,
): readonly Vector[] {
  const { route, method, endpoint, resource } = routeMethod
  const owner = ownerFieldOf(resource, policy.ownership.get(resource.name))
  const writes = ['create', 'replace', 'update'].includes(endpoint.operation)
  // A caller without credentials has no own object to write another user's ids into.
  const own = route.kind === 'collection' || !isAnonymous(attacker)
  const path: readonly Vector[] = route.kind === 'item' ? ['id in path'] : []
  const body: readonly Vector[] = writes && own ? [...(owner ? (['owner in body'] as const) : []), 'id in body'] : []
  const parents: readonly Vector[] =
    writes && own && parentFields(policy, resource).length > 0 ? ['parent in body'] : []
  const query: readonly Vector[] =
    endpoint.operation === 'list' && method === 'GET' && owner?.indexed ? ['owner in query'] : []
  const asked: readonly Vector[] = endpoint.operation === 'read' && method === 'GET' && own ? ['id in query'] : []
  return [...path, ...body, ...parents, ...query, ...asked]
}

function namesParent(relation: Relation): boolean {
  return leavesOf(relation).some((leaf) => stepOf(leaf)?.by === 'id')
}

/** The fields that name the objects on which relations rest, such as the project of a task. */
export function parentFields({ ownership }: Suite['policy'], { name }: Resource): readonly string[] {
  const leaves = [...(ownership.get(name)?.relations.values() ?? [])].flatMap(leavesOf)
  return [...new Set(leaves.filter(namesParent).flatMap(comparedFields))]
}

export function isAnonymous(column: MatrixColumn): column is Extract<MatrixColumn, { kind: 'anonymous' }> {
  return column.kind === 'anonymous'
}
