/**
 * All possible rows of a matrix: every path and method, every set of relations to the object, every result of a write,
 * every column.
 */

import { MOST_SETS, namedRelations, possibleSets } from '../../../analysis/possible-sets.ts'
import { smallestSubsets } from '../../../base/subsets.ts'
import { type RouteMethod, routeMethodsOf } from '../../../decide/callers-and-routes.ts'
import type { Policy } from '../../../decide/policy.ts'
import { holdsForOwnRecord, leavesOf, valuesWhoeverAsks } from '../../../decide/relations/all-kinds.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'
import type { Json, Method } from '../../../resources/resource.ts'
import { actionsAbout, conditionsAbout } from '../fixture/request-fixture.ts'
import { completedSet, type Sampled, satisfiability } from '../fixture/satisfiability.ts'
import type { Cell } from '../predict/cell-fixture.ts'
import { columnText, heldIn, type MatrixColumn, type ObjectState, stateOf } from '../read/expectation.ts'
import { policiesWithLess, tellingWrites, type Write } from './telling-writes.ts'

/** A row of a matrix: methods of the same endpoint, and one situation. */
export interface AskedRow extends Situation {
  readonly routeMethod: RouteMethod
  readonly methods: readonly Method[]
  /** Absent for the smallest body; `file` is one of bodies/. */
  readonly body?: { readonly file: string; readonly content: Readonly<Record<string, Json>> }
  /** Sent without `If-Match` to a route that requires it. */
  readonly unconditional?: true
}

/**
 * One row for each difference between objects that a rule of the policy makes, and for what writes leave. `asks` chooses
 * among the methods of routes. A matrix can't write the path of `OPTIONS *`.
 */
export function rowsOf(
  policy: Policy,
  known: Sampled,
  asks: (routeMethod: RouteMethod) => boolean = () => true,
): readonly AskedRow[] {
  const routeMethods = routeMethodsOf(known.resources).filter((one) => one.route.path !== '*' && asks(one))
  return [
    ...Map.groupBy(routeMethods, ({ route, endpoint }) => `${route.path} ${endpoint.operation}`).values(),
  ].flatMap((group) => {
    const [routeMethod] = group
    if (!routeMethod) return []
    const methods = group.map(({ method }) => method)
    // One more than people read shows that there are more.
    const source = { policy, routeMethod, known }
    const situations = [statesOf, resultsOf].flatMap((some) => [...some(source).take(MOST_SETS + 1)])
    // Whoever asks with HEAD is told nothing.
    const telling = methods.filter((method) => method !== 'HEAD')
    return situations.map((one) => ({ routeMethod, methods: one.event ? telling : methods, ...one }))
  })
}

/** Whether there are more situations than those of these rows, which are about one endpoint. */
export function isCut(rows: readonly AskedRow[]): boolean {
  const results = rows.filter(({ becomes }) => becomes).length
  return results > MOST_SETS || rows.length - results > MOST_SETS
}

/** One for each method of the row. */
export function cellsOf(
  { routeMethod, methods, object, event, when, becomes, body, unconditional }: AskedRow,
  column: MatrixColumn,
): readonly Cell[] {
  const content = body && { content: body.content }
  const how = { ...(unconditional && { unconditional }), ...(event && { event }), ...(when && { when }) }
  return methods.map((method) => ({
    method,
    path: routeMethod.route.path,
    object,
    column,
    ...content,
    ...how,
    ...(becomes && { becomes }),
  }))
}

/** Cells have the same key if no rule distinguishes them, even if they send different bodies. */
export function cellKey(
  policy: Policy,
  routeMethod: RouteMethod | undefined,
  { method, path, object, column, event, when = [], becomes, unconditional = false }: Cell,
): string {
  const named = routeMethod && namedHere(policy, routeMethod)
  const counting = (some: readonly string[]) => some.filter((name) => named?.has(name))
  const conditions = routeMethod ? conditionsAbout(policy, routeMethod.resource, routeMethod.endpoint) : []
  const about = [when.filter((name) => conditions.includes(name)), becomes ? counting(becomes) : null]
  const kind = object.kind === 'relations' || object.kind === 'other' ? 'exists' : object.kind
  return JSON.stringify([
    method,
    path,
    kind,
    counting(heldIn(object)),
    columnText(column),
    ...about,
    unconditional,
    event ?? null,
  ])
}

/** The object of a request, what happens to it, the conditions that hold, and what a write makes of the object. */
export type Situation = Pick<Cell, 'object' | 'event' | 'when' | 'becomes'>

