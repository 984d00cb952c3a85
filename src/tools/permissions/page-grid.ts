/** The markup of the heat map and of the list of rules that is printed below it. */

import { escapeHtml } from '../../present/escape.ts'
import type { Cell } from './cell.ts'
import type { Matrix, MatrixColumn, MatrixRow } from './matrix.ts'
import { markOf, placeOf, relationText, untilOf } from './words.ts'

/** With more callers than this their names stand upright. */
const MANY = 14
const LONGEST_PATH = 44

export function gridHtml({ columns, rows }: Matrix): string {
  const heads = columns.map(columnHtml).join('')
  const groups = [...Map.groupBy(rows, ({ resource }) => resource)]
  return `<div class="scroll">
<table role="grid" aria-label="Who can do what" aria-readonly="true" aria-describedby="keys"${columns.length > MANY ? ' class="many"' : ''}>
<caption id="keys">Arrow keys move, Enter tells why, / finds, Escape closes.</caption>
<thead><tr><th scope="col" class="corner"><div class="lead"><span class="m">Method</span> <span class="p">Path</span> <span class="r">Relation</span></div></th>${heads}</tr></thead>
${groups.map(([resource, about]) => groupHtml(resource, about, columns.length)).join('\n')}
</table>
</div>`
}

/** All rules that decide a cell, for the printed page. */
export function rulesHtml({ rules }: Matrix): string {
  const lines = rules.map((rule) => `<dt>${placeOf(rule)}</dt><dd>${escapeHtml(rule.text)}</dd>`)
  return `<section class="rules"><h2>The rules that decide</h2><dl>${lines.join('\n')}</dl></section>`
}

/** Characters that the longest path takes. */
export function pathWidth({ rows }: Matrix): number {
  return Math.min(Math.max(...rows.map(({ path }) => path.length), 4), LONGEST_PATH)
}

function columnHtml({ name, description }: MatrixColumn): string {
  return `<th scope="col" title="${escapeHtml(`${name}: ${description}`)}"><span>${escapeHtml(name)}</span></th>`
}

function groupHtml(resource: string, rows: readonly MatrixRow[], columns: number): string {
  return `<tbody>
<tr class="group"><th scope="rowgroup" colspan="${columns + 1}"><span>${escapeHtml(resource)}</span></th></tr>
${rows.map((row, i) => rowHtml(row, rows[i - 1])).join('\n')}
</tbody>`
}

/** A path that the row before has as well is said again, quietly. */
function rowHtml(row: MatrixRow, before: MatrixRow | undefined): string {
  const { methods, path, relation } = row
  const method = `<span class="m">${methods.join(' ')}</span>`
  const where = `<span class="p" title="${escapeHtml(path)}">${escapeHtml(path)}</span>`
  const how = `<span class="r" title="${escapeHtml(relationText(relation))}">${escapeHtml(relation)}</span>`
  const head = `<th scope="row"><div class="lead">${method} ${where} ${relation === '-' ? '' : how}</div></th>`
  const cells = row.cells.map((cell) => cellHtml(cell, row))
  return `<tr class="row${path === before?.path ? ' again' : ''}">${head}${cells.join('')}</tr>`
}

/** A word and a pattern beside the colour; the lines of the rules show in print, or when they are asked for. */
function cellHtml(cell: Cell, row: MatrixRow): string {
  const lines = cell.rules.map(({ line }) => line).join(' ')
  const rules = lines === '' ? '' : ` data-lines="${lines}"`
  const until = untilOf(cell)
  const turn = until === undefined ? '' : ` <small title="until ${until}">~</small>`
  if (cell.outcome === 'denied') {
    return `<td class="no" aria-label="denied${until === undefined ? '' : ` until ${until}`}"${rules}>&ndash;${turn}</td>`
  }
  return `<td class="${cell.granted === 'all' ? 'all' : 'some'}"${rules}>${escapeHtml(markOf(cell, row))}${turn}</td>`
}
