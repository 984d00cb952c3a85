/**
 * A matrix as one HTML page: a heat map. src/present/browser/access-matrix.js makes it react to keys and filters.
 */
import { timeText } from '../../base/time.ts'
import { rulePlace } from '../../decide/evidence.ts'
import { type Html, html } from '../../present/html.ts'
import type { LegendEntry, Page } from '../../present/page.ts'
import { count } from '../../present/text.ts'
import type { MatrixCell } from './cell.ts'
import type { Matrix } from './matrix.ts'
import type { MatrixRow } from './merge-rows.ts'
import { paperHtml } from './paper.ts'
import { markOf, OBJECTS, reasonText, relationLabel, relationText, untilOf } from './words.ts'

export function matrixPage(matrix: Matrix): Page {
  const { path, relation, mark } = gridSizes(matrix)
  return {
    heading: 'Access matrix',
    title: `Access matrix of policy ${matrix.revision}`,
    layout: 'grid',
    about: aboutHtml(matrix),
    legend: LEGEND,
    filters: filtersHtml(matrix),
    main: html`${accessGridHtml(matrix)}
<p class="nothing" hidden>No row matches these filters.</p>
${PANEL}`,
    paper: paperHtml(matrix),
    ownStyle: `:root { --path: ${path}; --relation: ${relation}; --mark: ${mark} }\n`,
    script: { file: 'access-matrix.js', data: pageData(matrix) },
  }
}

function aboutHtml({ revision, conditions, columns, rows, at, guarantees }: Matrix): Html {
  const size = `${count(columns.length, 'caller')}, ${count(rows.length, 'row')}`
  return html`<p>Who can do what, by policy <code>${revision}</code> at <time>${timeText(at)}</time>: ${size}${conditionsText(conditions)}</p>
${guarantees.length > 0 && html`<p class="guarantees">What must always hold: ${guarantees.map(guaranteeHtml)}</p>`}`
}

function guaranteeHtml({ name, status }: Matrix['guarantees'][number], i: number): Html {
  return html`${i > 0 && '; '}${name} (${status === 'proven' ? status : html`<strong>${status}</strong>`})`
}

const LEGEND: readonly LegendEntry[] = [
  { meaning: 'all', example: 'all', text: 'every field, or the whole action' },
  { meaning: 'some', example: 'view', text: 'some fields' },
  { meaning: 'no', example: '\u2013', text: 'denied' },
  { example: '?', text: 'depends on conditions of the request' },
  { example: '~', text: 'changes when a rule or a block ends' },
]

function conditionsText(holding: readonly string[]): string {
  return holding.length === 0 ? '' : `, while ${holding.join(', ')} ${holding.length === 1 ? 'holds' : 'hold'}`
}

const OUTCOMES = [
  ['allowed', 'allowed'],
  ['all', 'all fields'],
  ['some', 'some fields'],
  ['no', 'denied'],
] as const

function filtersHtml({ columns, rows }: Matrix): Html {
  const callers = columns.map(({ name }) => name)
  const resources = [...new Set(rows.map(({ resource }) => resource))]
  const methods = [...new Set(rows.flatMap((row) => row.methods))]
  return html`<form class="filters" role="search" hidden>
<label class="search">${SEARCH}<kbd>/</kbd></label>
${selectHtml('Caller', 'all callers', callers.map(twice))}
${selectHtml('Resource', 'all resources', resources.map(twice))}
${selectHtml('Method', 'all methods', methods.map(twice))}
${selectHtml('Outcome', 'any outcome', OUTCOMES)}
<label class="check"><input type="checkbox" name="lines"> Rule lines</label>
<button type="button" class="clear">Clear</button>
<output></output>
</form>`
}

const SEARCH = html`<input type="search" name="text" aria-label="Find" placeholder="path, relation, policy.csv:14"
 autocomplete="off" spellcheck="false" aria-keyshortcuts="/">`

type SelectOption = readonly [value: string, label: string]

function twice(name: string): SelectOption {
  return [name, name]
}

function selectHtml(label: string, whole: string, choices: readonly SelectOption[]): Html {
  const options = choices.map(([value, text]) => html`<option value="${value}">${text}</option>`)
  const all = html`<option value="">${whole}</option>`
  return html`<label><span class="name">${label}</span> <select name="${label.toLowerCase()}">${all}${options}</select></label>`
}

const PANEL = html`<aside class="panel" role="dialog" aria-labelledby="outcome" hidden>
<button type="button" class="close" aria-label="Close" title="Close (Esc)">&times;</button>
<h2 id="outcome" tabindex="-1"></h2>
<div class="body"></div>
</aside>`

/** The data for the page's script: each different cell once, because most cells are alike. */
function pageData(matrix: Matrix) {
  const cells = new Map<string, number>()
  const indexOf = (cell: MatrixCell, row: MatrixRow) => {
    const key = JSON.stringify(pageCell(cell, row))
    return cells.get(key) ?? cells.set(key, cells.size).size - 1
  }
  const rows = matrix.rows.map((row) => ({ ...pageRow(row), cells: row.cells.map((cell) => indexOf(cell, row)) }))
  return {
    callers: matrix.columns.map(({ name, description }) => ({ name, description })),
    rows,
    cells: [...cells.keys()].map((key) => JSON.parse(key)),
    rules: Object.fromEntries(
      matrix.rules.map((rule) => [rule.line, { place: rulePlace(rule.line), effect: rule.effect, text: rule.text }]),
    ),
  }
}

/** A cell whose rules are line numbers of policy.csv. */
function pageCell(cell: MatrixCell, row: MatrixRow) {
  const { outcome, granted, fields, views, rules } = cell
  const lines = rules.map(({ line }) => line)
  return { outcome, granted, fields, views, reason: reasonText(cell, row), rules: lines, until: untilOf(cell) }
}

function pageRow(row: MatrixRow) {
  const { resource, path, methods, action, view, fields, object } = row
  const about = object === 'none' ? '' : relationText(row)
  return { resource, path, methods, action, relation: relationLabel(row), view, fields, about, object: OBJECTS[object] }
}

const HEADINGS = html`<span class="m">Method</span> <span class="p">Path</span> <span class="r">Relation</span>`

/** With more callers than this, their names are written vertically. */
const MANY = 14

/** In characters: what is longer goes on in the next line. */
const MOST = { path: 44, relation: 30, mark: 8 } as const

function accessGridHtml({ columns, rows }: Matrix): Html {
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
function gridSizes({ rows }: Matrix): Readonly<Record<keyof typeof MOST, number>> {
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
