/** The steps of a workflow: each has its result, whatever became of the others. */

import { type FoundNeed, needSentence, type UnmetNeed, unmetNeeds } from '../../../analysis/approvals/needs.ts'
import { Incomparable } from '../../../analysis/diff/compare-decisions.ts'
import { countsOf, type FAIL_ON, fails, type PolicyDiff } from '../../../analysis/diff/compare-policies.ts'
import { type Diagnostic, FileError, formatDiagnostic } from '../../../base/diagnostic.ts'
import type { Approvals } from '../../../decide/policy.ts'
import { approversFor } from '../../../policy/parse/parse-approvals.ts'
import { markdownText, say } from '../../../present/phrase.ts'
import { namesText, printable } from '../../../present/quote.ts'
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
import type { Approvers } from './reviews.ts'

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
  /** Who has approved the pull request. */
  readonly findApprovers: () => Promise<Approvers>
  /** Whether a change fails without the approvals that it needs. */
  readonly requireApprovals: boolean
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

async function diffStep({ findBase, diffFailOn, now, ...wishes }: JobWishes): Promise<JobStep> {
  const base = await findBase()
  const none = { name: 'diff', findings: [], outputs: {} } as const
  // A change that must not widen anything can't pass unseen.
  const unseen = diffFailOn === undefined ? 0 : 2
  if ('missing' in base) return { ...none, code: unseen, result: `not compared: ${base.missing}`, text: '' }
  const { policies, needs = [], approvals, schemas, remark } = await compareWithBase(base.commit, wishes, now)
  const stand = await standOf(needs, approvals, wishes)
  const ofSchemas = schemas && schemas.changes.length > 0 ? schemas : undefined
  const ofPolicies = policies && DIFF_FORMATS.text(policies)
  const shown = [ofPolicies, needsText(stand), ofSchemas && SCHEMA_DIFF_FORMATS.text(ofSchemas), remark]
  if (!policies) return { ...none, code: unseen, result: remark ?? '', text: remark ?? '', changes: true }
  const { refusals } = policies
  const counts = countsOf(policies)
  const isChanged = policies.changes.length > 0
  const schemasMarkdown = ofSchemas && SCHEMA_DIFF_FORMATS.markdown(ofSchemas)
  return {
    ...none,
    code: Math.max(changeCode(policies, diffFailOn), wishes.requireApprovals ? approvalCode(stand) : 0) as StepCode,
    findings: refusals.map(({ fault }) => fault),
    result: resultOf(policies),
    text: shown.filter((text) => text !== undefined).join('\n'),
    markdown: [needsMarkdown(stand), schemasMarkdown, isChanged && DIFF_FORMATS.markdown(policies)]
      .filter(Boolean)
      .join('\n'),
    changes: isChanged || ofSchemas !== undefined || needs.length > 0,
    outputs: counts,
  }
}

function changeCode(policies: PolicyDiff, failOn: JobWishes['diffFailOn']): StepCode {
  return policies.refusals.length > 0 || (failOn !== undefined && fails(policies, failOn)) ? 1 : 0
}

const NEEDED = 'By approvals.yaml of the base, this change needs the approval of'

interface NeedStand {
  readonly sentence: string
  /** In GitHub's reviews of the last commit, by people with the login of their name in approvals.yaml. */
  readonly state: string
  /** Undefined if it isn't known. */
  readonly isMet: boolean | undefined
}

async function standOf(
  needs: readonly FoundNeed[],
  approvals: Approvals | undefined,
  { findApprovers }: Pick<JobWishes, 'findApprovers'>,
): Promise<readonly NeedStand[]> {
  if (!approvals || needs.length === 0) return []
  const reviewed = await findApprovers()
  if ('unknown' in reviewed) {
    return needs.map((need) => ({
      sentence: needSentence(need),
      state: `not known: ${reviewed.unknown}`,
      isMet: undefined,
    }))
  }
  const names = [...approvals.people.keys()]
  const author = names.find((name) => name.toLowerCase() === reviewed.author) ?? ''
  const approved = names.filter((name) => reviewed.approved.includes(name.toLowerCase()))
  return needs.map((need) => {
    const [unmet] = unmetNeeds([need], approvals, { author, approved })
    const by = approversFor(need, approvals.people).filter((name) => name !== author && approved.includes(name))
    const given = by.length === 0 ? 'nobody' : namesText(by)
    return { sentence: needSentence(need), state: given + missingText(unmet), isMet: !unmet }
  })
}

function missingText(unmet: UnmetNeed | undefined): string {
  if (!unmet) return ''
  return `; ${unmet.missing} missing, ${unmet.open.length === 0 ? 'nobody is left who may' : `${namesText(unmet.open, ' or ')} may`}`
}

function approvalCode(stand: readonly NeedStand[]): StepCode {
  if (stand.some(({ isMet }) => isMet === false)) return 1
  return stand.some(({ isMet }) => isMet === undefined) ? 2 : 0
}

/** Both are undefined for a change that needs nobody. */
function needsText(stand: readonly NeedStand[]): string | undefined {
  if (stand.length === 0) return undefined
  const lines = stand.map(({ sentence, state }) => `  ${printable(sentence)}: ${printable(state)}\n`)
  return `${NEEDED}\n${lines.join('')}`
}

function needsMarkdown(stand: readonly NeedStand[]): string | undefined {
  if (stand.length === 0) return undefined
  const rows = stand.map(({ sentence, state }) => [markdownText(say`${sentence}`), markdownText(say`${state}`)])
  const head = [NEEDED, 'who has approved']
  return `${markdownTable({ head, rows, more: { where: 'the log of the job has', column: 0 } })}\n`
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
