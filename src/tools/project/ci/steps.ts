/** The steps of a workflow: each has its result, whatever became of the others. */

import { type FoundNeed, needSentence } from '../../../analysis/approvals/needs.ts'
import { Incomparable } from '../../../analysis/diff/compare-decisions.ts'
import { countsOf, type FAIL_ON, fails, type PolicyDiff } from '../../../analysis/diff/compare-policies.ts'
import { type Diagnostic, FileError, formatDiagnostic } from '../../../base/diagnostic.ts'
import { markdownText, say } from '../../../present/phrase.ts'
import { printable } from '../../../present/quote.ts'
import { markdownTable } from '../../../present/report.ts'
import type { SarifRun } from '../../../present/sarif.ts'
import { count, percentText } from '../../../present/text.ts'
import { loadResources } from '../../../resources/load/load-resources.ts'
import { CHECK_FORMATS, checkPolicy } from '../../check/check-policy.ts'
import { DIFF_FORMATS } from '../../diff/formats.ts'
import { ToolError } from '../../load-policy.ts'
import { measureCoverage, partsOf, percentOf } from '../../matrix/coverage/coverage.ts'
import { COVERAGE_FORMATS } from '../../matrix/coverage/report.ts'
import { readPredictedSuite } from '../../matrix/predict/suite.ts'
import { matrixFindings, matrixSarif, REPORTS } from '../../matrix/report/reports.ts'
import { countOf, isGreen, type Run } from '../../matrix/run/result.ts'
import { checkSchemas, SCHEMA_CHECK_FORMATS } from '../../schema/check/check-schemas.ts'
import { SCHEMA_DIFF_FORMATS } from '../../schema/diff/formats.ts'
import type { ProjectFolders } from './check-staged.ts'
import { compareWithBase } from './compare-base.ts'
import type { Base } from './occasion.ts'

export const STEPS = { check: 'files', diff: 'change', matrix: 'matrices', coverage: 'coverage' } as const

/** 0: as wanted; 1: something to fix; 2: could not run. As the exit codes of commands. */
export type StepCode = 0 | 1 | 2

export interface JobStep {
  readonly name: keyof typeof STEPS
  readonly code: StepCode
  /** One line, which may have words of the files. */
  readonly result: string
  /** For the log. */
  readonly text: string
  /** Places in the files, for annotations. */
  readonly findings: readonly Diagnostic[]
  readonly sarif?: (placed: (finding: Diagnostic) => Diagnostic) => SarifRun
  /** Markdown whose words of files are only words. */
  readonly markdown?: string
  /** Whether the change has something to report about this. */
  readonly changes?: boolean
  readonly outputs: Readonly<Record<string, number>>
}

export interface JobWishes extends ProjectFolders {
  readonly now: Date
  readonly failOn: 'error' | 'warning'
  readonly diffFailOn?: (typeof FAIL_ON)[number] | undefined
  /** Percent; coverage is measured if one of them is given. */
  readonly min?: number | undefined
  readonly minRules?: number | undefined
  readonly findBase: () => Promise<Base>
  readonly testMatrices: () => Promise<Run>
}

/** In their order. Rejects never. */
export async function runSteps(wanted: JobWishes): Promise<readonly JobStep[]> {
  const check = await attempt('check', () => checkStep(wanted))
  // Whatever reads faulty files would only repeat the faults.
  const work = (name: JobStep['name'], step: (wanted: JobWishes) => Promise<JobStep>) =>
    check.outputs.errors ? notRun(name) : attempt(name, () => step(wanted))
  const steps = [check, await work('diff', diffStep), await work('matrix', matrixStep)]
  const isMeasured = wanted.min !== undefined || wanted.minRules !== undefined
  return isMeasured ? [...steps, await work('coverage', coverageStep)] : steps
}

function notRun(name: JobStep['name']): JobStep {
  return { name, code: 0, result: 'not run: the files have errors', text: '', findings: [], outputs: {} }
}

async function attempt(name: JobStep['name'], work: () => Promise<JobStep>): Promise<JobStep> {
  try {
    return await work()
  } catch (error) {
    const { message, stack = message } = error instanceof Error ? error : new Error(String(error))
    const isForPeople = [ToolError, FileError, Incomparable].some((known) => error instanceof known)
    const findings = error instanceof FileError ? error.diagnostics : []
    const result = findings.length > 0 ? count(findings.length, 'fault') : message
    const text = findings.length > 0 ? findings.map((one) => printable(formatDiagnostic(one))).join('\n') : undefined
    return { name, code: 2, result, text: text ?? (isForPeople ? message : stack), findings, outputs: {} }
  }
}

async function checkStep({ policies, schemas, now, failOn }: JobWishes): Promise<JobStep> {
  const inSchemas = await checkSchemas(schemas)
  const ofSchemas = inSchemas.errors > 0
  const formats = ofSchemas ? SCHEMA_CHECK_FORMATS : CHECK_FORMATS
  const report = ofSchemas
    ? inSchemas
    : await checkPolicy({ policies, resources: await loadResources(schemas), users: undefined, now })
  const { errors, warnings, findings } = report
  return {
    name: 'check',
    code: errors > 0 || (failOn === 'warning' && warnings > 0) ? 1 : 0,
    result: `${count(errors, 'error')}, ${count(warnings, 'warning')}`,
    text: formats.text(report),
    findings,
    sarif: (placed) => formats.run({ ...report, findings: findings.map(placed), sources: placedNames(report, placed) }),
    outputs: { errors, warnings },
  }
}

