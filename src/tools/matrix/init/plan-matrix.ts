/** The matrix of a policy as it is: every row and column, with the answer that the policy gives. */

import { type AskedColumn, columnsOf } from '../cells/columns.ts'
import { cellKey, type Row, rowsOf } from '../cells/rows.ts'
import type { Cell } from '../predict/arrangement.ts'
import type { Bench } from '../predict/bench.ts'
import { answers, describe } from '../predict/compare-answer.ts'
import { type Prediction, predictCell } from '../predict/predict-cell.ts'
import { type Column, columnText, type Expected, expectedText, isUnconditional } from '../read/expectation.ts'
import { type BodyRow, bodyRows } from './body-rows.ts'

export interface PlannedRow extends BodyRow {
  /** One a column; undefined where nothing can be asked, or nothing is to be stated. */
  readonly answers: readonly (Expected | undefined)[]
}

export interface Plan {
  readonly columns: readonly Column[]
  readonly rows: readonly PlannedRow[]
}

/** The columns that the policy's answers depend on (predict/columns.ts), and all that the matrices have besides. */
export function columnsFor({ grants: { policy }, resources, expectations }: Bench): readonly AskedColumn[] {
  const usual = columnsOf(policy, resources)
  const known = new Set(usual.map(({ column }) => columnText(column)))
  const further = new Map(expectations.map(({ column }) => [columnText(column), column]))
  const added = [...further.keys()].filter((name) => !known.has(name)).sort()
  return [...usual, ...added.flatMap((name) => everywhere(further.get(name)))]
}

/** A column that somebody asks for. */
export function everywhere(column: Column | undefined): readonly AskedColumn[] {
  return column ? [{ column, concerns: () => true }] : []
}

/** Rows of which nothing is left to say are left out. */
export function planMatrix(bench: Bench, columns: readonly AskedColumn[], leaveOut: (cell: Cell) => boolean): Plan {
  const rows = rowsOf([bench.grants.policy], bench)
  const all = [
    ...rows.flatMap((row): readonly BodyRow[] => [row, ...bodyRows(bench, row)]),
    ...unconditionalRows(bench, rows, columns),
  ].map((row) => ({
    ...row,
    answers: columns.map(({ column, concerns }) => {
      if (!concerns(row.spot)) return undefined
      const cells = cellsOf(row, column)
      const answer = cells.every(leaveOut) ? undefined : answerTo(bench, cells)
      return row.unconditional && answer?.status !== PRECONDITION_REQUIRED ? undefined : answer
    }),
  }))
  return {
    columns: columns.map(({ column }) => column),
    rows: all.filter((row) => row.answers.some((answer) => answer !== undefined)),
  }
}

const PRECONDITION_REQUIRED = 428

/** For each endpoint that requires `If-Match` one request without it, about the first object that somebody may write. */
function unconditionalRows(bench: Bench, rows: readonly Row[], columns: readonly AskedColumn[]): readonly BodyRow[] {
  const asked = rows
    .filter(({ spot: { route, endpoint } }) => {
      return route.precondition === 'required' && ['replace', 'update', 'delete'].includes(endpoint.operation)
    })
    .map((row): BodyRow => ({ ...row, unconditional: true }))
    .filter((row) =>
      columns.some(({ column }) => answerTo(bench, cellsOf(row, column))?.status === PRECONDITION_REQUIRED),
    )
  return [...Map.groupBy(asked, ({ spot }) => spot.endpoint).values()].flatMap((some) => some.slice(0, 1))
}

/** Whether an expectation states a cell, whatever body it sends. */
export function statedIn(bench: Bench): (cell: Cell) => boolean {
  const { policy } = bench.grants
  const keyOf = (cell: Cell) => cellKey(policy, bench.ground.spots.get(`${cell.method} ${cell.path}`), cell)
  const stated = new Set(bench.expectations.map((one) => keyOf({ ...one, unconditional: isUnconditional(one) })))
  return (cell) => stated.has(keyOf(cell))
}

/** One for each method of the row. */
export function cellsOf({ spot, methods, object, body, unconditional }: BodyRow, column: Column): readonly Cell[] {
  const content = body && { content: body.content }
  const how = unconditional ? { unconditional } : {}
  return methods.map((method) => ({ method, path: spot.route.path, object, column, ...content, ...how }))
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
