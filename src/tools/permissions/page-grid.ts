/** The markup of the heat map, and how wide its columns must be. */

import { type Html, html } from '../../present/html.ts'
import type { MatrixCell } from './cell.ts'
import type { Matrix } from './matrix.ts'
import type { MatrixRow } from './merge-rows.ts'
import { markOf, relationLabel, relationText, untilOf } from './words.ts'

const HEADINGS = html`<span class="m">Method</span> <span class="p">Path</span> <span class="r">Relation</span>`

/** With more callers than this, their names are written vertically. */
const MANY = 14

/** In characters: what is longer goes on in the next line. */
const MOST = { path: 44, relation: 30, mark: 8 } as const

export function accessGridHtml({ columns, rows }: Matrix): Html {
  const heads = columns.map(
    ({ name, description }) => html`<th scope="col" title="${name}: ${description}"><span>${name}</span></th>`,
  )
  const groups = [...Map.groupBy(rows, ({ resource }) => resource)]
  const many = columns.length > MANY && html` class="many"`
  return html`<div class="scroll">
<table role="grid" aria-label="Who can do what" aria-readonly="true" aria-describedby="keys"${many}>
<caption id="keys">Arrow keys move, Enter explains a cell, / searches, Escape closes.</caption>
<thead><tr><th scope="col" class="corner"><div class="lead">${HEADINGS}</div></th>${heads}</tr></thead>
${groups.map(([resource, about]) => groupHtml(resource, about, columns.length))}
</table>
</div>`
}

/** The widths that the style needs, in characters. */
export function gridSizes({ rows }: Matrix): Readonly<Record<keyof typeof MOST, number>> {
  const longest = (texts: readonly string[], kind: keyof typeof MOST, least: number) =>
    texts.reduce((most, { length }) => Math.min(Math.max(most, length), MOST[kind]), least)
  return {
    path: longest(
      rows.map(({ path }) => path),
      'path',
      4,
    ),
    relation: longest(rows.map(relationLabel), 'relation', 10),
    mark: longest(
      rows.flatMap((row) => row.cells.map((cell) => markOf(cell, row))),
      'mark',
      4,
    ),
  }
}

function groupHtml(resource: string, rows: readonly MatrixRow[], columns: number): Html {
  return html`<tbody>
<tr class="group"><th scope="rowgroup" colspan="${columns + 1}"><span>${resource}</span></th></tr>
${rows.map((row, i) => rowHtml(row, rows[i - 1]))}</tbody>
`
}

/** If the row before has the same path, the path is repeated in a quiet style. */
function rowHtml({ methods, path, cells, ...row }: MatrixRow, before: MatrixRow | undefined): Html {
  const method = html`<span class="m">${methods.join(' ')}</span>`
  const where = html`<span class="p" title="${path}">${path}</span>`
  const how =
    row.relation !== '-' && html`<span class="r" title="${relationText(row)}">${breakable(relationLabel(row))}</span>`
  const head = html`<th scope="row"><div class="lead">${method} ${where} ${how}</div></th>`
  const marks = cells.map((cell) => cellHtml(cell, row))
  return html`<tr class="row${path === before?.path && ' again'}">${head}${marks}</tr>\n`
}

/** Names stay whole where a line ends. */
function breakable(label: string): Html {
  return html`${label.split(/(?=[+>])/).map((part, i) => html`${i > 0 && html`<wbr>`}${part}`)}`
}

/** Has a word and a pattern besides the colour. The lines of the rules are shown in print, or on demand. */
function cellHtml(cell: MatrixCell, row: Pick<MatrixRow, 'fields'>): Html {
  const lines = cell.rules.map(({ line }) => line).join(' ')
  const rules = lines !== '' && html` data-lines="${lines}"`
  const until = untilOf(cell)
  const turn = until !== undefined && html` <small title="until ${until}">~</small>`
  const depends = cell.conditions && html` <small title="depends on ${cell.conditions.join(', ')}">?</small>`
  if (cell.outcome === 'denied') {
    const label = `denied${until === undefined ? '' : ` until ${until}`}`
    return html`<td class="no" aria-label="${label}"${rules}>&ndash;${depends}${turn}</td>`
  }
  return html`<td class="${cell.granted === 'all' ? 'all' : 'some'}"${rules}>${markOf(cell, row)}${depends}${turn}</td>`
}
