/** Checks what is staged of a project: schemas, then the policy, then the expectations, each as far as it can be read. */
import { stat } from 'node:fs/promises'
import { MOST_FAULTS } from '../../../base/diagnostic.ts'
import type { FindingReport } from '../../../present/findings.ts'
import { loadResources } from '../../../resources/load/load-resources.ts'
import { checkPolicy } from '../../check/check-policy.ts'
import { orFaults } from '../../load-policy.ts'
import { unmetFindings } from '../../matrix/predict/expectations-met.ts'
import { readPredictedSuite } from '../../matrix/predict/suite.ts'
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
