/** A run of matrices as text for a terminal and JSON for programs; the files beside make the other reports. */
import { writeFile } from 'node:fs/promises'
import { printable } from '../../../present/quote.ts'
import { jsonText, table } from '../../../present/text.ts'
import { ToolError } from '../../load-policy.ts'
import { columnText, expectedText, objectText, whenText } from '../read/expectation.ts'
import { transitionText } from '../read/transition.ts'
import { type Counts, countOf, countsByFile, isGreen, type Result, type Run, type TestOutcome } from '../run/result.ts'
import { type Cause, causesOf, sentenceOf } from './causes.ts'
import { toJunit } from './junit.ts'
import { toHtml } from './page.ts'
import { toSarif } from './sarif.ts'

/** By format. */
export const REPORTS = {
  text: toText,
  junit: toJunit,
  json: toJson,
  html: toHtml,
  sarif: toSarif,
} as const

interface ReportRequest {
  readonly format: keyof typeof REPORTS
  readonly file: string
}

/** Throws ToolError if a file can't be written. */
export async function writeReports(requests: readonly ReportRequest[], run: Run): Promise<void> {
  for (const { format, file } of requests) await write(file, REPORTS[format](run))
}

async function write(file: string, text: string): Promise<void> {
  await writeFile(file, text).catch((error: NodeJS.ErrnoException) => {
    throw new ToolError(
      `the report \`${file}\` can't be written (${error.code}): name a file in a folder that you may write to`,
    )
  })
}

const HEADS: Readonly<Record<TestOutcome, string>> = {
  passed: 'as expected',
  failed: 'wrong',
  impossible: "can't be tried",
  'left-out': 'left out',
}
const OUTCOMES: readonly TestOutcome[] = ['passed', 'failed', 'impossible', 'left-out']

/** What isn't as expected, a line for each file, and one line for all. */
function toText(run: Run): string {
  const parts = [...causesOf(run.results).map(causeText), tableText(run), ...run.remarks, conclusion(run)]
  return parts.map((part) => `${part}\n`).join('\n')
}

/** Reports many cells of one cause together, with one command for details. */
function causeText(cause: Cause): string {
  const [first, ...more] = cause.results
  if (more.length === 0) return resultText(first)
  const cells = cause.results.map(({ place, title }) => `  ${place.file}:${place.line}:${place.column}  ${title}`)
  return [sentenceOf(cause), ...cells, ...(first.explain ? [`  why: ${first.explain}`] : [])].map(printable).join('\n')
}

function resultText({ place, title, why, explain }: Result): string {
  const where = `${place.file}:${place.line}:${place.column}`
  const lines = [`${where}  ${title}`, `  ${why ?? ''}`, ...(explain ? [`  why: ${explain}`] : [])]
  return lines.map(printable).join('\n')
}

function tableText(run: Run): string {
  const counted = [...countsByFile(run)]
  const shown = OUTCOMES.filter((outcome) => outcome === 'passed' || counted.some(([, counts]) => counts[outcome] > 0))
  const numbers = (counts: Counts) => shown.map((outcome) => String(counts[outcome]))
  const head = ['file', ...shown.map((outcome) => HEADS[outcome])]
  return table([head, ...counted.map(([file, counts]) => [printable(file), ...numbers(counts)])], 1).join('\n')
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

/** The shape is in docs/schemas/matrix-test.schema.json. */
function toJson(run: Run): string {
  const { results, milliseconds, startedAt, url, remarks } = run
  const report = {
    ...(url === undefined ? {} : { url }),
    startedAt,
    milliseconds: Math.round(milliseconds),
    counts: countOf(results),
    files: [...countsByFile(run)].map(([file, counts]) => ({ file, counts })),
    remarks,
    results: results.map(resultJson),
  }
  return jsonText(report)
}

function resultJson({
  kind,
  title,
  place,
  outcome,
  why,
  cause,
  explain,
  exchanges,
  milliseconds,
  expectation,
  status,
}: Result) {
  return {
    kind,
    title,
    place,
    outcome,
    ...(why === undefined ? {} : { why }),
    ...(cause === undefined ? {} : { cause }),
    ...(explain === undefined ? {} : { explain }),
    ...(status === undefined ? {} : { status }),
    milliseconds: Math.round(milliseconds * 1000) / 1000,
    ...(expectation ? { cell: cellJson(expectation) } : {}),
    exchanges,
  }
}

function cellJson(expectation: NonNullable<Result['expectation']>) {
  const { method, path, object, column, when, whenNot, becomes, body, note, expected } = expectation
  return {
    method,
    path,
    object: objectText(object),
    column: columnText(column),
    ...((when ?? whenNot) ? { when: whenText(expectation) } : {}),
    ...(becomes ? { becomes: transitionText(expectation) } : {}),
    ...(body === undefined ? {} : { body }),
    ...(note === undefined ? {} : { note }),
    expected: expectedText(expected),
  }
}
