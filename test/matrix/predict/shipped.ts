/** The shipped policy, ready to be predicted. */

import { loadResources } from '../../../src/resources/load/load-resources.ts'
import { loadPolicy } from '../../../src/tools/load-policy.ts'
import { sampleResources } from '../../../src/tools/matrix/fixture/samples.ts'
import { createFixtures } from '../../../src/tools/matrix/predict/cell-fixture.ts'
import { evaluatePolicy } from '../../../src/tools/matrix/predict/predict.ts'
import { predictorOf } from '../../../src/tools/matrix/predict/predict-cell.ts'

const ROOT = new URL('../../../', import.meta.url).pathname

export async function shipped() {
  const resources = await loadResources(`${ROOT}schemas`)
  const reviewed = await loadPolicy(`${ROOT}policies`, resources)
  const samples = sampleResources(resources)
  const now = Date.now()
  const fixtureOf = createFixtures({ resources, samples, bodyOf: () => undefined, now })
  return {
    ...reviewed,
    resources,
    samples,
    now,
    predictor: predictorOf(resources, fixtureOf, now),
    evaluated: evaluatePolicy(reviewed.policy, resources, now),
  }
}
