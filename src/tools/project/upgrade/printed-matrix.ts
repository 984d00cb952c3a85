/** Reads what `policy matrix --format json` of any version prints. What an earlier version didn't print is left empty. */
import { isObject } from '../../../base/is-object.ts'
import type { CellAnswer } from './report.ts'

export interface PrintedRow {
  readonly method: string
  readonly path: string
  readonly relation: string
  readonly becomes: string | undefined
  /** Equal for the rows of two versions that are about the same requests. */
  readonly key: string
  readonly cells: ReadonlyMap<string, CellAnswer>
}

export interface PrintedMatrix {
  readonly callers: readonly string[]
  /** One for each method. */
  readonly rows: readonly PrintedRow[]
}

/** Undefined for another shape: then nothing can be said. */
export function printedMatrix(value: unknown): PrintedMatrix | undefined {
  if (!isObject(value) || !Array.isArray(value.rows) || !Array.isArray(value.callers)) return undefined
  const callers = value.callers.map((caller) => (isObject(caller) ? caller.name : undefined))
  const rows = value.rows.map(rowsOf)
  if (!callers.every(isText) || rows.includes(undefined)) return undefined
  return { callers, rows: rows.flatMap((some) => some ?? []) }
}

function rowsOf(row: unknown): readonly PrintedRow[] | undefined {
  if (!isObject(row) || !isTexts(row.methods) || !Array.isArray(row.cells)) return undefined
  const { path, action, object, relation, becomes, view } = row
  if (![path, action, object, relation].every(isText)) return undefined
  const cells = row.cells.map(cellOf)
  if (cells.includes(undefined)) return undefined
  const answers = new Map(cells.flatMap((cell) => (cell ? [cell] : [])))
  return row.methods.map((method) => ({
    method,
    path: String(path),
    relation: String(relation),
    becomes: isText(becomes) ? becomes : undefined,
    key: JSON.stringify([method, path, action, object, relation, becomes, view]),
    cells: answers,
  }))
}

function cellOf(cell: unknown): readonly [string, CellAnswer] | undefined {
  if (!isObject(cell)) return undefined
  const { caller, outcome, granted, fields, conditions = [], rules = [] } = cell
  if (!isText(caller) || !isText(outcome) || !isText(granted) || !isTexts(fields) || !isTexts(conditions))
    return undefined
  const places = Array.isArray(rules)
    ? rules.flatMap((rule) => (isObject(rule) && isText(rule.place) ? [rule.place] : []))
    : []
  return [caller, { outcome, granted, fields, conditions, rules: places }]
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isText)
}
