/** The shipped policy, ready to be predicted. */

import { createArrange } from '../../../src/matrix/predict/arrange.ts'
import { Grants } from '../../../src/matrix/predict/grants.ts'
import { groundOf } from '../../../src/matrix/predict/predict-cell.ts'
import { sampleResources } from '../../../src/matrix/predict/samples.ts'
import { loadResources } from '../../../src/resources/load-resources.ts'
import { readSchemas } from '../../../src/resources/read-schemas.ts'
import { loadPolicy } from '../../../src/review/load-policy.ts'

const ROOT = new URL('../../../', import.meta.url).pathname

export async function shipped() {
  const resources = await loadResources(`${ROOT}schemas`)
  const { sources } = await readSchemas(`${ROOT}schemas`)
  const reviewed = await loadPolicy(`${ROOT}policies`, resources)
  const samples = sampleResources(sources, resources)
  const arrange = createArrange({ resources, samples, bodyOf: () => undefined })
  const now = Date.now()
  return {
    ...reviewed,
    resources,
    samples,
    now,
    ground: groundOf(resources, arrange, now),
    grants: new Grants(reviewed.policy, now),
  }
}
