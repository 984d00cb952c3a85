/** A matrix as CSV (RFC 4180), one line a cell, for spreadsheets: what may be taken for a formula is made text. */
import { rulePlace } from '../../decide/evidence.ts'
import type { MatrixCell } from './cell.ts'
import type { Matrix, MatrixRow } from './matrix.ts'
import { markOf, untilOf } from './words.ts'

const HEADER = [
  'caller',
  'resource',
  'methods',
  'path',
  'action',
  'object',
  'relation',
  'outcome',
  'granted',
  'fields',
  'rules',
  'reason',
  'until',
]

/** Spreadsheets run what begins so, in quotes too; the wide forms are read as the plain ones. */
const FORMULA = /^\s*[=+\-@|\uFF1D\uFF0B\uFF0D\uFF20]|^[\t\r\n]/

export function matrixCsv({ columns, rows }: Matrix): string {
  const lines = rows.flatMap((row) => row.cells.map((cell, i) => lineOf(columns[i]?.name ?? '', row, cell)))
  return [HEADER, ...lines].map((cells) => `${cells.map(quote).join(',')}\r\n`).join('')
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
    cell.rules.map((rule) => rulePlace(rule.line)).join(' '),
    cell.reason,
    untilOf(cell) ?? '',
  ]
}

function quote(text: string): string {
  const harmless = FORMULA.test(text) ? `'${text}` : text
  return `"${harmless.replaceAll('"', '""')}"`
}
