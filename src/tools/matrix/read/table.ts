/** A file of a spreadsheet program as rows of cells with their places. matrix-file.ts interprets the cells. */
import { CsvError, parse } from 'csv-parse/sync'
import type { SourceFile } from '../../../base/diagnostic.ts'
import { type Diagnostic, type Place, placeAt } from '../../../base/diagnostic.ts'

export interface TableCell {
  /** Without the spaces around it. */
  readonly text: string
  readonly place: Place
}

export type TableRow = readonly TableCell[]

export type Report = (diagnostic: Diagnostic) => void

interface CsvRecord {
  readonly record: readonly string[]
  /** The text that the record was read from. */
  readonly raw: string
}

type Separator = ',' | ';'

/**
 * The rows that aren't empty, with `,` or `;` between cells (whichever is more frequent in the first line), with or
 * without a byte order mark, with any line ends. A row may have any number of cells. Faults go to `report`, and then
 * there are no rows.
 */
export function readTable(source: SourceFile, report: Report): readonly TableRow[] | undefined {
  // Editors don't count a byte order mark. A lone carriage return ends a line on old Macs.
  const text = source.text.replace(/^\uFEFF/, '').replaceAll(/\r\n?/g, '\n')
  const separator = separatorOf(text)
  let line = 1
  return recordsOf(source.name, text, separator, report)?.flatMap(({ record, raw }) => {
    const first = line
    line += raw.split('\n').length - 1
    if (record.every((cell) => cell.trim() === '')) return []
    const starts = cellStarts(raw, separator)
    const place = (cell: number): Place => {
      const within = placeAt(source.name, raw, starts[cell] ?? 0)
      return { ...within, line: within.line + first - 1 }
    }
    return [record.map((cell, i) => ({ text: cell.trim(), place: place(i) }))]
  })
}

function separatorOf(text: string): Separator {
  const [line = ''] = text.split('\n', 1)
  return line.split(';').length > line.split(',').length ? ';' : ','
}

function recordsOf(name: string, text: string, separator: Separator, report: Report): readonly CsvRecord[] | undefined {
  try {
    return parse(text, {
      delimiter: separator,
      raw: true,
      relax_column_count: true,
      record_delimiter: ['\n'],
      ltrim: true,
      rtrim: true,
    }) as unknown as readonly CsvRecord[]
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    report({ ...quotePlace(name, text, error), ...QUOTES })
    return undefined
  }
}

const QUOTES = {
  code: 'matrix-quotes',
  severity: 'error',
  message: 'the quotes in this row are not well-formed CSV',
  hint: 'write "" for a quote inside quotes, or save the file from the spreadsheet program again',
} as const

function quotePlace(file: string, text: string, error: CsvError): Place {
  const lines = text.split('\n')
  const open = lines.findIndex((line) => line.split('"').length % 2 === 0) + 1
  const line = error.code === 'CSV_QUOTE_NOT_CLOSED' ? open : Number(error.lines ?? 1)
  return { file, line, column: Math.max((lines[line - 1] ?? '').indexOf('"') + 1, 1) }
}

/** Offsets in the record's text where its cells begin, after spaces. */
function cellStarts(raw: string, separator: Separator): readonly number[] {
  const starts = [0]
  let quoted = false
  for (let at = 0; at < raw.length; at++) {
    if (raw[at] === '"') quoted = !quoted
    if (raw[at] === separator && !quoted) starts.push(at + 1)
  }
  return starts.map((start) => start + (/^[ \t]*/.exec(raw.slice(start))?.[0].length ?? 0))
}

export function lineOf(cells: readonly string[]): string {
  return `${cells.map(quoted).join(',')}\n`
}

function quoted(cell: string): string {
  return /[",;\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}
