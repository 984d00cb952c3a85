/** What the page's script knows: the matrix with each different cell once, because most cells are alike. */
import type { Cell } from './cell.ts'
import type { Matrix, MatrixRow } from './matrix.ts'
import { OBJECTS, placeOf, REASONS, relationText, untilOf } from './words.ts'

interface PageCell {
  readonly outcome: Cell['outcome']
  readonly granted: Cell['granted']
  readonly fields: readonly string[]
  readonly views: readonly string[]
  readonly reason: string
  /** Lines of policy.csv. */
  readonly rules: readonly number[]
  /** From when on it is another one. */
  readonly until?: string | undefined
}

export function pageData(matrix: Matrix) {
  const cells = new Map<string, number>()
  const indexOf = (cell: Cell) => {
    const key = JSON.stringify(pageCell(cell))
    return cells.get(key) ?? cells.set(key, cells.size).size - 1
  }
  const rows = matrix.rows.map((row) => ({ ...pageRow(row), cells: row.cells.map(indexOf) }))
  return {
    callers: matrix.columns.map(({ name, description }) => ({ name, description })),
    rows,
    cells: [...cells.keys()].map((key) => JSON.parse(key) as PageCell),
    rules: Object.fromEntries(
      matrix.rules.map((rule) => [rule.line, { place: placeOf(rule), effect: rule.effect, text: rule.text }]),
    ),
  }
}

function pageCell(cell: Cell): PageCell {
  const { outcome, granted, fields, views, reason, rules } = cell
  return {
    outcome,
    granted,
    fields,
    views,
    reason: REASONS[reason],
    rules: rules.map(({ line }) => line),
    until: untilOf(cell),
  }
}

function pageRow({ resource, path, methods, action, relation, view, fields, object }: MatrixRow) {
  const about = object === 'none' ? '' : relationText(relation)
  return { resource, path, methods, action, relation, view, fields, about, object: OBJECTS[object] }
}
