/** A run of matrices as a report; page.ts shows it as a page. */

import { writeFile } from 'node:fs/promises'
import { type Diagnostic, MOST_FAULTS } from '../../../base/diagnostic.ts'
import { tryFile } from '../../../base/files/new-files.ts'
import { writingPlace } from '../../../base/files/project-file.ts'
import { systemReason } from '../../../base/files/system-reason.ts'
import type { TestCase } from '../../../present/junit.ts'
import { printable } from '../../../present/quote.ts'
import { formatsOf, type Paragraph } from '../../../present/report.ts'
import { type FindingRule, type SarifRun, sarifRun } from '../../../present/sarif.ts'
import { table } from '../../../present/text.ts'
import { ToolError } from '../../load-policy.ts'
import { columnText, expectedText, objectText, whenText } from '../read/expectation.ts'
import { transitionText } from '../read/words.ts'
import {
  type Cause,
  causesOf,
  countOf,
  countsByFile,
  type Exchange,
  isGreen,
  OUTCOME_WORDS,
  type OutcomeCounts,
  placeOf,
  type Result,
  type Run,
  sentenceOf,
  type TestOutcome,
} from '../run/result.ts'
import { runPage } from './page.ts'

/** By format. */
export const REPORTS = formatsOf((run: Run) => ({
  /** What isn't as expected, a line for each file, and one line for all. */
  text: () => [
    ...causesOf(run.results).map(causeLines),
    tableLines(run),
    ...run.remarks.map((one) => [one]),
    [conclusion(run)],
  ],
  junit: () => {
    return [...Map.groupBy(run.results, ({ place }) => place.file)].map(([name, results]) => {
      return { name, timestamp: run.startedAt, cases: results.map(testCase) }
    })
  },
  json: () => runJson(run),
  html: () => runPage(run),
  sarif: () => [matrixSarif(matrixFindings(run))],
}))

interface ReportRequest {
  readonly format: keyof typeof REPORTS
  readonly file: string
}

/** Throws ToolError if a file can't be written, and LinkOut. */
export async function writeReports(requests: readonly ReportRequest[], run: Run): Promise<void> {
  for (const { format, file } of requests) await write(file, REPORTS[format](run))
}

/** Before the run, which may take minutes. Throws as `writeReports` would. */
export async function refuseReports(requests: readonly ReportRequest[]): Promise<void> {
  for (const { file } of requests) await orUnwritable(file, () => tryFile(file))
}

async function write(file: string, text: string): Promise<void> {
  await orUnwritable(file, async () => writeFile(await writingPlace(file), text))
}

async function orUnwritable(file: string, work: () => Promise<unknown>): Promise<void> {
  await work().catch((error: NodeJS.ErrnoException) => {
    if (error.code === undefined) throw error
    throw new ToolError(
      `the report \`${file}\` can't be written (${systemReason(error.code)}): name a file in a folder that you may write to`,
    )
  })
}

const OUTCOMES: readonly TestOutcome[] = ['passed', 'failed', 'impossible', 'left-out']

/** Reports many cells of one cause together, with one command for details. */
function causeLines(cause: Cause): Paragraph {
  const [first, ...more] = cause.results
  const why = first.explain ? [`  why: ${first.explain}`] : []
  const cells = cause.results.map((result) => `${placeOf(result)}  ${result.title}`)
  const lines =
    more.length === 0 ? [...cells, `  ${first.why ?? ''}`] : [sentenceOf(cause), ...cells.map((cell) => `  ${cell}`)]
  return [...lines, ...why].map(printable)
}

function tableLines(run: Run): Paragraph {
  const counted = [...countsByFile(run.results)]
  const shown = OUTCOMES.filter((outcome) => outcome === 'passed' || counted.some(([, counts]) => counts[outcome] > 0))
  const numbers = (counts: OutcomeCounts) => shown.map((outcome) => String(counts[outcome]))
  const head = ['file', ...shown.map((outcome) => OUTCOME_WORDS[outcome])]
  return table([head, ...counted.map(([file, counts]) => [printable(file), ...numbers(counts)])], 1)
}

