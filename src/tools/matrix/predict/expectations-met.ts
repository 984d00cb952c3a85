/** The expectations that the current policy meets; only these can notice a change of it. */
import type { Place } from '../../../base/diagnostic.ts'
import type { EvaluatedPolicy } from './answer.ts'
import { holdsCase, isPredictable, resourcesOf } from './predict-case.ts'
import { holds } from './predict-cell.ts'
import type { PredictedSuite } from './suite.ts'

/** One expectation: the resources that it is about, and whether it holds under another policy. */
export interface Stated {
  readonly place: Place
  readonly resources: ReadonlySet<string>
  /** Whether it asks for a list, which needs an object for each way to relate to one. */
  readonly isList: boolean
  holds(evaluated: EvaluatedPolicy): boolean
}

export interface Statements {
  readonly met: readonly Stated[]
  /** How many expectations the current policy doesn't meet. */
  readonly unmet: number
  /** How many cases can't be predicted. */
  readonly unpredictable: number
}

export function statementsOf(suite: PredictedSuite): Statements {
  const predictable = suite.cases.filter(isPredictable)
  const stated = [...statedCells(suite), ...statedCases({ ...suite, cases: predictable })]
  const met = stated.filter((one) => one.holds(suite.evaluated))
  return { met, unmet: stated.length - met.length, unpredictable: suite.cases.length - predictable.length }
}

function statedCells({ predictor, expectations, resources }: PredictedSuite): readonly Stated[] {
  const routeAt = new Map(resources.routes.map((route) => [route.path, route]))
  return expectations.map((expectation) => ({
    place: expectation.place,
    resources: new Set([routeAt.get(expectation.path)?.resource ?? '']),
    isList: routeAt.get(expectation.path)?.endpoints.get(expectation.method)?.operation === 'list',
    holds: (evaluated) => holds(predictor, evaluated, expectation),
  }))
}

function statedCases({ predictor, evaluated, cases }: PredictedSuite): readonly Stated[] {
  return cases.map((one) => ({
    place: one.place,
    resources: resourcesOf(predictor, evaluated, one),
    isList: false,
    holds: (other) => holdsCase(predictor, other, one),
  }))
}

/** `unasked`: the number of possible cells for which no object was found. */
type LeftOut = Pick<Statements, 'unmet' | 'unpredictable'> & { readonly unasked: number }

export function leftOutLines({ unmet, unpredictable, unasked }: LeftOut): readonly string[] {
  const red = `${unmet} expectations were left out, because the present policy does not meet them`
  const cases = `${unpredictable} cases with headers, a query or a JSON Patch`
  const steps = `${cases} were left out, because only a server can answer them`
  const open = `${unasked} cells can't be asked, so no expectation can notice a mistake there`
  const lines = [
    ...(unmet > 0 ? [`${red}: run sallyport matrix test to see them`] : []),
    ...(unpredictable > 0 ? [steps] : []),
    ...(unasked > 0 ? [`${open}: run sallyport matrix coverage to list them`] : []),
  ]
  return lines.length === 0 ? [] : [...lines, '']
}
