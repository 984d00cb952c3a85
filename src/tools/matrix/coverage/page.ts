/**
 * Coverage as one page that needs nothing else and runs no script: each cell shows what the policy answers, open ones in red
 * and first. Its filters are plain CSS.
 */
import { createHash } from 'node:crypto'
import { escapeHtml } from '../../../present/escape.ts'
import { LAYOUT_STYLE } from '../../permissions/page-style-layout.ts'
import type { CoverageCell, UnaskedCell } from '../cells/survey.ts'
import { type Coverage, type CoveredPart, percentOf, type UnseenMistakes } from './coverage.ts'

const STYLE = `${LAYOUT_STYLE}
html, body { height: auto }
main { display: block; padding: 4px 20px 28px; overflow: auto }
h2 { margin: 22px 0 8px; font-size: 16px }
table { border-collapse: separate; border-spacing: 2px }
th { padding: 3px 10px 3px 0; text-align: left; font-weight: 500; white-space: nowrap }
thead th { position: sticky; top: 0; background: var(--card) }
td { min-width: 84px; padding: 3px 8px; border-radius: 5px; text-align: center; white-space: nowrap }
td.yes, .key.yes { background: var(--all); color: var(--all-text) }
td.no, .key.no { background: var(--no); color: var(--no-text); font-weight: 600 }
td.none { color: var(--quiet) }
.figures { display: flex; flex-wrap: wrap; gap: 8px 28px; margin: 0; padding: 0; list-style: none }
.figures b { font-size: 17px }
body:has(#open:checked) .row:not(:has(.no)) { display: none }
body:has(#open:checked) .resource:not(:has(.no)) { display: none }
@media print { .filters { display: none } }
`

/** Cells by resource, those with more open cells first; columns in the order of the cells. */
interface Grid {
  readonly columns: readonly string[]
  readonly resources: readonly (readonly [string, readonly CoverageCell[]])[]
}