function conclusion(run: Run): string {
  const { passed, failed, impossible, 'left-out': left } = countOf(run.results)
  const seconds = (run.milliseconds / 1000).toFixed(1)
  const where = run.url === undefined ? 'in this process' : `at ${run.url}`
  if (isGreen(run) && passed === 1) return `The only cell is as expected (${seconds} s, ${where}).`
  if (isGreen(run)) return `All ${passed} cells are as expected (${seconds} s, ${where}).`
  const parts = [`${failed} wrong`, `${impossible} can't be tried`, ...(left > 0 ? [`${left} left out`] : [])]
  return `${passed} of ${run.results.length} cells are as expected, ${parts.join(', ')} (${seconds} s, ${where}).`
}

const TEST_OUTCOMES = { passed: 'passed', failed: 'failure', impossible: 'error', 'left-out': 'skipped' } as const

function testCase(result: Result): TestCase {
  const { title, place, outcome, milliseconds } = result
  const message = messageOf(result)
  const reason = message === undefined ? {} : { message }
  const file = `${place.file}:${place.line}`
  return { name: title, file, milliseconds, outcome: TEST_OUTCOMES[outcome], ...reason }
}

function messageOf(result: Result): string | undefined {
  const { outcome, why = '', explain, exchanges } = result
  if (outcome === 'impossible') return why
  if (outcome !== 'failed') return undefined
  return [`${placeOf(result)}: ${why}`, ...(explain ? [`why: ${explain}`] : []), ...exchanges.map(exchangeText)].join(
    '\n',
  )
}

function exchangeText({ request, answer }: Exchange): string {
  const body = request.body === undefined ? '' : ` ${JSON.stringify(request.body)}`
  const sent = `> ${request.method} ${request.url}${body}`
  return answer ? `${sent}\n< ${answer.status} ${answer.text}` : sent
}

/** The shape is in docs/schemas/matrix-test.schema.json. */
function runJson({ results, milliseconds, startedAt, url, remarks }: Run) {
  return {
    ...(url === undefined ? {} : { url }),
    startedAt,
    milliseconds: Math.round(milliseconds),
    counts: countOf(results),
    files: [...countsByFile(results)].map(([file, counts]) => ({ file, counts })),
    remarks,
    results: results.map(resultJson),
  }
}

function resultJson({ milliseconds, expectation, exchanges, predicted: _, ...told }: Result) {
  return {
    ...told,
    milliseconds: Math.round(milliseconds * 1000) / 1000,
    ...(expectation ? { cell: cellJson(expectation) } : {}),
    exchanges,
  }
}

export function cellJson(expectation: NonNullable<Result['expectation']>) {
  const { method, path, object, column, event, when, whenNot, becomes, body, note, expected } = expectation
  return {
    method,
    path,
    object: objectText(object),
    column: columnText(column),
    ...(event ? { event } : {}),
    ...((when ?? whenNot) ? { when: whenText(expectation) } : {}),
    ...(becomes ? { becomes: transitionText(expectation) } : {}),
    ...(body === undefined ? {} : { body }),
    ...(note === undefined ? {} : { note }),
    expected: expectedText(expected),
  }
}

const CODES: Readonly<Partial<Record<Result['outcome'], string>>> = {
  failed: 'cell-wrong',
  impossible: 'cell-untried',
}

const RULES: readonly FindingRule[] = [
  {
    code: 'cell-wrong',
    severity: 'error',
    meaning: 'A request is answered otherwise than its cell states',
    fix: 'Change the policy; or, if the new answer is meant, change the expectation',
  },
  {
    code: 'cell-untried',
    severity: 'error',
    meaning: 'A cell could not be tried',
    fix: 'Change the cell as its message says, or remove it',
  },
]

/** Each place is that of the expectation, because nothing else belongs to one cell alone. */
export function matrixFindings({ results }: Run): readonly Diagnostic[] {
  return results.flatMap(({ outcome, place, title, why = '' }) => {
    const code = CODES[outcome]
    return code === undefined ? [] : [{ ...place, code, severity: 'error' as const, message: `${title}: ${why}` }]
  })
}

export function matrixSarif(findings: readonly Diagnostic[]): SarifRun {
  const shown = findings.slice(0, MOST_FAULTS)
  return sarifRun('matrix test', RULES, { findings: shown, more: findings.length - shown.length })
}
