/**
 * A run as one page that needs nothing else and runs no script: the matrices in green and red, each red cell a link to
 * what was asked and answered. The Content-Security-Policy holds the page to that: even a hole in the escaping would not run.
 */
import { createHash } from 'node:crypto'
import { escapeHtml } from '../../../present/escape.ts'
import { LAYOUT_STYLE } from '../../permissions/page-style-layout.ts'
import { countOf, isGreen, type Run } from '../run/result.ts'
import { detailsHtml } from './html-details.ts'
import { gridHtml } from './html-grid.ts'
import { RUN_STYLE } from './html-style.ts'

const STYLE = `${LAYOUT_STYLE}${RUN_STYLE}`

export function toHtml(run: Run): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${securityPolicy()}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>${isGreen(run) ? 'Green' : 'Red'}: matrix test of ${escapeHtml(run.startedAt)}</title>
<style>${STYLE}</style>
</head>
<body>
${headHtml(run)}
<main>
${run.remarks.map((remark) => `<p class="remark">${escapeHtml(remark)}</p>`).join('\n')}
${detailsHtml(run.results)}
<label class="check"><input type="checkbox" id="red"> Only rows with red cells</label>
${gridHtml(run.results)}
</main>
</body>
</html>
`
}

function securityPolicy(): string {
  const style = `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`
  return `default-src 'none'; style-src ${style}; img-src data:; base-uri 'none'; form-action 'none'`
}

/** What is wrong comes first. */
function headline({ results }: Run): string {
  const { passed, failed, impossible, 'left-out': left } = countOf(results)
  const bad = [
    ...(failed > 0 ? [`${failed} wrong`] : []),
    ...(impossible > 0 ? [`${impossible} can't be tried`] : []),
    ...(left > 0 ? [`${left} left out`] : []),
  ]
  if (bad.length === 0)
    return results.length === 1 ? 'The only cell is as expected' : `All ${passed} cells are as expected`
  return `${bad.join(', ')}; ${passed} of ${results.length} as expected`
}

function headHtml(run: Run): string {
  const { url, startedAt, milliseconds, results } = run
  const { passed, failed, impossible, 'left-out': left } = countOf(results)
  const where = url === undefined ? 'in one process' : `at ${escapeHtml(url)}`
  const seconds = (milliseconds / 1000).toFixed(1)
  return `<header>
<div>
<h1${isGreen(run) ? '' : ' class="bad"'}>${headline(run)}</h1>
<p>${escapeHtml(startedAt)}, ${seconds} s, ${where}</p>
</div>
<ul class="legend" aria-label="Legend">
<li><span class="key green">200</span> as expected: ${passed}</li>
<li><span class="key red">403 not 200</span> wrong: expected 403, got 200 (${failed})</li>
<li><span class="key gray">200 ?</span> can't be tried: ${impossible}</li>
${left > 0 ? `<li><span class="key none">200 &hellip;</span> left out: ${left}</li>` : ''}
</ul>
</header>`
}
