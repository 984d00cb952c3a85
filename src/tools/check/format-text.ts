/** Findings for people: the sentence, the source line with a caret under the place, what to do; at the end, how many. */
import type { Diagnostic } from '../../base/diagnostic.ts'
import type { CheckReport } from './check-policy.ts'

/** A line of a file is shown at most so far to either side of the caret. */
const SHOWN = 80

/** Files may hold what a terminal would obey, or show from right to left. Each stays one character wide. */
const CONTROL = /(?!\t)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

export function findingsText(report: CheckReport): string {
  const { findings, sources } = report
  const lines = new Map([...sources].map(([name, text]) => [name, text.split(/\r?\n/)]))
  const blocks = findings.map((finding) => block(finding, lines.get(finding.file)?.[finding.line - 1]))
  return [...blocks, summary(report)].join('\n')
}

function block(finding: Diagnostic, line: string | undefined): string {
  const { file, severity, message, hint, code } = finding
  const head = `${file}:${finding.line}:${finding.column}: ${severity}: ${message} [${code}]`
  return [plain(head), ...excerpt(finding, line), ...(hint ? [`  = ${plain(hint)}`] : []), ''].join('\n')
}

function excerpt({ line: number, column }: Diagnostic, line: string | undefined): readonly string[] {
  if (line === undefined || line.trim() === '') return []
  const from = column > SHOWN ? column - 1 - SHOWN / 2 : 0
  const shown = plain(line.slice(from, column - 1 + SHOWN))
  // A tab stays one, so that the caret is below its place however wide tabs are.
  const indent = shown.slice(0, column - 1 - from).replaceAll(/[^\t]/g, ' ')
  const label = String(number).padStart(5)
  return [`${label} | ${shown}`, `${' '.repeat(label.length)} | ${indent}^`]
}

function summary({ findings, errors, warnings, more, suppressed }: CheckReport): string {
  const counts = findings.length === 0 ? 'nothing found' : `${count(errors, 'error')}, ${count(warnings, 'warning')}`
  const unshown = more > 0 ? `and ${more} more; fix these first\n\n` : ''
  return `${unshown}${counts}${suppressed > 0 ? ` (${suppressed} suppressed)` : ''}\n`
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

function plain(text: string): string {
  return text.replaceAll(CONTROL, (character) => '\u{FFFD}'.repeat(character.length))
}
