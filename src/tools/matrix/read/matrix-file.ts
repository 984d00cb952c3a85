/** Parses one matrix file into expectations. Strict: reports all faults at once, each with the place of its cell. */
import { dirname, join } from 'node:path'
import type { SourceFile } from '../../../base/diagnostic.ts'
import { namesText } from '../../../present/quote.ts'
import type { Expectation, MatrixColumn } from './expectation.ts'
import type { Parsed } from './parsed.ts'
import { type Report, readTable, type TableCell, type TableRow } from './table.ts'
import { parseTransition } from './transition.ts'
import { parseColumn, parseExpected, parseMethods, parseObject, parseWhen } from './words.ts'

/** Bodies are in this folder beside the matrix. */
export const BODIES = 'bodies'

/** In the order of the file. Faults go to `report`. Reads no file: a matrix names its bodies, and others read them. */
export function parseMatrix(source: SourceFile, report: Report): readonly Expectation[] {
  const rows = readTable(source, report)
  if (!rows) return []
  const [first = [], ...rest] = rows
  const head = parseHead(first, source.name, report)
  return head ? rest.flatMap((row) => parseRow(row, head, report)) : []
}

function parseRow(row: TableRow, head: Head, report: Report): readonly Expectation[] {
  const cellOf = (at: number | undefined): TableCell => cellAt(row, at)
  reportBeyond(row, head, report)
  const methods = take(cellOf(head.known.get('method')), 'matrix-method', parseMethods, report)
  const object = take(cellOf(head.known.get('object')), 'matrix-object', parseObject, report)
  const path = take(cellOf(head.known.get('path')), 'matrix-path', parsePath, report)
  const body = bodyOf(cellOf(head.known.get('body')), report)
  const when = take(cellOf(head.known.get('when')), 'matrix-when', parseWhen, report)
  const written = { methods, object, body }
  const transition = cellOf(head.known.get('becomes'))
  const becomes = take(transition, 'matrix-becomes', (text) => parseTransition(text, written), report)
  // In one line, as titles are.
  const note = cellOf(head.known.get('note')).text.replaceAll(/\s+/g, ' ')
  const answers = [...head.columns].map(([at, column]) => {
    const cell = cellOf(at)
    return { column, place: cell.place, expected: take(cell, 'matrix-cell', parseExpected, report) }
  })
  if (!methods || !object || path === undefined) return []
  const change = becomes ? { becomes } : {}
  const request = { path, object, ...when, ...change, ...(body ? { body } : {}), ...(note === '' ? {} : { note }) }
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
function reportBeyond(row: TableRow, { headed }: Head, report: Report): void {
  const stray = row.find(({ text }, at) => text !== '' && !headed.has(at))
  if (!stray) return
  const message = `the cell \`${stray.text}\` is in a column without a head`
  report({
    ...stray.place,
    code: 'matrix-cell',
    severity: 'error',
    message,
    hint: 'name a caller in the first row, or empty the cell',
  })
}

function take<T>(
  { text, place }: TableCell,
  code: string,
  parse: (text: string) => Parsed<T>,
  report: Report,
): T | undefined {
  const result = parse(text)
  if (result.kind === 'parsed') return result.value
  report({ ...place, code, severity: 'error', message: result.message, hint: result.hint })
  return undefined
}

function parsePath(text: string): Parsed<string> {
  if (/^\/\S*$/.test(text)) return { kind: 'parsed', value: text }
  const message = text === '' ? 'the path is empty' : `\`${text}\` is not a path`
  return { kind: 'wrong', message, hint: 'write it as the schema does, as in /api/orders/{id}' }
}

/** A name, not a path: files of other folders are never sent to a server. */
function bodyOf({ text, place }: TableCell, report: Report): string | undefined {
  if (text === '') return undefined
  if (/^[^/\\]+$/.test(text) && !text.startsWith('.')) return join(dirname(place.file), BODIES, text)
  const message = `\`${text}\` is not the name of a body file`
  report({ ...place, code: 'matrix-body', severity: 'error', message, hint: `write a file of the folder ${BODIES}/` })
  return undefined
}

const NEEDED = ['method', 'path', 'object'] as const
const KNOWN = [...NEEDED, 'when', 'becomes', 'body', 'note'] as const

type Known = (typeof KNOWN)[number]

interface Head {
  /** The positions of the cells that describe the request. */
  readonly known: ReadonlyMap<Known, number>
  /** The position of each caller's answers. */
  readonly columns: ReadonlyMap<number, MatrixColumn>
  /** Every position with a head, wrong heads included. */
  readonly headed: ReadonlySet<number>
}

/** Faults go to `report`. Undefined if no row can be read with this head. */
function parseHead(row: TableRow, file: string, report: Report): Head | undefined {
  const known = new Map<Known, number>()
  const columns = new Map<number, MatrixColumn>()
  const seen = new Set<string>()
  const fault = (at: number, message: string, hint: string) =>
    report({ ...(row[at]?.place ?? start(file)), code: 'matrix-head', severity: 'error', message, hint })
  row.forEach(({ text }, at) => {
    const name = KNOWN.find((word) => word === text.toLowerCase())
    const key = name ?? columnKey(text)
    if (text === '') return
    const twice = seen.has(key)
    if (twice) fault(at, `the column \`${text}\` occurs twice`, 'keep one of them')
    seen.add(key)
    if (name) known.set(name, at)
    else if (!twice) readColumn(text, at, columns, fault)
  })
  const missing = NEEDED.filter((name) => !known.has(name))
  if (missing.length === 0) return { known, columns, headed: headedOf(row) }
  const names = namesText(missing)
  fault(
    0,
    `the first row lacks ${names}`,
    'begin it with method, path, object, and name a caller above each column of answers',
  )
  return undefined
}

function headedOf(row: TableRow): ReadonlySet<number> {
  return new Set(row.flatMap(({ text }, at) => (text === '' ? [] : [at])))
}

function readColumn(
  text: string,
  at: number,
  columns: Map<number, MatrixColumn>,
  fault: (at: number, message: string, hint: string) => void,
): void {
  const column = parseColumn(text)
  if (column.kind === 'parsed') columns.set(at, column.value)
  else fault(at, column.message, column.hint)
}

/** `a+b` and `b+a` are one caller. */
function columnKey(text: string): string {
  const column = parseColumn(text)
  return column.kind === 'parsed' ? JSON.stringify(column.value) : text
}

function start(file: string) {
  return { file, line: 1, column: 1 }
}
