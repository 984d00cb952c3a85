/** A matrix as text for a terminal of a given width: a block of callers at a time, with a legend. */
import { commandProcess } from '../../base/command-process.ts'
import { timeText } from '../../base/time.ts'
import { printable } from '../../present/quote.ts'
import type { Paragraph } from '../../present/report.ts'
import { table } from '../../present/text.ts'
import { grantText } from '../access/granted-roles.ts'
import type { Matrix, PermissionColumn } from './matrix.ts'
import { type MatrixRow, MERGED } from './merge-rows.ts'
import { markOf, momentsOf, RELATIONS, relationLabel } from './words.ts'

const GAP = '  '
/** In characters; used if the output isn't a terminal. */
const USUAL_WIDTH = 80
const LONGEST_NAME = 24
const LONGEST_MARK = 24

/** The callers that stand side by side. */
interface TablePart {
  readonly columns: readonly ShownColumn[]
  readonly lead: number
  readonly moments: Ends
}

/** The moments at which cells change, in order. */
type Ends = readonly number[]

interface ShownColumn {
  readonly index: number
  readonly heading: string
  readonly width: number
}

/** `width` in characters. */
export function matrixTable(
  matrix: Matrix,
  width = commandProcess().stdout.columns ?? USUAL_WIDTH,
): readonly Paragraph[] {
  const names = shortNames(matrix.columns)
  const lead = Math.max(...matrix.rows.map((row) => leadOf(row, 0).length), 0)
  const moments = momentsOf(matrix.rows)
  const columns = matrix.columns.map((_, index) => shownColumn(matrix, moments, { index, heading: names[index] ?? '' }))
  const parts = intoParts(columns, width - lead).flatMap((some) =>
    resourceBlocks(matrix, { columns: some, lead, moments }),
  )
  return [[`Who can do what, by policy ${matrix.revision}`], ...parts, legend(matrix, names), subjectLines(matrix)]
}

function subjectLines({ subject: about }: Matrix): Paragraph {
  if (!about) return []
  const { subject, roles, grants } = about
  const lines = [`${subject} has the roles: ${roles.join(', ') || 'none'}`, ...grants.map(grantText)]
  return lines.map(printable)
}

function resourceBlocks({ rows }: Matrix, part: TablePart): readonly Paragraph[] {
  const byResource = [...Map.groupBy(rows, ({ resource }) => resource)]
  return byResource.map(([resource, about]) => [headline(resource, part), ...pathsOf(about, part)])
}

function headline(resource: string, { columns, lead }: TablePart): string {
  return line(resource.toUpperCase().padEnd(lead), columns, ({ heading }) => heading)
}

function pathsOf(rows: readonly MatrixRow[], part: TablePart): readonly string[] {
  return [...Map.groupBy(rows, ({ path }) => path)].flatMap(([path, about]) => [
    ` ${path}`,
    ...about.map((row) => line(leadOf(row, part.lead), part.columns, ({ index }) => markAt(row, index, part.moments))),
  ])
}

function line(lead: string, columns: readonly ShownColumn[], text: (column: ShownColumn) => string): string {
  return [lead, ...columns.map((column) => text(column).padEnd(column.width))].join(GAP).trimEnd()
}

function leadOf(row: MatrixRow, width: number): string {
  return `  ${row.methods.join(' ').padEnd('GET HEAD'.length)} ${relationLabel(row)}`.padEnd(width)
}

function shownColumn({ rows }: Matrix, moments: Ends, { index, heading }: Omit<ShownColumn, 'width'>): ShownColumn {
  const marks = rows.map((row) => markAt(row, index, moments).length)
  return { index, heading, width: Math.max(heading.length, ...marks) }
}

function markAt(row: MatrixRow, index: number, moments: Ends): string {
  const cell = row.cells[index]
  if (!cell) return ''
  const moment = cell.until === undefined ? '' : ` ${momentMark(moments.indexOf(cell.until))}`
  return shorten(markOf(cell, row), LONGEST_MARK) + (cell.conditions ? '?' : '') + moment
}

/** Shown after the mark of a cell that changes later. */
function momentMark(moment: number): string {
  return `~${moment + 1}`
}

/** As many callers side by side as fit, at least one. */
function intoParts(columns: readonly ShownColumn[], width: number): readonly (readonly ShownColumn[])[] {
  const parts: ShownColumn[][] = []
  let used = Number.POSITIVE_INFINITY
  for (const column of columns) {
    if (used + GAP.length + column.width > width) {
      parts.push([])
      used = 0
    }
    parts.at(-1)?.push(column)
    used += GAP.length + column.width
  }
  return parts
}

function legend({ columns, rows, conditions }: Matrix, names: readonly string[]): Paragraph {
  const long = columns.flatMap(({ name }, i) => (names[i] === name ? [] : [[names[i] ?? '', printable(name)]]))
  const decisive = [...new Set(rows.flatMap(({ cells }) => cells.flatMap((cell) => cell.conditions ?? [])))]
  const used = new Set(rows.map(({ relation }) => relation))
  const relations = Object.entries(RELATIONS).filter(([relation]) => used.has(relation))
  const entries = [
    ['all', 'every field, or the action as a whole'],
    ['a name', 'the fields of that view (views.yaml)'],
    ['3/8', '3 of 8 fields; --format json names them'],
    ['-', 'denied (after a method: the request concerns no object)'],
    ...relations.filter(([relation]) => relation !== '-'),
    ...momentsOf(rows).map((moment, i) => [momentMark(i), `until ${timeText(moment)}, when a rule or a block ends`]),
    ...(decisive.length > 0
      ? [
          ['?', `depends on conditions of the request: ${decisive.join(', ')} (--with)`],
          [
            '',
            `here, of these conditions, ${conditions.join(', ') || 'none'} ${conditions.length > 1 ? 'hold' : 'holds'}`,
          ],
        ]
      : []),
    ...(rows.some(({ becomes }) => becomes !== undefined)
      ? [['draft>placed', 'before and after a write; other relations stay']]
      : []),
    ['owner+draft', 'these relations hold, and no other that a rule names'],
    ...mergedEntries(rows),
    ...long,
  ]
  return table(entries)
}

function mergedEntries(rows: readonly MatrixRow[]): readonly (readonly string[])[] {
  const merged = rows.filter(({ states }) => states !== undefined)
  if (merged.length === 0) return []
  const methods = [...new Set(merged.map(({ methods, path }) => `${methods.join(' ')} ${path}`))].join(', ')
  return [
    [`owner+!draft+${MERGED}`, "owner holds and draft doesn't; other relations make no difference"],
    ['', `so nothing is left out of ${methods}; --relation NAMES shows each write of one object`],
  ]
}

/** Names that fit a heading; two names with the same beginning stay different. */
function shortNames(columns: readonly PermissionColumn[]): readonly string[] {
  return columns.map(({ name }, i) => {
    const shown = printable(name)
    return shown.length > LONGEST_NAME ? `${shorten(shown, LONGEST_NAME - 4)}#${i + 1}` : shown
  })
}

function shorten(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text
}
