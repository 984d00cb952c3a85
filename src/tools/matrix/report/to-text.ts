/** A run for the terminal: what isn't as expected, a line a file, and one line for all. */
import { printable } from '../../../present/quote.ts'
import type { Outcome, Result } from '../run/result.ts'
import { type Counts, countOf, countsByFile, isGreen, type Run } from '../run/result.ts'
import { type Cause, causesOf, sentenceOf } from './causes.ts'

const HEADS: Readonly<Record<Outcome, string>> = {
  passed: 'as expected',
  failed: 'wrong',
  impossible: "can't be tried",
  'left-out': 'left out',
}
const OUTCOMES: readonly Outcome[] = ['passed', 'failed', 'impossible', 'left-out']

export function toText(run: Run): string {
  const parts = [...causesOf(run.results).map(causeText), table(run), ...run.remarks, conclusion(run)]
  return parts.map((part) => `${part}\n`).join('\n')
}

/** Many cells of one cause are told together, with one command that tells more. */
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

function table(run: Run): string {
  const counted = [...countsByFile(run)]
  const shown = OUTCOMES.filter((outcome) => outcome === 'passed' || counted.some(([, counts]) => counts[outcome] > 0))
  const wide = Math.max(4, ...counted.map(([file]) => file.length))
  const row = (first: string, cells: readonly string[]) =>
    [first.padEnd(wide), ...cells.map((cell, i) => cell.padStart(HEADS[shown[i] ?? 'passed'].length))].join('  ')
  const numbers = (counts: Counts) => shown.map((outcome) => String(counts[outcome]))
  return [
    row(
      'file',
      shown.map((outcome) => HEADS[outcome]),
    ),
    ...counted.map(([file, counts]) => row(printable(file), numbers(counts))),
  ].join('\n')
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
