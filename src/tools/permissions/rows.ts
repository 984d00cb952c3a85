/**
 * The rows of a matrix: every method of every route, with every set of relations that can hold, and the transitions of a
 * write where rules have a right side.
 */

import { MOST_SETS, namedConditions, namedRelations, possibleSets } from '../../analysis/possible-sets.ts'
import { byText } from '../../base/by-text.ts'
import { concernsObject, type RouteMethod, routeMethodsOf } from '../../decide/callers-and-routes.ts'
import type { Policy, Views } from '../../decide/policy.ts'
import { leavesOf, needsCaller } from '../../decide/relations/all-kinds.ts'
import type { Relation } from '../../decide/relations/relation-kind.ts'
import { decidedFields } from '../../decide/rules/terms.ts'
import type { Action, Endpoint, Method, Resource, Resources, Route } from '../../resources/resource.ts'
import { ToolError } from '../load-policy.ts'
import { namesOnTheRight, type Transition, transitionsOf, withMixedParts } from './transitions.ts'

/** The object of a row: none, a stored one, the caller's own record, one of a list, or a new one. */
export type ObjectKind = 'none' | 'stored' | 'own' | 'listed' | 'created'

export interface RowPlan {
  readonly route: Route
  readonly methods: readonly Method[]
  readonly endpoint: Endpoint
  readonly resource: Resource
  readonly action: Action
  readonly object: ObjectKind
  /** Views of the resource. */
  readonly views: Views | undefined
  readonly relations: ReadonlySet<string>
  /** The relations that rules about the action name, and parts that tell writes apart, in the order of ownership.yaml. */
  readonly named: readonly string[]
  /** The relations as in MatrixRow.relation. */
  readonly relation: string
  /** The relations that hold for the result of a write; undefined for the decision on the object alone. */
  readonly transition: Transition | undefined
  /** The conditions of the request that rules about the action name. */
  readonly conditions: readonly string[]
  /** Some of the relations compare the object with the caller. */
  readonly related: boolean
  /** The fields that the row is about, sorted: all, or those of the route's view; none for an action without fields. */
  readonly fields: readonly string[]
}

/** 2^10 rows for one method of one path: nobody reads more. */
const MOST_RELATIONS = 10

/** 2^6 decisions for one cell. */
const MOST_CONDITIONS = 6

/** What a matrix shows: all where undefined. */
export interface Shown {
  /** Names of resources. */
  readonly only: ReadonlySet<string> | undefined
  /** Objects for which exactly these relations hold, as far as rules name them. */
  readonly relations: ReadonlySet<string> | undefined
}

/** Throws ToolError if rules name too many relations for a matrix. */
export function planRows(policy: Policy, resources: Resources, shown: Shown): readonly RowPlan[] {
  const routeMethods = routeMethodsOf(resources).filter(({ resource }) => shown.only?.has(resource.name) ?? true)
  return [
    ...Map.groupBy(routeMethods, ({ endpoint, route }) => `${route.resource} ${route.path} ${endpoint.operation}`),
  ]
    .map(([, [first, ...rest]]) => ({
      routeMethod: first as RouteMethod,
      methods: [first as RouteMethod, ...rest].map((s) => s.method),
    }))
    .toSorted(byResourceAndPath)
    .flatMap((grouped) => rowsOf(policy, grouped, shown.relations))
}

interface Grouped {
  readonly routeMethod: RouteMethod
  readonly methods: readonly Method[]
}

function byResourceAndPath({ routeMethod: a }: Grouped, { routeMethod: b }: Grouped): number {
  return (
    Number(a.resource.builtIn) - Number(b.resource.builtIn) ||
    byText(a.resource.name, b.resource.name) ||
    byText(a.route.path, b.route.path)
  )
}

