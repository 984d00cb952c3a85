/** Coverage as one page that needs nothing else and runs no script: what is stated is green, what is not is red. */
import { createHash } from 'node:crypto'
import { escapeHtml } from '../../review/matrix/escape.ts'
import { LAYOUT_STYLE } from '../../review/matrix/page-style-layout.ts'
import { type Coverage, type CoverageCell, type CoveredPart, percentOf } from './coverage.ts'

const STYLE = `${LAYOUT_STYLE}
html, body { height: auto }
main { display: block; padding: 4px 20px 28px; overflow: auto }
h2 { margin: 22px 0 8px; font-size: 16px }
table { border-collapse: separate; border-spacing: 2px }
th { padding: 3px 10px 3px 0; text-align: left; font-weight: 500; white-space: nowrap }
thead th { position: sticky; top: 0; background: var(--card) }
td { min-width: 84px; padding: 3px 8px; border-radius: 5px; text-align: center }
td.yes, .key.yes { background: var(--all); color: var(--all-text) }
td.no, .key.no { background: var(--no); color: var(--no-text); font-weight: 600 }
td.none { color: var(--quiet) }
.figures { display: flex; flex-wrap: wrap; gap: 8px 28px; margin: 0; padding: 0; list-style: none }
.figures b { font-size: 17px }
`

export function toPage(coverage: Coverage): string {
  const { cells, rules, relations, views } = coverage
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${securityPolicy()}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>What the matrices state</title>
<style>${STYLE}</style>
</head>
<body>
<header>
<div><h1>What the matrices state</h1>
<ul class="figures">${[figure('cells', cells), figure('rules', rules), figure('relations', relations), figure('views', views)].join('')}</ul></div>
<ul class="legend" aria-label="Legend"><li><span class="key yes">stated</span> an expectation</li><li><span class="key no">open</span> none</li></ul>
</header>
<main>
${[partsHtml('Rules', rules), partsHtml('Relations', relations), partsHtml('Views', views)].join('\n')}
${gridsHtml(cells)}
</main>
</body>
</html>
`
}

function securityPolicy(): string {
  const style = `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`
  return `default-src 'none'; style-src ${style}; img-src data:; base-uri 'none'; form-action 'none'`
}

function figure(name: string, parts: readonly { readonly covered: boolean }[]): string {
  const covered = parts.filter((part) => part.covered).length
  return `<li><b>${Math.floor(percentOf(parts) * 10) / 10} %</b> of ${name} (${covered} of ${parts.length})</li>`
}

/** Those that no expectation depends on. */
function partsHtml(title: string, parts: readonly CoveredPart[]): string {
  const missing = parts.filter(({ covered }) => !covered)
  if (missing.length === 0) return `<h2>${title}</h2><p class="quiet">An expectation depends on each.</p>`
  const rows = missing.map(
    ({ place, text }) =>
      `<tr><th scope="row"><code>${escapeHtml(place)}</code></th><th><code>${escapeHtml(text)}</code></th></tr>`,
  )
  return `<h2>${title} that no expectation depends on</h2><table><tbody>${rows.join('\n')}</tbody></table>`
}

function gridsHtml(cells: readonly CoverageCell[]): string {
  const columns = [...new Set(cells.map(({ column }) => column))]
  const heads = columns.map((column) => `<th scope="col">${escapeHtml(column)}</th>`).join('')
  return [...Map.groupBy(cells, ({ resource }) => resource)]
    .map(([resource, about]) => {
      const rows = [...Map.groupBy(about, ({ method, path, object }) => `${method} ${path} (${object})`)]
      const body = rows.map(
        ([row, some]) =>
          `<tr><th scope="row"><code>${escapeHtml(row)}</code></th>${columns.map((column) => cellHtml(some, column)).join('')}</tr>`,
      )
      return `<h2>${escapeHtml(resource)}</h2><table><thead><tr><th scope="col"></th>${heads}</tr></thead><tbody>${body.join('\n')}</tbody></table>`
    })
    .join('\n')
}

/** A caller without credentials can't be asked about an object of their own. */
function cellHtml(cells: readonly CoverageCell[], column: string): string {
  const cell = cells.find((one) => one.column === column)
  if (!cell) return '<td class="none">&ndash;</td>'
  return cell.covered ? '<td class="yes">stated</td>' : '<td class="no">open</td>'
}
