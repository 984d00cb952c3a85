/**
 * Parses one matrix file, which a spreadsheet program wrote, into expectations. Strict: reports all faults at once, each
 * with the place of its cell.
 */

import { dirname, join } from 'node:path'
import { CsvError, parse } from 'csv-parse/sync'
import { type Place, placesIn, type Reporter, type SourceFile } from '../../../base/diagnostic.ts'
import { cellStarts, quotePlace } from '../../../policy/parse/rule-lines.ts'
import { namesText } from '../../../present/quote.ts'
import type { Expectation, MatrixColumn, ParsedWord } from './expectation.ts'
import { columnText, failed, parsed } from './expectation.ts'
import {
  parseColumn,
  parseEvent,
  parseExpected,
  parseMethods,
  parseObject,
  parseTold,
  parseTransition,
  parseWhen,
} from './words.ts'

/** Bodies are in this folder beside the matrix. */
export const BODIES = 'bodies'

/** In the order of the file. Faults go to `report`. Reads no file: a matrix names its bodies, and others read them. */
export function parseMatrix(source: SourceFile, report: Reporter): readonly Expectation[] {
  const rows = readTable(source, report)
  if (!rows) return []
  const [first = [], ...rest] = rows
  const head = parseHead(first, source.name, report)
  return head ? rest.flatMap((row) => parseRow(row, head, report)) : []
}

function parseRow(row: TableRow, head: Head, report: Reporter): readonly Expectation[] {
  const cellOf = (name: ColumnName): TableCell => cellAt(row, head.known.get(name))
  reportBeyond(row, head, report)
  const methods = take(cellOf('method'), 'matrix-method', parseMethods, report)
  const object = take(cellOf('object'), 'matrix-object', parseObject, report)
  const path = take(cellOf('path'), 'matrix-path', parsePath, report)
  const file = cellOf('body')
  const body = take(file, 'matrix-body', parseBody, report)
  const when = take(cellOf('when'), 'matrix-when', parseWhen, report)
  const [happens, transition] = [cellOf('event'), cellOf('becomes')]
  const about = { methods, object, body }
  const event = take(happens, 'matrix-event', (text) => parseEvent(text, about, transition.text), report)
  const isFaulty = happens.text !== '' && !event
  const written = { ...about, event }
  const becomes = isFaulty
    ? undefined
    : take(transition, 'matrix-becomes', (text) => parseTransition(text, written), report)
  // In one line, as titles are.
  const note = cellOf('note').text.replaceAll(/\s+/g, ' ')
  const answers = [...head.columns].map(([at, column]) => {
    const cell = cellAt(row, at)
    return {
      column,
      place: cell.place,
      expected: take(cell, 'matrix-cell', happens.text === '' ? parseExpected : parseTold, report),
    }
  })
  if (!methods || !object || path === undefined) return []
  const change = { ...(event && { event }), ...(becomes && { becomes }) }
  const sent = body === undefined ? {} : { body: join(dirname(file.place.file), BODIES, body) }
  const request = { path, object, ...when, ...change, ...sent, ...(note === '' ? {} : { note }) }
  return methods.flatMap((method) =>
    answers.flatMap(({ expected, column, place }) =>
      expected ? [{ place, method, ...request, column, expected }] : [],
    ),
  )
}

/** A missing cell is empty; its place is the end of the row. */
function cellAt(row: TableRow, at: number | undefined): TableCell {
  const found = at === undefined ? undefined : row[at]
  const last = row.at(-1)
  if (found || !last) return found ?? { text: '', place: { file: '', line: 1, column: 1 } }
  return { text: '', place: { ...last.place, column: last.place.column + last.text.length } }
}

/** Spreadsheet programs write empty columns at the end. A column without a head must be empty. */
function reportBeyond(row: TableRow, { headed }: Head, report: Reporter): void {
  const stray = row.find(({ text }, at) => text !== '' && !headed.has(at))
  const wrong = (text: string) =>
    failed(`the cell \`${text}\` is in a column without a head`, 'name a caller in the first row, or empty the cell')
  if (stray) take(stray, 'matrix-cell', wrong, report)
}

function take<T>(
  { text, place }: TableCell,
  code: string,
  parse: (text: string) => ParsedWord<T>,
  report: Reporter,
): T | undefined {
  const result = parse(text)
  if (result.kind === 'parsed') return result.value
  report({ ...place, code, severity: 'error', message: result.message, hint: result.hint })
  return undefined
}

function parsePath(text: string): ParsedWord<string> {
  if (/^\/\S*$/.test(text)) return parsed(text)
  const message = text === '' ? 'the path is empty' : `\`${text}\` is not a path`
  return failed(message, 'write it as the schema does, as in /api/orders/{id}')
}

