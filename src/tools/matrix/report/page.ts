/** A run as one page without a script: the matrices with a cell for each answer; a wrong cell leads to what was asked. */
import { type Html, html } from '../../../present/html.ts'
import { chooserHtml, type LegendEntry, type Page, proseHtml } from '../../../present/page.ts'
import { countOf, type Exchange, isGreen, type Result, type Run } from '../run/result.ts'
import { type Cause, causesOf, placeOf, sentenceOf } from './causes.ts'
import { anchorOf, runGridHtml } from './page-grid.ts'

export function runPage(run: Run): Page {
  return {
    title: `${isGreen(run) ? 'Green' : 'Red'}: matrix test of ${run.startedAt}`,
    heading: headline(run),
    isBad: !isGreen(run),
    layout: 'report',
    about: html`<p>${aboutText(run)}</p>`,
    legend: legendOf(run),
    filters: filtersHtml(run),
    main: html`${run.remarks.map((remark) => html`<p class="remark">${proseHtml(remark)}</p>\n`)}
${causesOf(run.results).map(causeHtml)}
${runGridHtml(run.results)}`,
  }
}

function aboutText({ url, startedAt, milliseconds }: Run): string {
  return `${startedAt}, ${(milliseconds / 1000).toFixed(1)} s, ${url === undefined ? 'in one process' : `at ${url}`}`
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

/** The counts are those of the cells and cases below. */
function legendOf({ results }: Run): readonly LegendEntry[] {
  const { passed, failed, impossible, 'left-out': left } = countOf(results)
  const entries: readonly LegendEntry[] = [
    { meaning: 'expected', example: '200', text: 'the expected answer', count: passed },
    { meaning: 'wrong', example: '403 not 200', text: 'another answer than the expected one', count: failed },
    { meaning: 'untried', example: '200 ?', text: "can't be tried", count: impossible },
    { meaning: 'left-out', example: '200 \u2026', text: 'left out', count: left },
  ]
  return entries.filter(({ meaning, count }) => meaning !== 'left-out' || count)
}

function filtersHtml(run: Run): Html {
  const { failed, impossible } = countOf(run.results)
  const choices = [
    ['all', `all (${run.results.length})`],
    ['wrong', `wrong only (${failed})`],
    ['untried', `can't be tried only (${impossible})`],
  ] as const
  return html`<div class="filters">${chooserHtml('Show', 'show', choices)}</div>`
}

/** If a cause has many cells, their requests and answers are folded; a link to one unfolds it. */
function causeHtml(cause: Cause): Html {
  const { kind, results } = cause
  const [first, ...more] = results
  if (more.length === 0) return html`<section class="cause of-${kind}">${detailHtml(first)}</section>\n`
  const cells = results.map(
    (result) =>
      html`<details><summary>${result.title} <code class="quiet">${placeOf(result)}</code></summary>${detailHtml(result)}</details>\n`,
  )
  return html`<section class="cause of-${kind}"><h2>${proseHtml(sentenceOf(cause))}</h2>\n${cells}</section>\n`
}

function detailHtml(result: Result): Html {
  const { title, why = '', explain, exchanges } = result
  return html`<article id="${anchorOf(result)}" tabindex="-1">
<h3>${title}</h3>
<p class="quiet"><code>${placeOf(result)}</code></p>
<p class="why">${proseHtml(why)}</p>
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
