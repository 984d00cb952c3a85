/** What matrix commands read from disk once: the policy, the schemas, and the expectations with their bodies. */
import type { Policy } from '../../../decide/policy.ts'
import type { PolicyFiles } from '../../../policy/policy-files.ts'
import { loadResources } from '../../../resources/load/load-resources.ts'
import type { Resources } from '../../../resources/resource.ts'
import { loadPolicy } from '../../load-policy.ts'
import { type SamplesOf, sampleResources, withCompared } from '../fixture/samples.ts'
import { type Case, readCases } from '../read/cases.ts'
import type { Expectation } from '../read/expectation.ts'
import { type Bodies, findMatrixFiles, objectIn, readBodies, readMatrices } from '../read/read-matrices.ts'
import { createFixtures } from './cell-fixture.ts'
import { type EvaluatedPolicy, evaluatePolicy } from './predict.ts'
import { type Predictor, predictorOf } from './predict-cell.ts'

/** Where the policy and schema files are. */
export interface Folders {
  readonly policies: string
  readonly schemas: string
}

/** The files that expectations are tested against. */
export interface Suite {
  readonly folders: Folders
  readonly policy: Policy
  readonly files: PolicyFiles
  readonly resources: Resources
  readonly samples: SamplesOf
  readonly bodies: Bodies
}

/** A suite whose answers are predicted from the policy, without a server. */
export interface PredictedSuite extends Suite {
  readonly predictor: Predictor
  readonly evaluated: EvaluatedPolicy
  readonly expectations: readonly Expectation[]
  readonly cases: readonly Case[]
}

/** Throws FileError for files that the server would refuse, and ToolError without a policy. */
export async function loadSuite(folders: Folders, cells: readonly Expectation[]): Promise<Suite> {
  const { policies, schemas } = folders
  const resources = await loadResources(schemas)
  const { policy, files } = await loadPolicy(policies, resources)
  const samples = sampleResources(resources)
  return { folders: { policies, schemas }, policy, files, resources, samples, bodies: await readBodies(cells) }
}

/**
 * `matrices`: folders with matrices, or matrices. `now` is milliseconds since the epoch. Throws FileError and
 * ToolError.
 */
export async function readPredictedSuite(
  { matrices, ...folders }: Folders & { readonly matrices: readonly string[] },
  now: number,
): Promise<PredictedSuite> {
  const found = await findMatrixFiles(matrices)
  const [expectations, cases] = await Promise.all([readMatrices(found.matrices), readCases(found.cases)])
  return { ...predictedSuite(await loadSuite(folders, expectations), now), expectations, cases }
}

/** Predictions also try the values that the policy compares. */
export function predictedSuite(suite: Suite, now: number): Omit<PredictedSuite, 'expectations' | 'cases'> {
  const { policy, resources, bodies } = suite
  const samples = withCompared(suite.samples, resources, policy)
  const fixtureOf = createFixtures({ resources, samples, bodyOf: (file) => objectIn(bodies, file), now })
  return {
    ...suite,
    samples,
    predictor: predictorOf(resources, fixtureOf, now),
    evaluated: evaluatePolicy(policy, resources, now),
  }
}
