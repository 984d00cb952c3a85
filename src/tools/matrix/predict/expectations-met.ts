/** The expectations that the current policy meets; only these can notice a change of it. */
import type { Place } from '../../../base/diagnostic.ts'
import type { Case } from '../read/cases.ts'
import type { EvaluatedPolicy } from './predict.ts'
import { holdsCase, isPredictable, walkCase } from './predict-case.ts'
import { holds } from './predict-cell.ts'
import type { PredictedSuite } from './suite.ts'

/** One expectation: the decisions that it is about, and whether it holds under another policy. */
export interface Stated {
  readonly place: Place
  /** Names of resources and their actions. */
  readonly asks: readonly { readonly resource: string; readonly action: string }[]
  /** Whether it asks for a list, which needs an object for each way to relate to one. */
  readonly isList: boolean
  holds(evaluated: EvaluatedPolicy): Promise<boolean>
}

export interface Statements {
  readonly met: readonly Stated[]
  /** How many expectations the current policy doesn't meet. */
  readonly unmet: number
  /** How many cases can't be predicted. */
  readonly unpredictable: number
}

export async function statementsOf(suite: PredictedSuite): Promise<Statements> {
  const predictable = suite.cases.filter(isPredictable)
  const stated = [...statedCells(suite), ...(await statedCases(suite, predictable))]
  const met: Stated[] = []
  for (const one of stated) if (await one.holds(suite.evaluated)) met.push(one)
  return { met, unmet: stated.length - met.length, unpredictable: suite.cases.length - predictable.length }
}

function statedCells({ predictor, expectations }: PredictedSuite): readonly Stated[] {
  return expectations.map((expectation) => {
    const routeMethod = predictor.routeMethods.get(`${expectation.method} ${expectation.path}`)
    const { name = '' } = routeMethod?.resource ?? {}
    // Rules about reading decide what the answer to a write shows, and what is concealed.
    const actions = routeMethod ? new Set([routeMethod.action.name, 'read']) : []
    return {
      place: expectation.place,
      asks: [...actions].map((action) => ({ resource: name, action })),
      isList: routeMethod?.endpoint.operation === 'list',
      holds: (evaluated) => holds(predictor, evaluated, expectation),
    }
  })
}

async function statedCases(
  { predictor, evaluated }: PredictedSuite,
  cases: readonly Case[],
): Promise<readonly Stated[]> {
  const stated = cases.map(async (one) => {
    const { resources } = await walkCase(predictor, evaluated, one)
    return {
      place: one.place,
      asks: [...resources].flatMap((name) =>
        [...(predictor.resources.byName.get(name)?.actions.keys() ?? [])].map((action) => ({ resource: name, action })),
      ),
      isList: false,
      holds: (other: EvaluatedPolicy) => holdsCase(predictor, other, one),
    }
  })
  return Promise.all(stated)
}

/** `unasked`: the number of possible cells for which no object was found. */
type LeftOut = Pick<Statements, 'unmet' | 'unpredictable'> & { readonly unasked: number }

export function leftOutLines({ unmet, unpredictable, unasked }: LeftOut): readonly string[] {
  const red = `${unmet} expectations were left out, because the present policy does not meet them`
  const cases = `${unpredictable} cases with headers, a query or a JSON Patch`
  const steps = `${cases} were left out, because only a server can answer them`
  const open = `${unasked} cells can't be asked, so no expectation can notice a mistake there`
  return [
    ...(unmet > 0 ? [`${red}: run sallyport matrix test to see them`] : []),
    ...(unpredictable > 0 ? [steps] : []),
    ...(unasked > 0 ? [`${open}: run sallyport matrix coverage to list them`] : []),
  ]
}
