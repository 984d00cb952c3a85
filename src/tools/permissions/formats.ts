/** An access matrix as a report: rows for spreadsheets and JSON for programs; to-table.ts and page.ts are for people. */
import { rulePlace } from '../../decide/evidence.ts'
import { formatsOf } from '../../present/report.ts'
import type { MatrixCell } from './cell.ts'
import type { Matrix, PermissionColumn } from './matrix.ts'
import type { MatrixRow } from './merge-rows.ts'
import { matrixPage } from './page.ts'
import { matrixTable } from './to-table.ts'
import { markOf, untilOf } from './words.ts'

export const MATRIX_FORMATS = formatsOf((matrix: Matrix) => ({
  table: () => matrixTable(matrix),
  csv: () => csvRows(matrix),
  json: () => toJson(matrix),
  html: () => matrixPage(matrix),
}))

const HEADER =
  'caller,resource,methods,path,action,object,relation,outcome,granted,fields,rules,reason,until,becomes,conditions'.split(
    ',',
  )

/** One row for each cell. */
function csvRows({ columns, rows }: Matrix): readonly (readonly string[])[] {
  return [HEADER, ...rows.flatMap((row) => row.cells.map((cell, i) => lineOf(columns[i]?.name ?? '', row, cell)))]
}

function lineOf(caller: string, row: MatrixRow, cell: MatrixCell): readonly string[] {
  return [
    caller,
    row.resource,
    row.methods.join(' '),
    row.path,
    row.action,
    row.object,
    // A lone `-` would need the same care as a formula.
    row.relation === '-' ? '' : row.relation,
    cell.outcome,
    cell.outcome === 'denied' ? 'none' : markOf(cell, row),
    cell.fields.join(' '),
    cell.rules.map(({ line }) => rulePlace(line)).join(' '),
    cell.reason,
    untilOf(cell) ?? '',
    row.becomes ?? '',
    (cell.conditions ?? []).join(' '),
  ]
}

/**
 * docs/schemas/policy-matrix.schema.json is the shape. A line holds one caller, cell or rule, so that two matrices can
 * be compared as text.
 */
function toJson({ revision, conditions, columns, rows, rules, subject, guarantees }: Matrix): string {
  const callers = columns.map(({ name, description, subjects }) =>
    JSON.stringify({ name, description, subjects: [...subjects].sort() }),
  )
  const places = rules.map(({ line, effect, text }) => JSON.stringify({ place: rulePlace(line), effect, text }))
  const about = subject ? `"subject": ${JSON.stringify(subject)},\n` : ''
  return `{ "revision": ${JSON.stringify(revision)},
"conditions": ${JSON.stringify(conditions)},
${about}"callers": ${lines(callers)},
"rows": ${lines(rows.map((row) => rowText(row, columns)))},
"rules": ${lines(places)},
"guarantees": ${lines(guarantees.map((one) => JSON.stringify(one)))} }
`
}

function rowText(row: MatrixRow, columns: readonly PermissionColumn[]): string {
  const cells = row.cells.map((cell, i) => JSON.stringify(cellOf(cell, columns[i])))
  return `${JSON.stringify(headOf(row)).slice(0, -1)},"cells":${lines(cells)}}`
}

function lines(values: readonly string[]): string {
  return values.length === 0 ? '[]' : `[\n${values.join(',\n')}\n]`
}

/** JSON has no members without a value. */
function headOf({ resource, path, methods, action, object, relation, becomes, states, view, fields }: MatrixRow) {
  return { resource, path, methods, action, object, relation, becomes, states, view, fields }
}

function cellOf(cell: MatrixCell, column: PermissionColumn | undefined) {
  const { outcome, granted, fields, views, reason, conditions } = cell
  const rules = cell.rules.map(({ line, effect }) => ({ place: rulePlace(line), effect }))
  return { caller: column?.name, outcome, granted, fields, views, reason, rules, conditions, until: untilOf(cell) }
}