/** What the rows of an endpoint are made from. */
interface RowSource {
  readonly policy: Policy
  readonly routeMethod: RouteMethod
  readonly known: Sampled
}

function* statesOf(source: RowSource): Generator<Situation, undefined> {
  const isCollection = source.routeMethod.route.kind === 'collection'
  const objects: readonly ObjectState[] = isCollection
    ? [{ kind: 'none' }]
    : [...setsOf(source).map(stateOf), { kind: 'missing' }]
  for (const when of conditionSets(source)) for (const object of objects) yield { object, ...when }
  return undefined
}

/** Each set of the conditions that rules name, smallest first: the empty one is stated as no condition. */
function conditionSets({ policy, routeMethod }: RowSource): readonly Pick<Situation, 'when'>[] {
  const names = conditionsAbout(policy, routeMethod.resource, routeMethod.endpoint).toSorted()
  return smallestSubsets(names, MOST_SETS).map(whenOf)
}

export function whenOf(when: readonly string[]): Pick<Situation, 'when'> {
  return when.length === 0 ? {} : { when: when.toSorted() }
}

/** Each set of the relations that rules about the action tell apart, completed. */
function setsOf(source: RowSource): readonly ReadonlySet<string>[] {
  const { policy, routeMethod } = source
  const { resource } = routeMethod
  const named = namedHere(policy, routeMethod)
  const relations = [...(policy.ownership.get(resource.name)?.relations.values() ?? [])]
  const sets = possibleSets(
    relations.filter(({ name }) => named.has(name)),
    resource,
  )
  return sets.flatMap((set) => completed(source, { set, named }) ?? [])
}

/** Completes the set with relations that no rule about the action names (fixture/satisfiability.ts). */
export function completed(
  { policy: { ownership }, routeMethod: { resource, route }, known }: RowSource,
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
  const about =
    endpoint.operation === 'watch' ? actionsAbout(policy, resource, endpoint) : [action, ...(read ? [read] : [])]
  const actions = endpoint.operation === 'options' ? [] : about
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

/** What writes leave, as far as rules tell it apart. A redirect is answered before that counts; a command has one result. */
function* resultsOf(source: RowSource): Generator<Situation, undefined> {
  const { route, endpoint } = source.routeMethod
  const { operation } = endpoint
  if (route.redirect || route.command) return undefined
  if (operation === 'create') return yield* createdOf(source)
  // What is seen of each object: the other events follow from that.
  if (operation === 'watch') return yield* createdOf(source).map((one) => ({ ...one, event: 'created' as const }))
  const situations = writesByTerm(source)
  yield* new Map(situations.map((one) => [JSON.stringify(one), one])).values()
  return undefined
}

/** By path and operation. */
const found = new WeakMap<Policy, Map<string, readonly Situation[]>>()

/** For each rule with a right side, and for each of its terms, a write that it decides. */
function writesByTerm(source: RowSource): readonly Situation[] {
  const { policy, routeMethod } = source
  const key = `${routeMethod.route.path} ${routeMethod.endpoint.operation}`
  const known = found.getOrInsertComputed(policy, () => new Map<string, readonly Situation[]>())
  return known.getOrInsertComputed(key, () =>
    policiesWithLess(policy, routeMethod).flatMap((less) => {
      const writes = tellingWrites([policy, less], routeMethod)
      return [...writes.flatMap((one) => situationOf(source, less, one)).take(1)]
    }),
  )
}

/**
 * A write that another policy decides otherwise, with all relations that then hold; empty if there can be no such object.
 */
export function situationOf(source: RowSource, other: Policy, { stored, result, when }: Write): readonly Situation[] {
  const { policy, routeMethod, known } = source
  const { resource, route } = routeMethod
  const named = namedHere(policy, routeMethod).union(namedHere(other, routeMethod))
  const before = completed(source, { set: stored, named })
  if (!before) return []
  const same = { resource, relations: result.union(before.difference(named)), own: route.kind === 'caller' }
  const isPossible = satisfiability(policy.ownership.get(resource.name), known, same) !== 'impossible'
  const after = isPossible ? same.relations : completed(source, { set: result, named })
  return after ? [{ object: stateOf(before), ...whenOf(when), becomes: [...after].sort() }] : []
}

/** Each set of the relations that a new object can have, as far as rules about creating tell them apart. */
function* createdOf(source: RowSource): Generator<Situation, undefined> {
  if (namedHere(source.policy, source.routeMethod).size === 0) return undefined
  const results = setsOf(source)
  for (const when of conditionSets(source)) {
    for (const result of results) yield { object: { kind: 'none' }, ...when, becomes: [...result].sort() }
  }
  return undefined
}
