/** The matrices as cells: one expectation each. */
import { readdirSync, readFileSync } from 'node:fs'
import { parse } from 'csv-parse/sync'

/** One expectation: a caller with these roles, asking this of an object that relates to them so, is answered this. */
export interface Cell {
  readonly place: string
  readonly method: string
  readonly path: string
  /** `none`, `missing`, `other`, `own`, or relations joined with `+`. */
  readonly object: string
  /** A file of bodies/, or empty for the smallest valid body. */
  readonly body: string
  readonly note: string
  /** Roles joined with `+`, or `anonymous`. */
  readonly column: string
  readonly status: number
}

/** Columns that aren't callers. */
const ROW = ['method', 'path', 'object', 'body', 'note']

/** Throws for a cell that states neither a status nor `-` (nothing). */
export function readMatrix(folder: URL): readonly Cell[] {
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.csv'))
    .sort()
  return files.flatMap((file) => {
    const rows: Record<string, string>[] = parse(readFileSync(new URL(file, folder)), { columns: true, bom: true })
    return rows.flatMap((row, i) =>
      (row.method ?? '').split('|').flatMap((method) => cellsOf(file, i + 2, row, method)),
    )
  })
}

function cellsOf(file: string, line: number, row: Record<string, string>, method: string): readonly Cell[] {
  const { path = '', object = '', body = '', note = '' } = row
  const columns = Object.entries(row).filter(([name]) => !ROW.includes(name))
  return columns.flatMap(([column, text]) => {
    const place = `${file}:${line}`
    if (text === '-') return []
    if (!/^[1-5]\d\d$/.test(text)) throw new Error(`${place}: the cell ${column} is neither a status nor -: ${text}`)
    return [{ place, method, path, object, body, note, column, status: Number(text) }]
  })
}
