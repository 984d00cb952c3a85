/**
 * How a caller relates to the objects of an attack: first in a way in which the policy allows the request. As many
 * conditions hold as rules about it name, so that none of them protects.
 */

import { possibleSets } from '../../../analysis/possible-sets.ts'
import { subsets } from '../../../base/subsets.ts'
import { type RouteMethod, routeMethodsOf } from '../../../decide/callers-and-routes.ts'
import { isTimed, needsCaller } from '../../../decide/relations/all-kinds.ts'
import type { RequestCondition } from '../../../decide/request-conditions/all-conditions.ts'
import type { ConditionFacts } from '../../../decide/request-conditions/condition-kind.ts'
import type { Representation, Resource } from '../../../resources/resource.ts'
import { actionsAbout, conditionsAbout, requestFixture } from '../fixture/request-fixture.ts'
import type { Cell } from '../predict/cell-fixture.ts'
import type { EvaluatedPolicy } from '../predict/predict.ts'
import { type Prediction, predictCell } from '../predict/predict-cell.ts'
import type { PredictedSuite } from '../predict/suite.ts'
import { callerIn, columnText, type KnownColumn, type MatrixColumn, stateOf } from '../read/expectation.ts'

export type Predicted = Omit<PredictedSuite, 'expectations' | 'cases'>

export interface Way {
  /** All relations that hold, sorted. */
  readonly relations: readonly string[]
  /** What the request sends, if the policy allows that; otherwise the smallest body. */
  readonly body?: Representation
  readonly isAllowed: boolean
}

/** A way of a caller who lacks one relation of a victim, and what can't hold without it. */
export interface Short {
  readonly missing: string
  readonly way: Way
}

/** How many sets of relations are tried for one way. */
const MOST_TRIED = 256

type AttackedRoute = Pick<RouteMethod, 'route' | 'method' | 'endpoint' | 'resource'>

/**
 * One way for each set of relations that hold whoever asks (such as states) and, on the object of an owner, for each
 * relation of a caller. One for which no object was found is given too, so that the report says that it wasn't tried.
 */
export function waysTo(suite: Predicted, about: AttackedRoute, column: KnownColumn): Promise<readonly Way[]> {
  return remembered(suite, ['ways', keyOf(about), columnText(column)], () => findWays(suite, about, column))
}

async function findWays(suite: Predicted, about: AttackedRoute, column: KnownColumn): Promise<readonly Way[]> {
  const { resource, route } = about
  const declared = [...(suite.policy.ownership.get(resource.name)?.relations.values() ?? [])]
  const sets = possibleSets(declared, resource, { ownRecord: route.kind === 'caller' })
  const hasOwner = declared.some(({ name }) => name === 'owner')
  const ofCaller = declared.filter(needsCaller)
  // New objects have the times that the server gives them.
  const states = declared.filter((one) => !needsCaller(one) && !isTimed(one))
  const statesIn = (set: ReadonlySet<string>) => states.flatMap(({ name }) => (set.has(name) ? [name] : [])).join('+')
  const owned = sets.filter((set) => !hasOwner || set.has('owner'))
  const groups = [
    ...Map.groupBy(owned, statesIn).values(),
    ...ofCaller.map(({ name }) => sets.filter((set) => set.has(name))),
  ]
  const found = await Array.fromAsync(groups, (some) => bestOf(suite, about, column, some))
  const ways = found.filter((way) => way !== undefined)
  return [...new Map(ways.map((way) => [way.relations.join('+'), way])).values()]
}

/**
 * For each relation to the caller in the way: the most of its relations that can hold without that one. Each way once.
 */
export async function waysShortOf(
  suite: Predicted,
  about: AttackedRoute,
  column: KnownColumn,
  way: Way,
): Promise<readonly Short[]> {
  const declared = [...(suite.policy.ownership.get(about.resource.name)?.relations.values() ?? [])]
  const within = possibleSets(declared, about.resource)
    .filter((set) => [...set].every((name) => way.relations.includes(name)))
    .toReversed()
  const droppable = declared.filter((one) => needsCaller(one) && way.relations.includes(one.name))
  const short = await Array.fromAsync(droppable, async ({ name }): Promise<readonly Short[]> => {
    for (const relations of within.filter((set) => !set.has(name)).map(sorted)) {
      const { kind } = await predicted(suite, about, { column, object: stateOf(relations) })
      if (kind === 'answer') return [{ missing: name, way: { ...way, relations, isAllowed: false } }]
    }
    return []
  })
  return short.flat()
}

/** The relations of an object that this caller may create; undefined if there are none. */
export function wayToCreate(suite: Predicted, about: AttackedRoute, column: KnownColumn): Promise<Way | undefined> {
  return remembered(suite, ['create', keyOf(about), columnText(column)], () => findCreation(suite, about, column))
}

async function findCreation(suite: Predicted, about: AttackedRoute, column: KnownColumn): Promise<Way | undefined> {
  const declared = [...(suite.policy.ownership.get(about.resource.name)?.relations.values() ?? [])]
  const sets = possibleSets(declared, about.resource).slice(0, MOST_TRIED)
  for (const relations of sets.map(sorted)) {
    const created = await predicted(suite, about, { column, object: { kind: 'none' }, becomes: relations })
    if (isSuccess(created)) return { relations, isAllowed: true }
  }
  return undefined
}