export function toPage(coverage: Coverage): string {
  const { cells, unasked, rules, relations, views } = coverage
  const grid = gridOf(cells)
  const style = `${STYLE}${filterStyle(grid)}`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${securityPolicy(style)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>What the matrices state</title>
<style>${style}</style>
</head>
<body>
<header>
<div><h1>What the matrices state</h1>
<ul class="figures">${[figure('cells', cells), figure('rules', rules), figure('relations', relations), figure('views', views)].join('')}</ul></div>
<ul class="legend" aria-label="Legend"><li><span class="key yes">200</span> stated by a matrix</li><li><span class="key no">200 open</span> no expectation</li></ul>
</header>
${filtersHtml(grid)}
<main>
${[partsHtml('Rules', rules), partsHtml('Relations', relations), partsHtml('Views', views)].join('\n')}
${mistakesHtml(coverage.mistakes)}
${unaskedHtml(unasked)}
${gridsHtml(grid)}
</main>
</body>
</html>
`
}

function securityPolicy(style: string): string {
  const digest = `'sha256-${createHash('sha256').update(style).digest('base64')}'`
  return `default-src 'none'; style-src ${digest}; img-src data:; base-uri 'none'; form-action 'none'`
}

function figure(name: string, parts: readonly { readonly covered: boolean }[]): string {
  const covered = parts.filter((part) => part.covered).length
  return `<li><b>${Math.floor(percentOf(parts) * 10) / 10} %</b> of ${name} (${covered} of ${parts.length})</li>`
}

/** Those that no expectation depends on. */
function partsHtml(title: string, parts: readonly CoveredPart[]): string {
  const missing = parts.filter(({ covered }) => !covered)
  if (missing.length === 0) return `<p class="quiet">${title}: an expectation depends on each.</p>`
  const rows = missing.map(
    ({ place, text }) =>
      `<tr><th scope="row"><code>${escapeHtml(place)}</code></th><th><code>${escapeHtml(text)}</code></th></tr>`,
  )
  return `<h2>${title} that no expectation depends on</h2><table><tbody>${rows.join('\n')}</tbody></table>`
}

function mistakesHtml(mistakes: readonly UnseenMistakes[]): string {
  if (mistakes.length === 0) return ''
  const rows = mistakes.map(({ place, text, operators }) => {
    const code = (one: string) => `<code>${escapeHtml(one)}</code>`
    return `<tr><th scope="row">${code(place)}</th><th>${code(text)}</th><th>${escapeHtml(operators.join(', '))}</th></tr>`
  })
  return `<h2>Rules in which a mistake changes a decision, and no expectation notices it</h2><table><tbody>${rows.join('\n')}</tbody></table>`
}

/** A row for each request, with the callers. */
function unaskedHtml(cells: readonly UnaskedCell[]): string {
  if (cells.length === 0) return ''
  const groups = Map.groupBy(cells, ({ method, path, object, why }) => `${method} ${path} (${object})\n${why}`)
  const rows = [...groups].map(([key, some]) => {
    const [request = '', why = ''] = key.split('\n')
    const columns = some.map(({ column }) => column).join(', ')
    return `<tr><th scope="row"><code>${escapeHtml(request)}</code></th><th>${escapeHtml(columns)}</th><th>${escapeHtml(why)}</th></tr>`
  })
  return `<h2>${cells.length} cells that can't be asked</h2><table><tbody>${rows.join('\n')}</tbody></table>`
}

function gridOf(cells: readonly CoverageCell[]): Grid {
  const resources = [...Map.groupBy(cells, ({ resource }) => resource)]
  return {
    columns: [...new Set(cells.map(({ column }) => column))],
    resources: resources.toSorted(([, one], [, other]) => openIn(other) - openIn(one)),
  }
}

function openIn(cells: readonly CoverageCell[]): number {
  return cells.filter(({ covered }) => !covered).length
}

function filtersHtml({ columns, resources }: Grid): string {
  const options = (names: readonly string[]) => names.map((name) => `<option>${escapeHtml(name)}</option>`).join('')
  return `<div class="filters">
<label>Resource <select id="resource"><option>all</option>${options(resources.map(([name]) => name))}</select></label>
<label>Caller <select id="caller"><option>all</option>${options(columns)}</select></label>
<label><input type="checkbox" id="open"> Only open cells</label>
</div>`
}

/** By numbers, so that no name gets into the style. */
function filterStyle({ columns, resources }: Grid): string {
  const chosen = (select: string, i: number) => `body:has(#${select} option:nth-child(${i + 2}):checked)`
  const one = resources.map((_, i) => `${chosen('resource', i)} .resource:not(.r${i}) { display: none }`)
  const caller = columns.flatMap((_, i) => [
    `${chosen('caller', i)} .c:not(.c${i}) { display: none }`,
    `${chosen('caller', i)}:has(#open:checked) .row:not(:has(.c${i}.no)) { display: none }`,
    `${chosen('caller', i)}:has(#open:checked) .resource:not(:has(.c${i}.no)) { display: none }`,
  ])
  return [...one, ...caller, ''].join('\n')
}

function gridsHtml({ columns, resources }: Grid): string {
  const heads = columns.map((column, i) => `<th scope="col" class="c c${i}">${escapeHtml(column)}</th>`).join('')
  return resources
    .map(([resource, about], i) => {
      const rows = [...Map.groupBy(about, ({ method, path, object }) => `${method} ${path} (${object})`)]
      const body = rows
        .toSorted(([, one], [, other]) => openIn(other) - openIn(one))
        .map(([row, some]) => {
          const cells = columns.map((column, at) => cellHtml(some, column, at)).join('')
          return `<tr class="row"><th scope="row"><code>${escapeHtml(row)}</code></th>${cells}</tr>`
        })
      const open = openIn(about)
      const figure = open === 0 ? 'all stated' : `${open} open`
      return `<section class="resource r${i}"><h2>${escapeHtml(resource)} <span class="quiet">${figure}</span></h2><table><thead><tr><th scope="col"></th>${heads}</tr></thead><tbody>${body.join('\n')}</tbody></table></section>`
    })
    .join('\n')
}

/** A caller without credentials can't be asked about an object of their own. */
function cellHtml(cells: readonly CoverageCell[], column: string, at: number): string {
  const cell = cells.find((one) => one.column === column)
  if (!cell) return `<td class="c c${at} none">&ndash;</td>`
  const answer = escapeHtml(cell.answer)
  return cell.covered ? `<td class="c c${at} yes">${answer}</td>` : `<td class="c c${at} no">${answer} open</td>`
}
