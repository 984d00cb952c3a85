/**
 * A report, as data: what each format is made of. The formats are written here, each once; a tool says what it has to
 * tell, and gives the parts of the formats that it offers.
 */
import { junitText, type TestSuite } from './junit.ts'
import { type Page, pageText } from './page.ts'
import { type SarifRun, sarifText } from './sarif.ts'
import { jsonText } from './text.ts'

/** Lines that belong together; the first may be their heading. Those without lines are left out. */
export type Paragraph = readonly string[]

interface ReportParts {
  readonly text: readonly Paragraph[]
  /** The same as lines of a table. */
  readonly table: readonly Paragraph[]
  /** Its shape is public (docs/schemas/); a text is JSON already. */
  readonly json: unknown
  readonly markdown: MarkdownReport
  readonly html: Page
  readonly sarif: readonly SarifRun[]
  readonly junit: readonly TestSuite[]
  /** Rows of cells. */
  readonly csv: readonly (readonly string[])[]
}

const RENDERERS: { readonly [F in keyof ReportParts]: (part: ReportParts[F]) => string } = {
  text: blocksText,
  table: blocksText,
  json: (value) => (typeof value === 'string' ? value : jsonText(value)),
  markdown: markdownReport,
  html: pageText,
  sarif: sarifText,
  junit: junitText,
  csv: csvText,
}

type Formats<T, R> = { readonly [F in keyof R]: (value: T) => string }

type Report = { readonly [F in keyof ReportParts]?: () => ReportParts[F] }

/** The formats of a tool, by name; a part is made only where its format is asked for. */
export function formatsOf<T, R extends Report>(reportOf: (value: T) => R): Formats<T, R> {
  const formats = Object.entries(RENDERERS).map(([format, render]) => {
    return [format, (value: T) => render(reportOf(value)[format as keyof Report]?.() as never)] as const
  })
  return Object.fromEntries(formats) as Formats<T, R>
}

export function blocksText(blocks: readonly Paragraph[]): string {
  const shown = blocks.filter((lines) => lines.length > 0)
  return `${shown.map((lines) => lines.join('\n')).join('\n\n')}\n`
}

/** A heading with lines below it; without lines, nothing. */
export function section(heading: string, lines: readonly string[], indent = '  '): Paragraph {
  return lines.length === 0 ? [] : [heading, ...lines.map((line) => (line === '' ? '' : `${indent}${line}`))]
}

/** Its texts are Markdown already (phrase.ts). */
interface MarkdownReport {
  readonly title: string
  readonly summary: string
  readonly table: MarkdownTable
}

interface MarkdownTable {
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
  /** The words behind `and 3 more`, and the column in which they stand. */
  readonly more: { readonly where: string; readonly column: number }
}

function markdownReport({ title, summary, table }: MarkdownReport): string {
  const shown = table.rows.length === 0 ? '' : `\n${markdownTable(table)}\n`
  return `### ${title}\n\n${summary}\n${shown}`
}

/** GitHub refuses a comment of more than 65,536 characters. */
const MOST_CHARACTERS = 60_000

/** The rows that fit into a comment, and how many others there are. `most` rows at most. */
export function markdownTable({ head, rows, more }: MarkdownTable, most = Number.POSITIVE_INFINITY): string {
  let left = MOST_CHARACTERS
  const shown = rows.map(rowText).filter((row, i) => {
    left -= row.length + 1
    return left >= 0 && i < most
  })
  const leftOut = rows.length - shown.length
  const last = head.map((_, i) => (i === more.column ? `and ${leftOut} more, which ${more.where}` : ''))
  return [rowText(head), rowText(head.map(() => '---')), ...shown, ...(leftOut > 0 ? [rowText(last)] : [])].join('\n')
}

function rowText(cells: readonly string[]): string {
  return `|${cells.map((cell) => (cell === '' ? ' ' : ` ${cell} `)).join('|')}|`
}

/** Spreadsheets run text that begins like this, even in quotes; they read the full-width forms like the plain ones. */
const FORMULA = /^\s*[=+\-@|\uFF1D\uFF0B\uFF0D\uFF20]|^[\t\r\n]/

/** RFC 4180; text that looks like a formula is made plain text. */
function csvText(rows: readonly (readonly string[])[]): string {
  const quoted = (text: string) => `"${(FORMULA.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`
  return rows.map((cells) => `${cells.map(quoted).join(',')}\r\n`).join('')
}
