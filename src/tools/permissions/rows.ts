/**
 * The rows of a matrix: every method of every route, with every set of relations that can hold, and the transitions of a
 * write where rules have a right side.
 */
import {
  MOST_SETS,
  namedConditions,
  namedRelations,
  namesOnResult,
  namesWith,
  possibleSets,
} from '../../analysis/possible-sets.ts'
import { byText } from '../../base/by-text.ts'
import { concernsObject, type RouteMethod, routeMethodsOf } from '../../decide/callers-and-routes.ts'
import type { Policy, Views } from '../../decide/policy.ts'
import { comparedFields, kindOf, leavesOf, needsCaller } from '../../decide/relations/all-kinds.ts'
import type { Relation } from '../../decide/relations/relation-kind.ts'
import { coversResource, decidedFields, performs, type ResultNames } from '../../decide/rules/terms.ts'
import type { Action, Endpoint, Method, Resource, Resources, Route } from '../../resources/resource.ts'
import { ToolError } from '../load-policy.ts'

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
  const byStored = Map.groupBy(transitions, ({ stored }) => stored.join('+'))
  return plain.flatMap((row) => [
    row,
    ...(byStored.get([...row.relations].join('+')) ?? []).map((transition) => ({ ...row, transition })),
  ])
}

/** Throws ToolError if there are too many. */
function conditionsAt(policy: Policy, about: RouteMethod): readonly string[] {
  const named = namedConditions(policy, about.resource, about.action)
  if (named.length > MOST_CONDITIONS) throw tooMany(about, `name ${named.length} conditions`)
  return named
}

/** Throws ToolError if there are too many. */
function relationsAt(policy: Policy, about: RouteMethod): readonly Relation[] {
  const { resource, action } = about
  const named = namedRelations(policy, resource, action)
  const leaves = [...new Set(named.flatMap(leavesOf))]
  const isWhole = leaves.length <= MOST_RELATIONS || possibleSets(leaves, resource).length < MOST_SETS
  if (named.length <= MOST_RELATIONS && isWhole) return named
  throw tooMany(about, `name ${Math.max(named.length, leaves.length)} relations`)
}

/** `what`: that the rules about the action do. */
function tooMany(
  { resource, action }: Pick<RouteMethod, 'resource' | 'action'>,
  what: string,
  advice = 'use `policy explain`',
): ToolError {
  const rules = `rules about \`${action.name}\` on \`${resource.name}\``
  return new ToolError(`${rules} ${what}, too many for a matrix: ${advice}, or choose other resources with --resource`)
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

// ---- The transitions of a write: what holds before and after it, where right sides of rules look at the result.
// Relations that no right side looks at stay as they are.

/** Of the result, the relations that rules ask for and that the write can change: with `stored`, they tell `mixed`. */
interface Transition extends ResultNames {
  /** `proposed` as a label: `placed`, or `none`. */
  readonly becomes: string
}

interface RowSubject {
  readonly resource: Resource
  readonly action: Action
  /** The relations that rules about the action name. */
  readonly named: readonly Relation[]
  /** The object is the caller's own record. */
  readonly ownRecord: boolean
  /** Whether the matrix shows a stored object for which these of the named relations hold. */
  isShown(names: ReadonlySet<string>): boolean
}

/** Deciding more takes longer than a person waits. */
const MOST_TRANSITIONS = 2 ** 15

/** Smallest sets first; none if no rule has a right side. Throws ToolError if there are too many. */
function transitionsOf(policy: Policy, about: RowSubject): readonly Transition[] {
  const { resource, named, ownRecord, isShown } = about
  const onTheRight = namesOnTheRight(policy, about)
  if (!onTheRight) return []
  const leaves = [...new Set(named.flatMap(leavesOf))]
  const changing = new Set(changingLeaves(named, onTheRight).map(({ name }) => name))
  const ofResult = named.filter(
    (relation) =>
      onTheRight.has(relation.name) ||
      (isAskedOfResult(relation) && leavesOf(relation).some(({ name }) => changing.has(name))),
  )
  const sets = possibleSets(leaves, resource, { ownRecord })
  const unchanged = (set: ReadonlySet<string>) => [...set.difference(changing)].toSorted().join('+')
  const bySame = Map.groupBy(sets, unchanged)
  const starts = sets.filter((leaves) => isShown(new Set(namesWith(named, leaves))))
  const afterOf = (before: ReadonlySet<string>) => bySame.get(unchanged(before)) ?? []
  const count = starts.reduce((sum, before) => sum + afterOf(before).length, 0)
  if (count > MOST_TRANSITIONS) {
    throw tooMany(about, `distinguish ${count} transitions`, 'name the relations of the object with --relation')
  }
  const transition = (before: ReadonlySet<string>, after: ReadonlySet<string>): Transition => {
    const proposed = namesWith(ofResult, after)
    return { ...namesOnResult(named, { before, after }), proposed, becomes: proposed.join('+') || 'none' }
  }
  const all = starts.flatMap((before) => afterOf(before).map((after) => transition(before, after)))
  const keyOf = ({ stored, mixed, proposed }: Transition) =>
    [stored, mixed, proposed].map((names) => names.join('+')).join('>')
  return [...new Map(all.map((one) => [keyOf(one), one])).values()]
}

/** Undefined if no rule about the action has a right side. */
function namesOnTheRight(
  { rules }: Policy,
  { resource, action }: Pick<RowSubject, 'resource' | 'action'>,
): ReadonlySet<string> | undefined {
  const sides = rules
    .filter((rule) => coversResource(rule, resource) && performs(rule, action))
    .flatMap(({ after }) => (after ? [after] : []))
  return sides.length === 0 ? undefined : new Set(sides.flat().map(({ name }) => name))
}

/**
 * The named relations, and the parts of those that a write decides by the stored object and by the proposed one: without
 * the parts, two different writes would look the same.
 */
function withMixedParts(named: readonly Relation[], declared: Iterable<Relation>): readonly Relation[] {
  const isMixed = (relation: Relation) => new Set(leavesOf(relation).map(sideOf)).size > 1
  const parts = named.filter(isMixed).flatMap(leavesOf)
  return [...declared].filter((relation) => named.includes(relation) || parts.includes(relation))
}

/** Left sides ask states of the stored object alone; the parts of a mixed relation stand for it. */
function isAskedOfResult(relation: Relation): boolean {
  return leavesOf(relation).every((leaf) => sideOf(leaf) === 'proposed')
}

function sideOf(leaf: Relation) {
  return kindOf(leaf).onResultOfWrite
}

/** The parts of these relations, and what looks at the same fields. */
function changingLeaves(named: readonly Relation[], onTheRight: ReadonlySet<string>): readonly Relation[] {
  const parts = named.filter(({ name }) => onTheRight.has(name)).flatMap(leavesOf)
  const fields = new Set(parts.flatMap(comparedFields))
  return named.flatMap(leavesOf).filter((leaf) => comparedFields(leaf).some((field) => fields.has(field)))
}
