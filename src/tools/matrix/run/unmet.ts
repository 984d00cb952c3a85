/** The cells and cases that a policy answers otherwise than they state: a prediction finds them in a moment. */

import type { Diagnostic, Place } from '../../../base/diagnostic.ts'
import { answers, describe } from '../predict/compare-answer.ts'
import { isPredictable, walkCase } from '../predict/expectations-met.ts'
import { predictStated } from '../predict/predict-cell.ts'
import type { PredictedSuite } from '../predict/suite.ts'
import type { Case } from '../read/cases.ts'
import { type Expectation, expectedText } from '../read/expectation.ts'
import { titleOf } from '../read/words.ts'

/** Cases with headers, a query or a JSON Patch are left out: only a server can answer them. */
export async function unmetFindings(
  suite: Pick<PredictedSuite, 'predictor' | 'evaluated' | 'expectations' | 'cases'>,
): Promise<readonly Diagnostic[]> {
  const found = [
    ...suite.expectations.map((one) => unmetCell(suite, one)),
    ...suite.cases.filter(isPredictable).map((one) => unmetCase(suite, one)),
  ]
  return (await Promise.all(found)).flat()
}

async function unmetCell(
  { predictor, evaluated }: Pick<PredictedSuite, 'predictor' | 'evaluated'>,
  expectation: Expectation,
): Promise<readonly Diagnostic[]> {
  const { expected, place } = expectation
  const prediction = await predictStated(predictor, evaluated, expectation)
  if (prediction.kind === 'answer' && answers(prediction, expected)) return []
  if (prediction.kind !== 'answer') return [wrong(place, `${titleOf(expectation)}: ${prediction.why}`)]
  const [best] = describe(prediction)
  return [wrong(place, `${titleOf(expectation)}: the policy answers ${best ? expectedText(best) : 'otherwise'}`)]
}

async function unmetCase(
  { predictor, evaluated }: Pick<PredictedSuite, 'predictor' | 'evaluated'>,
  one: Case,
): Promise<readonly Diagnostic[]> {
  if ((await walkCase(predictor, evaluated, one)).holds) return []
  return [wrong(one.place, `${one.name}: the policy doesn't answer each step as expected`)]
}

function wrong(place: Place, message: string): Diagnostic {
  return { ...place, code: 'cell-wrong', severity: 'error', message }
}