/** The request that reads an object of the resource: its item route, without a body. */
export function itemRouteOf({ resources }: Pick<Predicted, 'resources'>, { name }: Resource): RouteMethod | undefined {
  const items = routeMethodsOf(resources).filter(
    ({ resource, route }) => resource.name === name && route.kind === 'item' && !route.redirect,
  )
  return items.find(({ method }) => method === 'GET') ?? items[0]
}

async function bestOf(
  suite: Predicted,
  about: AttackedRoute,
  column: KnownColumn,
  sets: readonly ReadonlySet<string>[],
): Promise<Way | undefined> {
  const tried: TriedWay[] = []
  for (const set of sets.slice(0, MOST_TRIED)) {
    const one = await tryWay(suite, about, column, sorted(set))
    if (one.way.isAllowed) return one.way
    tried.push(one)
  }
  return (tried.find(({ kind }) => kind === 'answer') ?? tried.find(({ kind }) => kind === 'unsolved'))?.way
}

interface TriedWay {
  readonly kind: Prediction['kind']
  readonly way: Way
}

async function tryWay(
  suite: Predicted,
  about: AttackedRoute,
  column: KnownColumn,
  relations: readonly string[],
): Promise<TriedWay> {
  const object = stateOf(relations)
  const first = await predicted(suite, about, { column, object })
  if (isSuccess(first)) return { kind: 'answer', way: { relations, isAllowed: true } }
  const bodies = first.kind === 'answer' && about.method === 'PATCH' ? singleFields(suite, about) : []
  for (const body of bodies) {
    const sent = await predicted(suite, about, { column, object, content: body })
    if (isSuccess(sent)) return { kind: first.kind, way: { relations, isAllowed: true, body } }
  }
  return { kind: first.kind, way: { relations, isAllowed: false } }
}

/** Bodies with one field each. */
function singleFields({ samples }: Predicted, { resource }: AttackedRoute): readonly Representation[] {
  return [...(samples.get(resource.name)?.values ?? [])].flatMap(([field, [value]]) =>
    value === undefined || resource.fields.get(field)?.readOnly ? [] : [{ [field]: value }],
  )
}

function predicted(
  suite: Predicted,
  about: AttackedRoute,
  cell: Pick<Cell, 'column' | 'object' | 'becomes' | 'content'>,
) {
  const { route, method } = about
  const { when } = mostConditions(suite.evaluated, about, cell.column, suite.predictor.now)
  return predictCell(suite.predictor, suite.evaluated, { ...cell, path: route.path, method, when })
}

function isSuccess(prediction: Prediction): boolean {
  return prediction.kind === 'answer' && prediction.answer.status < 400
}

const known = new WeakMap<Predicted, Map<string, unknown>>()

/** Finding a way takes long, and many attacks ask for the same one. */
function remembered<T>(suite: Predicted, key: readonly string[], find: () => T): T {
  const found = known.getOrInsertComputed(suite, () => new Map())
  return found.getOrInsertComputed(key.join(' '), find) as T
}

function keyOf({ method, route }: AttackedRoute): string {
  return `${method} ${route.path}`
}

function sorted(set: ReadonlySet<string>): readonly string[] {
  return [...set].sort()
}

export interface Met {
  /** The names of the conditions that hold. */
  readonly when: readonly string[]
  readonly facts: ConditionFacts
}

/** More conditions than this aren't combined. */
const MOST = 6

/** Not their facts: a sign-in that is new enough at the beginning of a run is too old at its end. */
const whenBy = new WeakMap<EvaluatedPolicy, Map<string, readonly string[]>>()

/** The most conditions that a request of this caller can meet together. `now`: milliseconds since the epoch. */
export function mostConditions(
  evaluated: EvaluatedPolicy,
  about: Pick<AttackedRoute, 'resource' | 'endpoint'>,
  column: MatrixColumn,
  now: number,
): Met {
  const { resource, endpoint } = about
  const key = [resource.name, endpoint.operation, endpoint.action, columnText(column)].join(' ')
  const known = whenBy.getOrInsertComputed(evaluated, () => new Map())
  const before = known.get(key)
  const conditions = conditionsNamed(evaluated, about)
  const asked = { now, hasCredentials: column.kind !== 'anonymous' }
  const facts = before && requestFixture(conditions, new Set(before), asked)
  if (before && facts) return { when: before, facts }
  const met = findMost(evaluated, about, column, asked)
  known.set(key, met.when)
  return met
}

function conditionsNamed(
  { policy }: EvaluatedPolicy,
  { resource, endpoint }: Pick<AttackedRoute, 'resource' | 'endpoint'>,
): readonly RequestCondition[] {
  return conditionsAbout(policy, resource, endpoint).flatMap((name) => policy.conditions.get(name) ?? [])
}

function findMost(
  evaluated: EvaluatedPolicy,
  about: Pick<AttackedRoute, 'resource' | 'endpoint'>,
  column: MatrixColumn,
  asked: Pick<ConditionFacts, 'now' | 'hasCredentials'>,
): Met {
  const { policy, grants } = evaluated
  const { resource, endpoint } = about
  const subject = grants.subjectOf(callerIn(column))
  const tables = actionsAbout(policy, resource, endpoint).map(({ name }) => grants.table(subject, resource.name, name))
  const conditions = conditionsNamed(evaluated, about)
  const named = conditions.map(({ name }) => name)
  const counting = named.filter((name) => tables.some((table) => table.conditions.includes(name))).slice(0, MOST)
  for (const when of subsets(counting).toSorted((a, b) => b.length - a.length)) {
    const facts = requestFixture(conditions, new Set(when), asked)
    if (facts && facts.credential !== 'provider') return { when, facts }
  }
  return { when: [], facts: asked }
}
