/** The matrix of a policy as it is: every row and column, with the answer that the policy gives. */
import { type Column, columnText, type Expected, expectedText } from '../expectation.ts'
import type { Cell } from '../predict/arrangement.ts'
import type { Bench } from '../predict/bench.ts'
import { answers, describe } from '../predict/compare-answer.ts'
import { type Prediction, predictCell } from '../predict/predict-cell.ts'
import { cellKey, type Row, rowsOf, usualColumns } from '../predict/universe.ts'

export interface PlannedRow extends Row {
  /** One a column; undefined where nothing can be asked, or nothing is to be stated. */
  readonly answers: readonly (Expected | undefined)[]
}

export interface Plan {
  readonly columns: readonly Column[]
  readonly rows: readonly PlannedRow[]
}

/** anonymous, each declared role, and what else the matrices have columns for, in this order. */
export function columnsFor({ reviewed, expectations }: Bench): readonly Column[] {
  const usual = usualColumns(reviewed.policy)
  const known = new Set(usual.map(columnText))
  const further = new Map(expectations.map(({ column }) => [columnText(column), column]))
  const added = [...further.keys()].filter((name) => !known.has(name)).sort()
  return [...usual, ...added.flatMap((name) => further.get(name) ?? [])]
}

/** Rows of which nothing is left to say are left out. */
export function planMatrix(bench: Bench, columns: readonly Column[], leaveOut: (cell: Cell) => boolean): Plan {
  const rows = rowsOf([bench.grants.policy], bench.resources).map((row) => ({
    ...row,
    answers: columns.map((column) => {
      const cells = cellsOf(row, column)
      return cells.every(leaveOut) ? undefined : answerTo(bench, cells)
    }),
  }))
  return { columns, rows: rows.filter((row) => row.answers.some((answer) => answer !== undefined)) }
}

/** Whether an expectation states a cell, whatever body it sends. */
export function statedIn(bench: Bench): (cell: Cell) => boolean {
  const { policy } = bench.grants
  const keyOf = (cell: Cell) => cellKey(policy, bench.ground.spots.get(`${cell.method} ${cell.path}`), cell)
  const stated = new Set(bench.expectations.map(keyOf))
  return (cell) => stated.has(keyOf(cell))
}

/** One for each method of the row. */
export function cellsOf({ spot, methods, object }: Row, column: Column): readonly Cell[] {
  return methods.map((method) => ({ method, path: spot.route.path, object, column }))
}

/** In words that fit the answers to all methods of the row; undefined where nothing can be asked. */
function answerTo({ ground, grants }: Bench, cells: readonly Cell[]): Expected | undefined {
  const predictions = cells.map((cell) => predictCell(ground, grants, cell))
  const [first] = predictions
  if (first?.kind !== 'answer' || !predictions.every(isAnswer)) return undefined
  const fitting = describe(first).find((words) => predictions.every((one) => isAnswer(one) && answers(one, words)))
  if (fitting) return fitting
  throw new Error(
    `methods of one endpoint differ: ${predictions.flatMap((one) => (isAnswer(one) ? describe(one).map(expectedText) : []))}`,
  )
}

function isAnswer(prediction: Prediction): prediction is Extract<Prediction, { kind: 'answer' }> {
  return prediction.kind === 'answer'
}