/** A name, not a path: files of other folders are never sent to a server. */
function parseBody(text: string): ParsedWord<string | undefined> {
  if (text === '') return parsed(undefined)
  if (/^[^/\\]+$/.test(text) && !text.startsWith('.')) return parsed(text)
  return failed(`\`${text}\` is not the name of a body file`, `write a file of the folder ${BODIES}/`)
}

const NEEDED = ['method', 'path', 'object'] as const
export const KNOWN_COLUMNS = [...NEEDED, 'event', 'when', 'becomes', 'body', 'note'] as const

type ColumnName = (typeof KNOWN_COLUMNS)[number]

interface Head {
  /** The positions of the cells that describe the request. */
  readonly known: ReadonlyMap<ColumnName, number>
  /** The position of each caller's answers. */
  readonly columns: ReadonlyMap<number, MatrixColumn>
  /** Every position with a head, wrong heads included. */
  readonly headed: ReadonlySet<number>
}

/** Faults go to `report`. Undefined if no row can be read with this head. */
function parseHead(row: TableRow, file: string, report: Reporter): Head | undefined {
  const known = new Map<ColumnName, number>()
  const columns = new Map<number, MatrixColumn>()
  const seen = new Set<string>()
  const fault = (at: number, message: string, hint: string) =>
    report({
      ...(row[at]?.place ?? { file, line: 1, column: 1 }),
      code: 'matrix-head',
      severity: 'error',
      message,
      hint,
    })
  row.forEach(({ text }, at) => {
    if (text === '') return
    const name = KNOWN_COLUMNS.find((word) => word === text.toLowerCase())
    const column = parseColumn(text)
    // `a+b` and `b+a` are one caller.
    const key = name ?? (column.kind === 'parsed' ? columnText(column.value) : text)
    if (seen.has(key)) fault(at, `the column \`${text}\` occurs twice`, 'keep one of them')
    else if (name) known.set(name, at)
    else if (column.kind === 'parsed') columns.set(at, column.value)
    else fault(at, column.message, column.hint)
    seen.add(key)
  })
  const missing = NEEDED.filter((name) => !known.has(name))
  const headed = new Set(row.flatMap(({ text }, at) => (text === '' ? [] : [at])))
  if (missing.length === 0) return { known, columns, headed }
  const names = namesText(missing)
  fault(
    0,
    `the first row lacks ${names}`,
    'begin it with method, path, object, and name a caller above each column of answers',
  )
  return undefined
}

export interface TableCell {
  /** Without the spaces around it. */
  readonly text: string
  readonly place: Place
}

type TableRow = readonly TableCell[]

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
export function readTable(source: SourceFile, report: Reporter): readonly TableRow[] | undefined {
  // Editors don't count a byte order mark. A lone carriage return ends a line on old Macs.
  const text = source.text.replace(/^\uFEFF/, '').replaceAll(/\r\n?/g, '\n')
  const separator = separatorOf(text)
  let line = 1
  return recordsOf({ name: source.name, text }, separator, report)?.flatMap(({ record, raw }) => {
    const first = line
    line += raw.split('\n').length - 1
    if (record.every((cell) => cell.trim() === '')) return []
    const starts = cellStarts(raw, separator)
    const placeIn = placesIn(source.name, raw)
    const place = (cell: number): Place => {
      const within = placeIn(starts[cell] ?? 0)
      return { ...within, line: within.line + first - 1 }
    }
    return [record.map((cell, i) => ({ text: cell.trim(), place: place(i) }))]
  })
}

/** Inside quotes, a character separates nothing. */
function separatorOf(text: string): Separator {
  const [line = ''] = text.replaceAll(/"[^"]*"/g, '').split('\n', 1)
  return line.split(';').length > line.split(',').length ? ';' : ','
}

function recordsOf(source: SourceFile, separator: Separator, report: Reporter): readonly CsvRecord[] | undefined {
  try {
    return parse(source.text, {
      delimiter: separator,
      raw: true,
      relax_column_count: true,
      record_delimiter: ['\n'],
      ltrim: true,
      rtrim: true,
    }) as unknown as readonly CsvRecord[]
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    report({ ...quotePlace(source, error), ...QUOTES })
    return undefined
  }
}

const QUOTES = {
  code: 'matrix-quotes',
  severity: 'error',
  message: 'the quotes in this row are not well-formed CSV',
  hint: 'write "" for a quote inside quotes, or save the file from the spreadsheet program again',
} as const

export function lineOf(cells: readonly string[]): string {
  return `${cells.map(quoted).join(',')}\n`
}

function quoted(cell: string): string {
  return /[",;\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}
