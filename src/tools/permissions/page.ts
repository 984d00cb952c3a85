/**
 * A matrix as one page that needs nothing else: a heat map to look around in. It loads nothing and runs its own script
 * alone, which its Content-Security-Policy holds it to: even a hole in the escaping would not run.
 */
import { createHash } from 'node:crypto'
import { escapeHtml, jsonForScript } from '../../present/escape.ts'
import type { Matrix } from './matrix.ts'
import { pageData } from './page-data.ts'
import { gridHtml, pathWidth, rulesHtml } from './page-grid.ts'
import { FILTER_SCRIPT } from './page-script-filter.ts'
import { GRID_SCRIPT } from './page-script-grid.ts'
import { PANEL_SCRIPT } from './page-script-panel.ts'
import { GRID_STYLE } from './page-style-grid.ts'
import { LAYOUT_STYLE } from './page-style-layout.ts'

/** Scripts share one scope, and read from top to bottom. */
const SCRIPT = `'use strict';(() => {\n${GRID_SCRIPT}${PANEL_SCRIPT}${FILTER_SCRIPT}})()\n`

export function toHtml(matrix: Matrix): string {
  const style = `${LAYOUT_STYLE}${GRID_STYLE}:root { --path: ${pathWidth(matrix)}; --callers: ${matrix.columns.length} }\n`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${securityPolicy(style)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>Access matrix of policy ${escapeHtml(matrix.revision)}</title>
<style>${style}</style>
</head>
<body>
${headHtml(matrix)}
${filtersHtml(matrix)}
<main>
${gridHtml(matrix)}
<p class="nothing" hidden>Nothing fits these filters.</p>
${PANEL}
</main>
${rulesHtml(matrix)}
<script type="application/json" id="data">${jsonForScript(pageData(matrix))}</script>
<script>${SCRIPT}</script>
</body>
</html>
`
}

function securityPolicy(style: string): string {
  const hash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
  const sources = `style-src ${hash(style)}; script-src ${hash(SCRIPT)}; img-src data:`
  return `default-src 'none'; ${sources}; base-uri 'none'; form-action 'none'`
}

function headHtml({ revision, columns, rows }: Matrix): string {
  return `<header>
<div>
<h1>Access matrix</h1>
<p>Who can do what, by policy <code>${escapeHtml(revision)}</code>: ${columns.length} callers, ${rows.length} rows</p>
</div>
<ul class="legend" aria-label="Legend">
<li><span class="key all">all</span> every field, or the whole action</li>
<li><span class="key some">view</span> some fields</li>
<li><span class="key no">&ndash;</span> denied</li>
</ul>
</header>`
}

function filtersHtml({ columns, rows }: Matrix): string {
  const resources = new Set(rows.map(({ resource }) => resource))
  const methods = new Set(rows.flatMap((row) => row.methods))
  return `<form class="filters" role="search" hidden>
<label class="search"><input type="search" name="text" aria-label="Find" placeholder="path, relation, policy.csv:14" autocomplete="off" spellcheck="false" aria-keyshortcuts="/"><kbd>/</kbd></label>
${selectHtml(
  'Caller',
  'caller',
  'all callers',
  columns.map(({ name }) => [name, name]),
)}
${selectHtml(
  'Resource',
  'resource',
  'all resources',
  [...resources].map((name) => [name, name]),
)}
${selectHtml(
  'Method',
  'method',
  'all methods',
  [...methods].map((name) => [name, name]),
)}
${selectHtml('Outcome', 'outcome', 'any outcome', OUTCOMES)}
<label class="check"><input type="checkbox" name="lines"> Rule lines</label>
<button type="button" class="clear">Clear</button>
<output></output>
</form>`
}

const OUTCOMES = [
  ['allowed', 'allowed'],
  ['all', 'all fields'],
  ['some', 'some fields'],
  ['no', 'denied'],
] as const

type Choice = readonly [value: string, label: string]

function selectHtml(label: string, name: string, whole: string, choices: readonly Choice[]): string {
  const options = choices.map(([value, text]) => `<option value="${escapeHtml(value)}">${escapeHtml(text)}</option>`)
  return `<label>${label} <select name="${name}"><option value="">${whole}</option>${options.join('')}</select></label>`
}

const PANEL = `<aside class="panel" role="dialog" aria-labelledby="outcome" hidden>
<button type="button" class="close" aria-label="Close" title="Close (Esc)">&times;</button>
<h2 id="outcome" tabindex="-1"></h2>
<div class="body"></div>
</aside>`
