/**
 * A run as one page without a script: the matrices in green and red, each red cell a link to what was asked and
 * answered.
 */
import { type Html, html, toPage } from '../../../present/html.ts'
import { countOf, type Exchange, isGreen, type Result, type Run } from '../run/result.ts'
import { type Cause, causesOf, sentenceOf } from './causes.ts'
import { anchorOf, runGridHtml } from './page-grid.ts'

export function toHtml(run: Run): string {
  return toPage({
    title: `${isGreen(run) ? 'Green' : 'Red'}: matrix test of ${run.startedAt}`,
    styles: ['page.css', 'matrix-run.css'],
    body: html`${headHtml(run)}
<main>
${run.remarks.map((remark) => html`<p class="remark">${remark}</p>\n`)}
${causesOf(run.results).map(causeHtml)}
<label class="check"><input type="checkbox" id="red"> Only rows with red cells</label>
${runGridHtml(run.results)}
</main>`,
  })
}

/** Faults come first. */
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

function headHtml(run: Run): Html {
  const { url, startedAt, milliseconds, results } = run
  const { passed, failed, impossible, 'left-out': left } = countOf(results)
  return html`<header>
<div>
<h1${!isGreen(run) && html` class="bad"`}>${headline(run)}</h1>
<p>${startedAt}, ${(milliseconds / 1000).toFixed(1)} s, ${url === undefined ? 'in one process' : `at ${url}`}</p>
</div>
<ul class="legend" aria-label="Legend">
<li><span class="key green">200</span> as expected: ${passed}</li>
<li><span class="key red">403 not 200</span> wrong: expected 403, got 200 (${failed})</li>
<li><span class="key gray">200 ?</span> can't be tried: ${impossible}</li>
${left > 0 && html`<li><span class="key none">200 &hellip;</span> left out: ${left}</li>`}
</ul>
</header>`
}

/** If a cause has many cells, their requests and answers are folded; a link to one unfolds it. */
function causeHtml(cause: Cause): Html {
  const { kind, results } = cause
  const [first, ...more] = results
  if (more.length === 0) return html`<section class="cause ${kind}">${detailHtml(first)}</section>\n`
  const cells = results.map((result) => html`<details>${summaryHtml(result)}${detailHtml(result)}</details>\n`)
  return html`<section class="cause ${kind}"><h2>${sentenceOf(cause)}</h2>\n${cells}</section>\n`
}

function summaryHtml({ title, place }: Result): Html {
  return html`<summary>${title} <code class="quiet">${place.file}:${place.line}:${place.column}</code></summary>`
}

function detailHtml(result: Result): Html {
  const { title, place, why = '', explain, exchanges } = result
  return html`<article id="${anchorOf(result)}" tabindex="-1">
<h3>${title}</h3>
<p class="quiet"><code>${place.file}:${place.line}:${place.column}</code></p>
<p class="why">${why}</p>
${explain !== undefined && html`<p>To see why, run: <code>${explain}</code></p>`}
${exchanges.map(exchangeHtml)}
</article>`
}

function exchangeHtml({ request, answer }: Exchange): Html {
  const sent = [`${request.method} ${request.url}`, ...headerLines(request.headers), ...bodyLines(request.body)]
  const received = answer
    ? [`${answer.status}`, ...headerLines(answer.headers), '', readable(answer.text)]
    : ['no answer']
  const part = (title: string, lines: readonly string[]) =>
    html`<div><h4>${title}</h4><pre>${lines.join('\n')}</pre></div>`
  return html`<div class="exchange">${part('Request', sent)}${part('Answer', received)}</div>\n`
}

function headerLines(headers: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
}

function bodyLines(body: unknown): readonly string[] {
  return body === undefined ? [] : ['', JSON.stringify(body, null, 2)]
}

/** JSON with one member a line; other text as it is. */
function readable(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
