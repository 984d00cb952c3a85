/** Checks what is staged of a project: schemas, then the policy, then the expectations, each as far as it can be read. */
import { stat } from 'node:fs/promises'
import { type Diagnostic, MOST_FAULTS, type Place } from '../../../base/diagnostic.ts'
import type { FindingReport } from '../../../present/findings.ts'
import { loadResources } from '../../../resources/load/load-resources.ts'
import { checkPolicy } from '../../check/check-policy.ts'
import { orFaults } from '../../load-policy.ts'
import { answers, describe } from '../../matrix/predict/compare-answer.ts'
import { isPredictable, walkCase } from '../../matrix/predict/expectations-met.ts'
import { predictStated } from '../../matrix/predict/predict-cell.ts'
import { type PredictedSuite, readPredictedSuite } from '../../matrix/predict/suite.ts'
import type { Case } from '../../matrix/read/cases.ts'
import { type Expectation, expectedText } from '../../matrix/read/expectation.ts'
import { titleOf } from '../../matrix/run/run-cell.ts'
import { checkSchemas } from '../../schema/check/check-schemas.ts'
import { withStaged } from './staged-files.ts'

export interface ProjectFolders {
  readonly policies: string
  readonly schemas: string
  /** Folders or files, which may be missing. */
  readonly matrices: readonly string[]
}

/** Undefined if nothing of the project is staged. Throws ToolError. */
export async function checkStaged(folders: ProjectFolders, now: Date): Promise<FindingReport | undefined> {
  const { policies, schemas, matrices } = folders
  return withStaged([policies, schemas, ...matrices], async () => {
    const schemaReport = await checkSchemas(schemas)
    if (schemaReport.errors > 0) return schemaReport
    const resources = await loadResources(schemas)
    const report = await checkPolicy({ policies, resources, users: undefined, now })
    return report.errors > 0 ? report : withUnmet(report, folders, now)
  })
}

async function withUnmet(report: FindingReport, folders: ProjectFolders, now: Date): Promise<FindingReport> {
  const found = await Promise.all(folders.matrices.map((path) => stat(path).catch(() => undefined)))
  const matrices = folders.matrices.filter((_, i) => found[i])
  const unmet = await orFaults(
    async () => unmetFindings(await readPredictedSuite({ ...folders, matrices }, now.getTime())),
    ({ diagnostics }) => diagnostics,
  )
  const findings = [...report.findings, ...unmet]
  return {
    ...report,
    findings: findings.slice(0, MOST_FAULTS),
    errors: unmet.length,
    more: report.more + Math.max(0, findings.length - MOST_FAULTS),
  }
}

// ---- The cells and cases that the policy answers otherwise: a prediction finds them in a moment.

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
