/** A matrix as JSON, for other programs: docs/schemas/policy-matrix.schema.json is its shape. */
import { rulePlace } from '../../decide/evidence.ts'
import type { MatrixCell } from './cell.ts'
import type { Matrix, MatrixColumn, MatrixRow } from './matrix.ts'
import { untilOf } from './words.ts'

/** A line holds one caller, cell or rule, so that two matrices can be compared as text. */
export function matrixJson({ revision, columns, rows, rules }: Matrix): string {
  const callers = columns.map(({ name, description, subjects }) => ({
    name,
    description,
    subjects: [...subjects].sort(),
  }))
  const places = rules.map((rule) => ({ place: rulePlace(rule.line), effect: rule.effect, text: rule.text }))
  const texts = rows.map((row) => rowText(row, columns))
  return `{ "revision": ${JSON.stringify(revision)},
"callers": ${lines(callers.map((one) => JSON.stringify(one)))},
"rows": ${lines(texts)},
"rules": ${lines(places.map((one) => JSON.stringify(one)))} }
`
}

function rowText(row: MatrixRow, columns: readonly MatrixColumn[]): string {
  const cells = row.cells.map((cell, i) => JSON.stringify(cellOf(cell, columns[i])))
  return `${JSON.stringify(headOf(row)).slice(0, -1)},"cells":${lines(cells)}}`
}

function lines(values: readonly string[]): string {
  return values.length === 0 ? '[]' : `[\n${values.join(',\n')}\n]`
}

function headOf({ resource, path, methods, action, object, relation, view, fields }: MatrixRow) {
  return { resource, path, methods, action, object, relation, ...(view === undefined ? {} : { view }), fields }
}

function cellOf(cell: MatrixCell, column: MatrixColumn | undefined) {
  const { outcome, granted, fields, views, reason, rules } = cell
  const until = untilOf(cell)
  const places = rules.map((rule) => ({ place: rulePlace(rule.line), effect: rule.effect }))
  return {
    caller: column?.name,
    outcome,
    granted,
    fields,
    views,
    reason,
    rules: places,
    ...(until === undefined ? {} : { until }),
  }
}
