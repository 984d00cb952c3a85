/** The matrix of a policy as it is: every row and column, with the answer that the policy gives. */
import type { RouteMethod } from '../../../decide/callers-and-routes.ts'
import { type AskedColumn, askedColumns } from '../cells/columns.ts'
import { type AskedRow, cellsOf, rowsOf } from '../cells/rows.ts'
import { namesCaller } from '../fixture/samples.ts'
import type { Cell } from '../predict/cell-fixture.ts'
import { answers, describe } from '../predict/compare-answer.ts'
import type { EvaluatedPolicy } from '../predict/predict.ts'
import { type Prediction, predictCell } from '../predict/predict-cell.ts'
import type { PredictedSuite } from '../predict/suite.ts'
import { columnText, type Expected, expectedText, type MatrixColumn } from '../read/expectation.ts'

export interface PlannedRow extends AskedRow {
  /** One for each column; undefined if nothing can be asked or should be stated. */
  readonly answers: readonly (Expected | undefined)[]
}

export interface Plan {
  readonly columns: readonly MatrixColumn[]
  readonly rows: readonly PlannedRow[]
}

/** The columns that the policy's answers depend on (cells/columns.ts), and all other columns of the matrices. */
export function columnsFor({ evaluated: { policy }, resources, expectations }: PredictedSuite): readonly AskedColumn[] {
  const usual = askedColumns(policy, resources)
  const known = new Set(usual.map(({ column }) => columnText(column)))
  const further = new Map(expectations.map(({ column }) => [columnText(column), column]))
  const added = [...further.keys()].filter((name) => !known.has(name)).sort()
  return [...usual, ...added.flatMap((name) => everywhere(further.get(name)))]
}

/** A column that an option names. */
export function everywhere(column: MatrixColumn | undefined): readonly AskedColumn[] {
  return column ? [{ column, concerns: () => true }] : []
}

/** Rows without any statement are left out. */
export async function planMatrix(
  suite: PredictedSuite,
  columns: readonly AskedColumn[],
  leaveOut: (cell: Cell) => boolean,
): Promise<Plan> {
  const rows = rowsOf(suite.evaluated.policy, suite)
  const asked = [
    ...rows.flatMap((row): readonly AskedRow[] => [row, ...bodyRows(suite, row)]),
    ...(await unconditionalRows(suite, rows, columns)),
  ]
  const all: PlannedRow[] = []
  for (const row of asked) {
    const words: (readonly Expected[])[] = []
    for (const { column, concerns } of columns) {
      const cells = concerns(row.routeMethod) ? cellsOf(row, column) : []
      const fitting = cells.every(leaveOut) ? [] : await wordsFor(suite, cells)
      words.push(row.unconditional && fitting[0]?.status !== PRECONDITION_REQUIRED ? [] : fitting)
    }
    all.push({ ...row, answers: words.map(([best]) => best) }, { ...row, answers: words.map(viewBeside) })
  }
  return {
    columns: columns.map(({ column }) => column),
    rows: all.filter((row) => row.answers.some((answer) => answer !== undefined)),
  }
}

/** A list whose objects one row states has another row for its fields. */
function viewBeside([best, ...others]: readonly Expected[]): Expected | undefined {
  return best?.list && others.find(({ view }) => view !== undefined)
}

const PRECONDITION_REQUIRED = 428

/**
 * For each endpoint that requires `If-Match`, one request without it, about the first object that a caller may write.
 */
async function unconditionalRows(
  suite: PredictedSuite,
  rows: readonly AskedRow[],
  columns: readonly AskedColumn[],
): Promise<readonly AskedRow[]> {
  const asked = rows
    .filter(({ routeMethod: { route, endpoint }, becomes }) => {
      const isWrite = ['replace', 'update', 'delete'].includes(endpoint.operation)
      return route.precondition === 'required' && isWrite && !becomes
    })
    .map((row): AskedRow => ({ ...row, unconditional: true }))
  const isRefused = async (row: AskedRow) => {
    for (const { column } of columns) {
      const [words] = await wordsFor(suite, cellsOf(row, column))
      if (words?.status === PRECONDITION_REQUIRED) return true
    }
    return false
  }
  const found = new Map<AskedRow['routeMethod']['endpoint'], AskedRow>()
  for (const row of asked) {
    const { endpoint } = row.routeMethod
    if (!found.has(endpoint) && (await isRefused(row))) found.set(endpoint, row)
  }
  return [...found.values()]
}

/** All words that fit the answers to all methods of the row, the best first; empty if nothing can be asked. */
async function wordsFor(
  { predictor, evaluated }: PredictedSuite,
  cells: readonly Cell[],
): Promise<readonly Expected[]> {
  const predictions = await Promise.all(cells.map((cell) => predictCell(predictor, evaluated, cell)))
  const [first] = predictions
  if (first?.kind !== 'answer' || !predictions.every(isAnswer)) return []
  const fitting = describe(first).filter((words) => predictions.every((one) => isAnswer(one) && answers(one, words)))
  if (fitting.length > 0) return fitting
  const texts = predictions.flatMap((one) => (isAnswer(one) ? describe(one).map(expectedText) : []))
  throw new Error(`methods of one endpoint differ: ${texts}`)
}

function isAnswer(prediction: Prediction): prediction is Extract<Prediction, { kind: 'answer' }> {
  return prediction.kind === 'answer'
}

/** One row for each view that rules about writing name here. A unique field would clash with the next cell's value. */
function bodyRows({ evaluated, samples }: PredictedSuite, row: AskedRow): readonly AskedRow[] {
  const { endpoint, resource, route } = row.routeMethod
  if (route.command) return []
  if (!['create', 'replace', 'update'].includes(endpoint.operation) || row.object.kind === 'missing' || row.becomes)
    return []
  const values = samples.get(resource.name)?.values
  return viewsWritten(evaluated, row.routeMethod).flatMap((view) => {
    const fields = evaluated.policy.views.get(resource.name)?.get(view) ?? new Set()
    const written = [...fields].filter(
      (name) => !resource.fields.get(name)?.readOnly && !resource.fields.get(name)?.unique,
    )
    const given = written.flatMap((name) => {
      // The stored object has the second value, or one that a relation needs.
      const known = values?.get(name)?.filter((one) => !namesCaller(one))
      const value = known?.[2] ?? known?.[0]
      return value === undefined ? [] : [[name, value] as const]
    })
    const file = `${resource.name}-${view}.json`
    return given.length === 0 ? [] : [{ ...row, body: { file, content: Object.fromEntries(given) } }]
  })
}

function viewsWritten({ grants, policy }: EvaluatedPolicy, { resource, action }: RouteMethod): readonly string[] {
  const { rules } = grants.table(grants.anybody, resource.name, action.name).roleLevel(() => true)
  const named = new Set(rules.flatMap((rule) => rule.views))
  return [...(policy.views.get(resource.name)?.keys() ?? [])].filter((view) => named.has(view)).sort()
}
