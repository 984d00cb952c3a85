/** Findings as text for people, JSON for programs, and SARIF for code hosts. */
import type { Diagnostic } from '../base/diagnostic.ts'
import { formatsOf, type Paragraph } from './report.ts'
import { type FindingRule, sarifRun } from './sarif.ts'
import { count } from './text.ts'

export interface FindingReport {
  /** The findings that are shown, sorted by file, line, column and code. */
  readonly findings: readonly Diagnostic[]
  /** How many there are, shown or not. */
  readonly errors: number
  readonly warnings: number
  /** How many are not shown. */
  readonly more: number
  /** How many warnings were suppressed by comments. */
  readonly suppressed: number
  /** The text of every file that could be read, by the file name that findings use. */
  readonly sources: ReadonlyMap<string, string>
  /** What a check tells beside its findings. */
  readonly beside?: { readonly text: readonly Paragraph[]; readonly json: Readonly<Record<string, unknown>> }
}

/** `command`: the words behind `sallyport`; `rules`: every code that its findings can have, asked for by SARIF alone. */
export function findingFormats(command: string, rules: () => readonly FindingRule[]) {
  const run = (report: FindingReport) => sarifRun(command, rules(), report)
  const formats = formatsOf((report: FindingReport) => {
    const { errors, warnings, suppressed, more, findings, beside } = report
    return {
      text: () => blocksOf(report),
      /** The shapes are in docs/schemas/: policy-check and schema-check. */
      json: () => ({ errors, warnings, suppressed, more, findings, ...beside?.json }),
      sarif: () => [run(report)],
    }
  })
  return { ...formats, run }
}

/** How many characters of a line are shown at most on either side of the caret. */
const SHOWN = 80

/** Characters that a terminal would obey, or that change the direction of text. A replacement keeps the width. */
const CONTROL = /(?!\t)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

/** The message, the source line with a caret under the place, and what to do. At the end, the totals. */
function blocksOf(report: FindingReport): readonly Paragraph[] {
  const { findings, sources, errors, warnings, more, suppressed, beside } = report
  const lines = new Map([...sources].map(([name, text]) => [name, text.split(/\r?\n/)]))
  const blocks = findings.map((finding) => block(finding, lines.get(finding.file)?.[finding.line - 1]))
  const counts = findings.length === 0 ? 'nothing found' : `${count(errors, 'error')}, ${count(warnings, 'warning')}`
  return [
    ...blocks,
    more > 0 ? [`and ${more} more; fix these first`] : [],
    ...(beside?.text ?? []),
    [`${counts}${suppressed > 0 ? ` (${suppressed} suppressed)` : ''}`],
  ]
}

function block(finding: Diagnostic, line: string | undefined): Paragraph {
  const { file, severity, message, hint, code } = finding
  const head = `${file}:${finding.line}:${finding.column}: ${severity}: ${message} [${code}]`
  return [plain(head), ...excerpt(finding, line), ...(hint ? [`  = ${plain(hint)}`] : [])]
}

function excerpt({ line: number, column }: Diagnostic, line: string | undefined): readonly string[] {
  if (line === undefined || line.trim() === '') return []
  const from = column > SHOWN ? column - 1 - SHOWN / 2 : 0
  const shown = plain(line.slice(from, column - 1 + SHOWN))
  // A tab stays a tab, so that the caret is below its place for every tab width.
  const indent = shown.slice(0, column - 1 - from).replaceAll(/[^\t]/g, ' ')
  const label = String(number).padStart(5)
  return [`${label} | ${shown}`, `${' '.repeat(label.length)} | ${indent}^`]
}

function plain(text: string): string {
  return text.replaceAll(CONTROL, (character) => '\u{FFFD}'.repeat(character.length))
}
