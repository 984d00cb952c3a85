/** Everything that predictions about matrix files rest on, read from disk once. */

import { loadSchemas } from '../../../resources/load/load-resources.ts'
import type { Resources } from '../../../resources/resource.ts'
import { loadPolicy, type ReviewedPolicy } from '../../load-policy.ts'
import { objectIn, readBodies } from '../read/bodies.ts'
import type { Case } from '../read/case.ts'
import type { Expectation } from '../read/expectation.ts'
import { readCases } from '../read/read-cases.ts'
import { findMatrixFiles, readMatrices } from '../read/read-matrices.ts'
import { createArrange } from './arrange.ts'
import { Grants } from './grants.ts'
import { type Ground, groundOf } from './predict-cell.ts'
import { type SamplesOf, sampleResources, withCompared } from './samples.ts'

export interface Bench {
  readonly reviewed: ReviewedPolicy
  readonly resources: Resources
  readonly samples: SamplesOf
  readonly ground: Ground
  readonly grants: Grants
  readonly expectations: readonly Expectation[]
  readonly cases: readonly Case[]
}

export interface Folders {
  readonly policies: string
  readonly schemas: string
  /** Folders with matrices, or matrices; none for a bench without expectations. */
  readonly matrices: readonly string[]
}

/** `now` is milliseconds since the epoch. Throws FileError and ReviewError. */
export async function readBench({ policies, schemas, matrices }: Folders, now: number): Promise<Bench> {
  const { resources, sources } = await loadSchemas(schemas)
  const reviewed = await loadPolicy(policies, resources)
  const files = await findMatrixFiles(matrices)
  const [expectations, cases] = await Promise.all([readMatrices(files.matrices), readCases(files.cases)])
  const bodies = await readBodies(expectations)
  const samples = withCompared(sampleResources(sources, resources), resources, reviewed.policy)
  const arrange = createArrange({ resources, samples, bodyOf: (file) => objectIn(bodies, file) })
  const ground = groundOf(resources, arrange, now)
  return { reviewed, resources, samples, ground, grants: new Grants(reviewed.policy, now), expectations, cases }
}
