/** A policy's answer to one cell of a matrix, and whether it is the expected answer. */
import { type RouteMethod, routeMethodsOf } from '../../../decide/callers-and-routes.ts'
import type { Policy } from '../../../decide/policy.ts'
import type { Resources } from '../../../resources/resource.ts'
import { createRouteMatcher } from '../../../resources/routing/match-route.ts'
import { type Expectation, isUnconditional, relationsIn } from '../read/expectation.ts'
import type { Cell, FixtureOf } from './cell-fixture.ts'
import { type AnsweredRequest, answers } from './compare-answer.ts'
import { createPredict, type EvaluatedPolicy, type Predict } from './predict.ts'

/** The data that all cells share. */
export interface Predictor {
  readonly resources: Resources
  readonly routeMethods: ReadonlyMap<string, RouteMethod>
  readonly fixtureOf: FixtureOf
  readonly predict: Predict
  readonly match: ReturnType<typeof createRouteMatcher>
  /** Milliseconds since the epoch. */
  readonly now: number
}

export type Prediction =
  | ({ readonly kind: 'answer' } & AnsweredRequest)
  | { readonly kind: 'impossible' | 'unsolved'; readonly why: string }

export function predictorOf(resources: Resources, fixtureOf: FixtureOf, now: number): Predictor {
  const routeMethods = new Map(
    routeMethodsOf(resources).map((routeMethod) => [`${routeMethod.method} ${routeMethod.route.path}`, routeMethod]),
  )
  return {
    resources,
    routeMethods,
    fixtureOf,
    predict: createPredict(resources),
    match: createRouteMatcher(resources.routes),
    now,
  }
}

/**
 * `impossible`: no route has the path, or no object can have these relations. `unsolved`: no such object was found.
 */
export async function predictCell(predictor: Predictor, evaluated: EvaluatedPolicy, cell: Cell): Promise<Prediction> {
  const { routeMethods, predict } = predictor
  const stranger = cell.column.kind === 'roles' && cell.column.roles.find((role) => !evaluated.policy.roles.has(role))
  if (stranger) return { kind: 'impossible', why: `roles.yaml declares no role \`${stranger}\`` }
  const fixture = predictor.fixtureOf(evaluated.policy, cell)
  if (fixture.kind !== 'solved') return fixture
  const routeMethod = routeMethods.get(`${cell.method} ${cell.path}`)
  if (!routeMethod) return { kind: 'answer', answer: { status: 405, objects: new Map() }, request: undefined }
  const how = { conditional: !cell.unconditional, event: cell.event }
  const request = { evaluated, routeMethod, ...how, ...fixture.request }
  return { kind: 'answer', answer: await predict(request), request }
}

/** The request of a cell, set up as a policy means it; undefined if it can't be set up or no endpoint answers it. */
export function requestOfCell({ fixtureOf, routeMethods }: Predictor, policy: Policy, cell: Cell) {
  const fixture = fixtureOf(policy, cell)
  const routeMethod = routeMethods.get(`${cell.method} ${cell.path}`)
  if (fixture.kind !== 'solved' || !routeMethod) return undefined
  return { ...fixture.request, routeMethod, conditional: !cell.unconditional }
}

/** The answer to a stated cell. A list also holds objects that only the expectation tells apart. */
export function predictStated(
  predictor: Predictor,
  evaluated: EvaluatedPolicy,
  expectation: Expectation,
): Promise<Prediction> {
  const apart = relationsIn(expectation.expected.list)
  const how = { unconditional: isUnconditional(expectation), ...(apart.length > 0 && { apart }) }
  return predictCell(predictor, evaluated, { ...expectation, ...how })
}

/** Whether the policy answers as expected; false if the cell can't be set up. */
export async function holds(
  predictor: Predictor,
  evaluated: EvaluatedPolicy,
  expectation: Expectation,
): Promise<boolean> {
  const prediction = await predictStated(predictor, evaluated, expectation)
  return prediction.kind === 'answer' && answers(prediction, expectation.expected)
}