function rowsOf(policy: Policy, { routeMethod, methods }: Grouped, relations: Shown['relations']): readonly RowPlan[] {
  const { route, endpoint, resource, action } = routeMethod
  const object = objectOf(routeMethod)
  const conditions = conditionsAt(policy, routeMethod)
  const views = policy.views.get(resource.name)
  const common = { route, methods, endpoint, resource, action, object, views, conditions, transition: undefined }
  const fields = fieldsAbout(policy, routeMethod)
  if (object === 'none') return [{ ...common, relations: new Set(), named: [], relation: '-', related: false, fields }]
  const asked = relationsAt(policy, routeMethod)
  const isWrite = endpoint.operation === 'replace' || endpoint.operation === 'update'
  const hasTransitions = isWrite && namesOnTheRight(policy, { resource, action }) !== undefined
  const declared = policy.ownership.get(resource.name)?.relations.values() ?? []
  const named = hasTransitions ? withMixedParts(asked, declared) : asked
  const ownRecord = route.kind === 'caller'
  const isShown = (set: ReadonlySet<string>) =>
    !relations || asked.every(({ name }) => set.has(name) === relations.has(name))
  const plain = possibleSets(named, resource, { ownRecord })
    .filter(isShown)
    .map((set) => named.filter(({ name }) => set.has(name)))
    .toSorted((a, b) => bySizeAndPlace(named, a, b))
    .map((holding) => ({
      ...common,
      relations: new Set(holding.map(({ name }) => name)),
      named: named.map(({ name }) => name),
      relation: holding.map(({ name }) => name).join('+') || (named.length === 0 ? 'any' : 'none'),
      related: holding.some(needsCaller),
      fields,
    }))
  const transitions = hasTransitions ? transitionsOf(policy, { resource, action, named, ownRecord, isShown }) : []
  return plain.flatMap((row) => [
    row,
    ...transitions
      .filter(({ stored }) => sameNames(stored, row.relations))
      .map((transition) => ({ ...row, transition })),
  ])
}

function sameNames(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one.size === other.size && one.isSubsetOf(other)
}

/** Throws ToolError if there are too many. */
function conditionsAt(policy: Policy, { resource, action }: RouteMethod): readonly string[] {
  const named = namedConditions(policy, resource, action)
  if (named.length <= MOST_CONDITIONS) return named
  const rules = `rules about \`${action.name}\` on \`${resource.name}\``
  const advice = 'use `policy explain`, or choose other resources with --resource'
  throw new ToolError(`${rules} name ${named.length} conditions, too many for a matrix: ${advice}`)
}

/** Throws ToolError if there are too many. */
function relationsAt(policy: Policy, { resource, action }: RouteMethod): readonly Relation[] {
  const named = namedRelations(policy, resource, action)
  const leaves = [...new Set(named.flatMap(leavesOf))]
  const isWhole = leaves.length <= MOST_RELATIONS || possibleSets(leaves, resource).length < MOST_SETS
  if (named.length <= MOST_RELATIONS && isWhole) return named
  const rules = `rules about \`${action.name}\` on \`${resource.name}\``
  const advice = 'use `policy explain`, or choose other resources with --resource'
  throw new ToolError(
    `${rules} name ${Math.max(named.length, leaves.length)} relations, too many for a matrix: ${advice}`,
  )
}

function objectOf(routeMethod: RouteMethod): ObjectKind {
  const { route, endpoint } = routeMethod
  if (!concernsObject(routeMethod)) return 'none'
  if (endpoint.operation === 'list') return 'listed'
  if (endpoint.operation === 'create') return 'created'
  return route.kind === 'caller' ? 'own' : 'stored'
}

/** A redirect shows no fields; a view limits the fields that are shown, not those that may be written. */
function fieldsAbout(policy: Policy, routeMethod: RouteMethod): readonly string[] {
  const { route, endpoint, resource, action } = routeMethod
  if (!action.hasFields || route.redirect) return []
  const shows = endpoint.operation === 'list' || endpoint.operation === 'read'
  const view = shows && route.view ? policy.views.get(resource.name)?.get(route.view) : undefined
  return sorted(decidedFields(routeMethod).filter((field) => view?.has(field) ?? true))
}

function bySizeAndPlace(all: readonly Relation[], a: readonly Relation[], b: readonly Relation[]): number {
  const places = (some: readonly Relation[]) => some.map((one) => all.indexOf(one)).join()
  return a.length - b.length || byText(places(a), places(b))
}

function sorted(names: Iterable<string>): readonly string[] {
  return [...names].sort()
}
