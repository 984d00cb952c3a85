/** The first row of a matrix: which column is which, in any order. */
import type { Column } from './expectation.ts'
import { parseColumn } from './parse-words.ts'
import type { Report, TableRow } from './table.ts'

const NEEDED = ['method', 'path', 'object'] as const
const KNOWN = [...NEEDED, 'body', 'note'] as const

type Known = (typeof KNOWN)[number]

export interface Head {
  /** Where the cells stand that say what is asked. */
  readonly known: ReadonlyMap<Known, number>
  /** Where each caller's answers stand. */
  readonly columns: ReadonlyMap<number, Column>
  /** Every place that has a head, wrong ones included. */
  readonly headed: ReadonlySet<number>
}

/** What is wrong goes to `report`; undefined for a head without which no row can be read. */
export function parseHead(row: TableRow, file: string, report: Report): Head | undefined {
  const known = new Map<Known, number>()
  const columns = new Map<number, Column>()
  const seen = new Set<string>()
  const fault = (at: number, message: string, hint: string) =>
    report({ ...(row[at]?.place ?? start(file)), code: 'matrix-head', severity: 'error', message, hint })
  row.forEach(({ text }, at) => {
    const name = KNOWN.find((word) => word === text.toLowerCase())
    const key = name ?? columnKey(text)
    if (text === '') return
    const twice = seen.has(key)
    if (twice) fault(at, `the column \`${text}\` is here twice`, 'keep one of them')
    seen.add(key)
    if (name) known.set(name, at)
    else if (!twice) readColumn(text, at, columns, fault)
  })
  const missing = NEEDED.filter((name) => !known.has(name))
  if (missing.length === 0) return { known, columns, headed: headedOf(row) }
  const names = missing.map((name) => `\`${name}\``).join(', ')
  fault(
    0,
    `the first row lacks ${names}`,
    'it begins with method, path, object and names a caller above each column of answers',
  )
  return undefined
}

function headedOf(row: TableRow): ReadonlySet<number> {
  return new Set(row.flatMap(({ text }, at) => (text === '' ? [] : [at])))
}

function readColumn(
  text: string,
  at: number,
  columns: Map<number, Column>,
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
