/** The answer that a policy gives to one cell of a matrix, and whether that is what the cell expects. */

import { type Spot, spotsOf } from '../../../decide/space.ts'
import type { Resources } from '../../../resources/resource.ts'
import { type Expectation, isUnconditional } from '../read/expectation.ts'
import { predict } from './answer.ts'
import type { Arrange, Cell } from './arrangement.ts'
import { answers } from './compare-answer.ts'
import type { Grants } from './grants.ts'
import type { Answer, Situation } from './situation.ts'

/** What is the same for all cells. */
export interface Predictor {
  readonly resources: Resources
  readonly spots: ReadonlyMap<string, Spot>
  readonly arrange: Arrange
  /** Milliseconds since the epoch. */
  readonly now: number
}

export type Prediction =
  | { readonly kind: 'answer'; readonly answer: Answer; readonly situation: Situation | undefined }
  | { readonly kind: 'impossible' | 'unarranged'; readonly why: string }

export function predictorOf(resources: Resources, arrange: Arrange, now: number): Predictor {
  const spots = new Map(spotsOf(resources).map((spot) => [`${spot.method} ${spot.route.path}`, spot]))
  return { resources, spots, arrange, now }
}

/** Impossible where no route has the path, or no object can relate so; unarranged where none was found that does. */
export function predictCell(predictor: Predictor, grants: Grants, cell: Cell): Prediction {
  const { resources, spots, now } = predictor
  const route = resources.routes.find(({ path }) => path === cell.path)
  if (!route) return { kind: 'impossible', why: `no route has the path \`${cell.path}\`` }
  const stranger = cell.column.kind === 'roles' && cell.column.roles.find((role) => !grants.policy.roles.has(role))
  if (stranger) return { kind: 'impossible', why: `roles.yaml declares no role \`${stranger}\`` }
  const arranged = predictor.arrange(grants.policy, cell)
  if (arranged.kind !== 'arranged') return arranged
  const spot = spots.get(`${cell.method} ${cell.path}`)
  if (!spot) return { kind: 'answer', answer: { status: 405 }, situation: undefined }
  const situation: Situation = { grants, spot, now, conditional: !cell.unconditional, ...arranged.request }
  return { kind: 'answer', answer: predict(situation), situation }
}

/** Whether the policy answers as expected; what can't be set up isn't. */
export function holds(predictor: Predictor, grants: Grants, expectation: Expectation): boolean {
  const prediction = predictCell(predictor, grants, { ...expectation, unconditional: isUnconditional(expectation) })
  return prediction.kind === 'answer' && answers(prediction, expectation.expected)
}
