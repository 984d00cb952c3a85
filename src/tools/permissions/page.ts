/**
 * A matrix as one HTML page: a heat map. src/present/browser/access-matrix.js makes it react to keys and filters.
 */

import { rulePlace } from '../../decide/evidence.ts'
import { type Html, html, toPage } from '../../present/html.ts'
import type { MatrixCell } from './cell.ts'
import type { Matrix } from './matrix.ts'
import type { MatrixRow } from './matrix-row.ts'
import { accessGridHtml, pathWidth, rulesHtml } from './page-grid.ts'
import { OBJECTS, reasonText, relationLabel, relationText, untilOf } from './words.ts'

export function matrixPage(matrix: Matrix): string {
  return toPage({
    title: `Access matrix of policy ${matrix.revision}`,
    styles: ['page.css', 'access-matrix.css'],
    ownStyle: `:root { --path: ${pathWidth(matrix)}; --callers: ${matrix.columns.length} }\n`,
    script: { file: 'access-matrix.js', data: pageData(matrix) },
    body: html`${headHtml(matrix)}
${filtersHtml(matrix)}
<main>
${accessGridHtml(matrix)}
<p class="nothing" hidden>No row matches these filters.</p>
${PANEL}
</main>
${rulesHtml(matrix)}`,
  })
}

function headHtml({ revision, conditions, columns, rows }: Matrix): Html {
  return html`<header>
<div>
<h1>Access matrix</h1>
<p>Who can do what, by policy <code>${revision}</code>: ${columns.length} callers, ${rows.length} rows${conditionsText(conditions)}</p>
</div>
<ul class="legend" aria-label="Legend">
<li><span class="key all">all</span> every field, or the whole action</li>
<li><span class="key some">view</span> some fields</li>
<li><span class="key no">&ndash;</span> denied</li>
${CONDITIONAL}</ul>
</header>`
}

const CONDITIONAL = html`<li><span class="key">?</span> depends on conditions of the request</li>
`

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

type Choice = readonly [value: string, label: string]

function twice(name: string): Choice {
  return [name, name]
}

function selectHtml(label: string, whole: string, choices: readonly Choice[]): Html {
  const options = choices.map(([value, text]) => html`<option value="${value}">${text}</option>`)
  const all = html`<option value="">${whole}</option>`
  return html`<label>${label} <select name="${label.toLowerCase()}">${all}${options}</select></label>`
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