/** The texts by the names that placed findings have. */
function placedNames(
  { sources }: { readonly sources: ReadonlyMap<string, string> },
  placed: (finding: Diagnostic) => Diagnostic,
): ReadonlyMap<string, string> {
  const nameOf = (file: string) => placed({ file, line: 1, column: 1, code: '', severity: 'error', message: '' }).file
  return new Map([...sources].map(([name, text]) => [nameOf(name), text]))
}

function resultOf(policies: PolicyDiff): string {
  if (policies.refusals.length > 0) return `refused by ${count(policies.refusals.length, 'guarantee')}`
  const changed = Object.entries(countsOf(policies)).filter(([, number]) => number > 0)
  return changed.length === 0
    ? 'decides every request as before'
    : changed.map((one) => one.toReversed().join(' ')).join(', ')
}

async function diffStep({ findBase, diffFailOn, now, ...folders }: JobWishes): Promise<JobStep> {
  const base = await findBase()
  const none = { name: 'diff', findings: [], outputs: {} } as const
  // A change that must not widen anything can't pass unseen.
  const unseen = diffFailOn === undefined ? 0 : 2
  if ('missing' in base) return { ...none, code: unseen, result: `not compared: ${base.missing}`, text: '' }
  const { policies, needs = [], schemas, remark } = await compareWithBase(base.commit, folders, now)
  const ofSchemas = schemas && schemas.changes.length > 0 ? schemas : undefined
  const ofPolicies = policies && DIFF_FORMATS.text(policies)
  const shown = [ofPolicies, needsText(needs), ofSchemas && SCHEMA_DIFF_FORMATS.text(ofSchemas), remark]
  if (!policies) return { ...none, code: unseen, result: remark ?? '', text: remark ?? '', changes: true }
  const { refusals } = policies
  const counts = countsOf(policies)
  const isChanged = policies.changes.length > 0
  const schemasMarkdown = ofSchemas && SCHEMA_DIFF_FORMATS.markdown(ofSchemas)
  return {
    ...none,
    code: refusals.length > 0 || (diffFailOn !== undefined && fails(policies, diffFailOn)) ? 1 : 0,
    findings: refusals.map(({ fault }) => fault),
    result: resultOf(policies),
    text: shown.filter((text) => text !== undefined).join('\n'),
    markdown: [needsMarkdown(needs), schemasMarkdown, isChanged && DIFF_FORMATS.markdown(policies)]
      .filter(Boolean)
      .join('\n'),
    changes: isChanged || ofSchemas !== undefined || needs.length > 0,
    outputs: counts,
  }
}

const NEEDED = 'By approvals.yaml of the base, this change needs the approval of'

/** Both are undefined for a change that needs nobody. */
function needsText(needs: readonly FoundNeed[]): string | undefined {
  if (needs.length === 0) return undefined
  return `${NEEDED}\n${needs.map((need) => `  ${printable(needSentence(need))}\n`).join('')}`
}

function needsMarkdown(needs: readonly FoundNeed[]): string | undefined {
  if (needs.length === 0) return undefined
  const rows = needs.map((need) => [markdownText(say`${needSentence(need)}`)])
  return `${markdownTable({ head: [NEEDED], rows, more: { where: 'the log of the job has', column: 0 } })}\n`
}

async function matrixStep({ testMatrices }: JobWishes): Promise<JobStep> {
  const run = await testMatrices()
  const { passed, failed, impossible } = countOf(run.results)
  const findings = matrixFindings(run)
  return {
    name: 'matrix',
    code: isGreen(run) ? 0 : 1,
    result: isGreen(run)
      ? `${count(passed, 'cell')} as expected`
      : `${failed} of ${run.results.length} cells wrong, ${impossible} can't be tried`,
    text: REPORTS.text(run),
    findings,
    sarif: (placed) => matrixSarif(findings.map(placed)),
    outputs: { cells: run.results.length, 'wrong-cells': failed + impossible },
  }
}

async function coverageStep({ min = 0, minRules = 0, now, ...folders }: JobWishes): Promise<JobStep> {
  const coverage = await measureCoverage(await readPredictedSuite(folders, now.getTime()))
  const [cells, rules] = [percentOf(coverage.cells), percentOf(partsOf(coverage))]
  return {
    name: 'coverage',
    code: cells >= min && rules >= minRules ? 0 : 1,
    result: `${percentText(cells)} % of cells (at least ${min}), ${percentText(rules)} % of rules (at least ${minRules})`,
    text: COVERAGE_FORMATS.text(coverage),
    findings: [],
    outputs: { 'coverage-cells': Number(percentText(cells)), 'coverage-rules': Number(percentText(rules)) },
  }
}
