/** The cells and cases that the policy answers otherwise: found without a server, so in a moment. */
import type { Diagnostic, Place } from '../../../base/diagnostic.ts'
import { answers, describe } from '../../matrix/predict/compare-answer.ts'
import { isPredictable, walkCase } from '../../matrix/predict/expectations-met.ts'
import { predictCell } from '../../matrix/predict/predict-cell.ts'
import type { PredictedSuite } from '../../matrix/predict/suite.ts'
import type { Case } from '../../matrix/read/cases.ts'
import { type Expectation, expectedText, isUnconditional } from '../../matrix/read/expectation.ts'
import { titleOf } from '../../matrix/run/run-cell.ts'

/** Cases with headers, a query or a JSON Patch are left out: only a server can answer them. */
export async function unmetFindings(suite: PredictedSuite): Promise<readonly Diagnostic[]> {
  const found = [
    ...suite.expectations.map((one) => unmetCell(suite, one)),
    ...suite.cases.filter(isPredictable).map((one) => unmetCase(suite, one)),
  ]
  return (await Promise.all(found)).flat()
}

async function unmetCell(
  { predictor, evaluated }: PredictedSuite,
  expectation: Expectation,
): Promise<readonly Diagnostic[]> {
  const { expected, place } = expectation
  const cell = { ...expectation, unconditional: isUnconditional(expectation) }
  const prediction = await predictCell(predictor, evaluated, cell)
  if (prediction.kind === 'answer' && answers(prediction, expected)) return []
  if (prediction.kind !== 'answer') return [wrong(place, `${titleOf(expectation)}: ${prediction.why}`)]
  const [best] = describe(prediction)
  return [wrong(place, `${titleOf(expectation)}: the policy answers ${best ? expectedText(best) : 'otherwise'}`)]
}

async function unmetCase({ predictor, evaluated }: PredictedSuite, one: Case): Promise<readonly Diagnostic[]> {
  if ((await walkCase(predictor, evaluated, one)).holds) return []
  return [wrong(one.place, `${one.name}: the policy doesn't answer each step as expected`)]
}

function wrong(place: Place, message: string): Diagnostic {
  return { ...place, code: 'cell-wrong', severity: 'error', message }
}
