/**
 * All attacks. Each request that a role may make about its own object is repeated by every other caller, in every way.
 * Attacks change fields that name a parent or have the value of a caller's attribute, and rows about a caller.
 */

import { v7 as uuidv7 } from 'uuid'
import { possibleSets } from '../../../analysis/possible-sets.ts'
import { type RouteMethod, routeMethodsOf } from '../../../decide/callers-and-routes.ts'
import { USERS } from '../../../decide/policy.ts'
import { comparedFields, kindOf, leavesOf, stepOf } from '../../../decide/relations/all-kinds.ts'
import { ownerFieldOf } from '../../../decide/relations/ownership.ts'
import type { Relation, RelationStep } from '../../../decide/relations/relation-kind.ts'
import type { Json, Representation, Resource } from '../../../resources/resource.ts'
import { leavesOn, parentsNamed } from '../../references.ts'
import { comparedIn } from '../fixture/caller-record.ts'
import { objectFixture } from '../fixture/object-fixture.ts'
import type { EvaluatedPolicy } from '../predict/predict.ts'
import type { Suite } from '../predict/suite.ts'
import { callerIn, type MatrixColumn } from '../read/expectation.ts'
import type { NamedCaller } from '../run/set-up-caller.ts'
import { CannotSetUp, type TestTarget } from '../target/test-target.ts'
import { itemRouteOf, type Predicted, type Short, type Way, waysShortOf, waysTo } from './ways.ts'

/**
 * What is put into the request: ids and values of the victim, or a row that relates the attacker to the victim's object.
 * In `relation missing`, the attacker relates to the object as the victim does, except for one relation.
 */
type AttackVector =
  | 'id in path'
  | 'owner in body'
  | 'parent in body'
  | 'attribute in body'
  | 'id in body'
  | 'row for oneself'
  | 'relation missing'
  | 'owner in query'
  | 'parent in query'
  | 'attribute in query'
  | 'id in query'

export interface Attack {
  readonly vector: AttackVector
  readonly routeMethod: RouteMethod
  /** The owner of the object, who may make the request. */
  readonly victim: Extract<MatrixColumn, { kind: 'roles' }>
  readonly attacker: Exclude<MatrixColumn, { kind: 'user' }>
  /** Whether the attacker has the victim's attributes or others; absent if relations compare none. */
  readonly attributes?: 'same' | 'other'
  /** The request about the victim's object, and how the victim relates to it. */
  readonly home: RouteMethod
  readonly way: Way
  /** The field that gets the victim's value. */
  readonly reference?: Reference
  /** The relation that the row gives. */
  readonly row?: RowOf
  /** The relation that is missing, and how the attacker relates to the object. */
  readonly short?: Short
}

type Victim = Attack['victim']
type Attacker = Pick<Attack, 'attacker' | 'attributes'>
type AttackAim = Pick<Attack, 'vector' | 'home' | 'way' | 'reference' | 'row' | 'short'>

/** In the order of routes, methods, victims and attackers. `narrow` keeps resources; empty for all. */
export async function planAttacks(suite: Predicted, narrow: readonly string[] = []): Promise<readonly Attack[]> {
  const roles = [...suite.policy.roles.keys()].map((role): Victim => ({ kind: 'roles', roles: [role] }))
  const routeMethods = routeMethodsOf(suite.resources).filter(
    ({ resource }) => !resource.builtIn && (narrow.length === 0 || narrow.includes(resource.name)),
  )
  const requests = routeMethods.flatMap((routeMethod) => roles.map((victim) => ({ routeMethod, victim })))
  const attacks = await Array.fromAsync(requests, async ({ routeMethod, victim }) => {
    const aims = [
      ...(mayReach(suite.evaluated, victim, routeMethod) ? await aimsOf(suite, routeMethod, victim) : []),
      ...(await rowAims(suite, routeMethod, victim)),
    ]
    return aims.flatMap((aim) =>
      attackersOn(suite, aim.short ? [victim] : roles, routeMethod, aim)
        .filter((one) => isApt(suite, aim, routeMethod, one))
        .map((one): Attack => ({ routeMethod, victim, ...one, ...aim })),
    )
  })
  return attacks.flat()
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

/** Where relations compare attributes, each role comes with those of the victim and with others. */
function attackersOn(
  { policy }: Predicted,
  roles: readonly Victim[],
  { endpoint }: RouteMethod,
  { home, row, short }: AttackAim,
): readonly Attacker[] {
  if (short) return roles.map((attacker) => ({ attacker }))
  const resources = [home.resource, ...(row ? [row.resource] : [])]
  // No relation counts for OPTIONS.
  const compares =
    endpoint.operation !== 'options' && resources.some(({ name }) => comparedIn(policy.ownership.get(name)).length > 0)
  const known = roles.flatMap((attacker): readonly Attacker[] =>
    compares ? (['same', 'other'] as const).map((attributes) => ({ attacker, attributes })) : [{ attacker }],
  )
  return [{ attacker: { kind: 'anonymous' } }, ...known]
}

/**
 * A caller without credentials has no own object to write another user's ids into. Where an object has the attribute in
 * its id, the victim and a caller with the same attribute would have one object.
 */
function isApt(
  { policy }: Predicted,
  { vector }: AttackAim,
  { route, resource }: RouteMethod,
  { attacker, attributes }: Attacker,
): boolean {
  const fromOwn = vector !== 'id in path' && route.kind !== 'collection'
  if (isAnonymous(attacker)) return !fromOwn && vector !== 'row for oneself'
  return !(fromOwn && attributes === 'same' && isNamedByAttribute(policy, resource))
}

async function aimsOf(suite: Predicted, routeMethod: RouteMethod, victim: Victim): Promise<readonly AttackAim[]> {
  const { route, resource } = routeMethod
  const references = referencesOf(suite.policy, resource)
  if (route.kind !== 'collection') {
    const ways = await waysTo(suite, routeMethod, victim)
    const about = { home: routeMethod, ways }
    return [
      ...ways.flatMap((way) => vectorsOf(suite, routeMethod).map((vector) => ({ vector, home: routeMethod, way }))),
      ...references.flatMap((reference) => referenceAims(suite, routeMethod, about, reference)),
      ...(await shortAims(suite, routeMethod, victim, ways)),
    ]
  }
  const home = itemRouteOf(suite, resource) ?? routeMethod
  const ways = home === routeMethod ? [NO_WAY] : await waysTo(suite, home, victim)
  const [way = NO_WAY] = ways
  return [
    ...vectorsOf(suite, routeMethod).map((vector) => ({ vector, home, way })),
    ...references.flatMap((reference) => referenceAims(suite, routeMethod, { home, ways }, reference)),
  ]
}

/** The victim's request about an object to which the attacker relates almost as the victim does. */
async function shortAims(
  suite: Predicted,
  routeMethod: RouteMethod,
  victim: Victim,
  ways: readonly Way[],
): Promise<readonly AttackAim[]> {
  if (routeMethod.route.kind !== 'item' || routeMethod.endpoint.operation === 'options') return []
  const allowed = ways.filter(({ isAllowed }) => isAllowed)
  const aims = await Array.fromAsync(allowed, async (way) =>
    (await waysShortOf(suite, routeMethod, victim, way)).map(
      (short): AttackAim => ({ vector: 'relation missing', home: routeMethod, way, short }),
    ),
  )
  return [...new Map(aims.flat().map((one) => [one.short?.way.relations.join('+'), one])).values()]
}

const NO_WAY: Way = { relations: [], isAllowed: false }

function vectorsOf({ policy }: Predicted, { route, method, endpoint, resource }: RouteMethod): readonly AttackVector[] {
  const owner = ownerFieldOf(resource, policy.ownership.get(resource.name))
  const path: readonly AttackVector[] = route.kind === 'item' ? ['id in path'] : []
  const body: readonly AttackVector[] = isWrite(endpoint.operation)
    ? [...(owner ? (['owner in body'] as const) : []), 'id in body']
    : []
  const query: readonly AttackVector[] =
    endpoint.operation === 'list' && method === 'GET' && owner?.indexed ? ['owner in query'] : []
  const asked: readonly AttackVector[] = endpoint.operation === 'read' && method === 'GET' ? ['id in query'] : []
  return [...path, ...body, ...query, ...asked]
}

/** The victim's value of the field in a body or a query; first of an object that relates to the victim by that field. */
function referenceAims(
  { policy }: Predicted,
  { endpoint, method, resource, route }: RouteMethod,
  { home, ways }: { readonly home: RouteMethod; readonly ways: readonly Way[] },
  reference: Reference,
): readonly AttackAim[] {
  const about = relationsAbout(policy, resource, reference.field)
  const relating = ways.filter(({ relations }) => relations.some((one) => about.includes(one)))
  if (route.kind !== 'collection') {
    const allowed = isWrite(endpoint.operation) ? ways.filter(({ isAllowed }) => isAllowed) : []
    return allowed.map((way) => ({ vector: `${reference.value} in body`, home, way, reference }))
  }
  const lists = endpoint.operation === 'list' && method === 'GET' && resource.fields.get(reference.field)?.indexed
  const vector = isWrite(endpoint.operation) ? 'body' : lists ? 'query' : undefined
  const [way = ways[0]] = relating
  return way && vector ? [{ vector: `${reference.value} in ${vector}`, home, way, reference }] : []
}

/** A new object that makes a relation of the victim's object hold for the attacker too, such as a membership. */
async function rowAims(
  suite: Predicted,
  { endpoint, resource, route }: RouteMethod,
  victim: Victim,
): Promise<readonly AttackAim[]> {
  if (endpoint.operation !== 'create' || route.redirect) return []
  const aims = await Array.fromAsync(rowsNaming(suite.policy, resource), async (row): Promise<readonly AttackAim[]> => {
    const of = suite.resources.byName.get(row.of)
    const home = of && itemRouteOf(suite, of)
    if (!home || !mayReach(suite.evaluated, victim, home)) return []
    const ways = await waysTo(suite, home, victim)
    const way = ways.find(({ relations }) => relations.includes(row.relation.name))
    return way ? [{ vector: 'row for oneself', home, way, row }] : []
  })
  return aims.flat()
}

function isWrite(operation: string): boolean {
  return ['create', 'replace', 'update'].includes(operation)
}

export function isAnonymous(column: MatrixColumn): column is Extract<MatrixColumn, { kind: 'anonymous' }> {
  return column.kind === 'anonymous'
}

/** A field of an object on which relations rest. */
interface Reference {
  readonly field: string
  readonly value: 'parent' | 'attribute'
  /** The resource of the parent. */
  readonly to?: string
}

/** Objects of `resource` on which the relation `of` of another resource rests, such as the memberships of a project. */
export interface RowOf {
  readonly of: string
  /** The resource of the objects. */
  readonly resource: Resource
  readonly relation: Relation
  readonly step: RelationStep
}

type SuitePolicy = Suite['policy']

/** Each field once. In users, the attributes of callers are such fields too. */
function referencesOf(policy: SuitePolicy, resource: Resource): readonly Reference[] {
  const attributes = [
    ...leavesOn(policy, resource.name).flatMap(ownAttribute),
    ...(resource.name === USERS ? [...policy.ownership.values()].flatMap(comparedIn) : []),
  ]
  const found: readonly Reference[] = [
    ...parentsNamed(policy, resource.name).map(({ field, to }): Reference => ({ field, value: 'parent', to })),
    ...attributes.map((field): Reference => ({ field, value: 'attribute' })),
  ]
  const writable = found.filter(({ field }) => field !== 'id' && resource.fields.get(field)?.readOnly === false)
  return [...new Map(writable.map((one) => [one.field, one])).values()]
}

/** The declared relations that look at the field, or have a part that does. */
function relationsAbout(policy: SuitePolicy, resource: Resource, field: string): readonly string[] {
  const declared = [...(policy.ownership.get(resource.name)?.relations.values() ?? [])]
  return declared
    .filter((one) => leavesOf(one).some((leaf) => comparedFields(leaf).includes(field)))
    .map(({ name }) => name)
}

/** Relations of other resources that rest on objects of this one which name them. */
function rowsNaming(policy: SuitePolicy, resource: Resource): readonly RowOf[] {
  return [...policy.ownership.keys()].flatMap((of) =>
    leavesByRelation(policy, of).flatMap(({ relation, leaf }) => {
      const step = stepOf(leaf)
      return step?.resource === resource.name && step.by !== 'id' ? [{ of, resource, relation, step }] : []
    }),
  )
}

/** Whether an attribute is the id of an object, or another value that no two objects have. */
function isNamedByAttribute(policy: SuitePolicy, { name, fields }: Resource): boolean {
  return leavesOn(policy, name).some((leaf) => {
    const { field = '', attribute = 'id' } = kindOf(leaf).equates?.(leaf) ?? {}
    return attribute !== 'id' && (field === 'id' || fields.get(field)?.unique === true)
  })
}

function ownAttribute(leaf: Relation): readonly string[] {
  const { field = '', attribute = 'id' } = kindOf(leaf).equates?.(leaf) ?? {}
  return attribute === 'id' ? [] : [field]
}

function leavesByRelation({ ownership }: SuitePolicy, resource: string) {
  const relations = [...(ownership.get(resource)?.relations.values() ?? [])]
  return relations.flatMap((relation) => leavesOf(relation).map((leaf) => ({ relation, leaf })))
}

interface AttackPair {
  readonly caller: NamedCaller | undefined
  readonly object: Representation | undefined
}

/** The fields that the relation looks at, and the one that names the object. Throws CannotSetUp. */
export function rowFor(
  { suite, target }: { readonly suite: Suite; readonly target: Pick<TestTarget, 'now'> },
  { resource, step }: RowOf,
  { caller, object }: AttackPair,
): Representation {
  const relations = [step.relation, ...leavesOf(step.relation)]
  const ownership = { conceal: false, relations: new Map(relations.map((one) => [one.name, one])) }
  const samples = suite.samples.get(resource.name)
  const naming = object?.id ?? uuidv7()
  const value: Json = resource.fields.get(step.by)?.list ? [naming] : naming
  const fields = relations.filter((one) => !stepOf(one)).flatMap(comparedFields)
  const sets = possibleSets(relations, resource).filter((set) => set.has(step.relation.name))
  for (const set of samples ? sets : []) {
    const found = objectFixture({
      resource,
      samples: samples ?? { smallest: {}, values: new Map() },
      ownership,
      relations: set,
      attributes: caller?.attributes ?? {},
      now: target.now(),
      id: uuidv7(),
      fixed: new Map([[step.by, value]]),
    })
    if (found.kind !== 'object') continue
    const named = Object.entries(found.object).filter(([field]) => fields.includes(field) || field === step.by)
    return Object.fromEntries(named)
  }
  throw new CannotSetUp(`no object of ${resource.name} could be made that gives ${step.relation.name} to the attacker`)
}
