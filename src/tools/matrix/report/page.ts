/** A run as one page without a script: the matrices with a cell for each answer; a wrong cell leads to what was asked. */
import { type Html, html } from '../../../present/html.ts'
import { chooserHtml, keyHtml, type LegendEntry, type Meaning, type Page, proseHtml } from '../../../present/page.ts'
import { columnText, type Expectation, expectedText } from '../read/expectation.ts'
import { situationText } from '../read/words.ts'
import {
  type Cause,
  causesOf,
  countOf,
  type Exchange,
  isGreen,
  OUTCOME_WORDS,
  placeOf,
  type Result,
  type Run,
  sentenceOf,
  type TestOutcome,
} from '../run/result.ts'

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
${[...Map.groupBy(run.results, ({ place }) => place.file)].map(([file, some]) => fileHtml(file, some))}`,
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

/** A result of a cell. */
type CellResult = Result & { readonly expectation: Expectation }

const MEANINGS: Readonly<Record<TestOutcome, Meaning>> = {
  passed: 'expected',
  failed: 'wrong',
  impossible: 'untried',
  'left-out': 'left-out',
}

/** The id of the section that tells about a result. */
function anchorOf(result: Result): string {
  return `at-${encodeURIComponent(`${placeOf(result)}:${result.title}`)}`
}

function fileHtml(file: string, results: readonly Result[]): Html {
  const cells = results.filter(isCell)
  const cases = results.filter((result) => !isCell(result))
  const list = cases.length > 0 && html`<ul class="cases">${cases.map(caseHtml)}</ul>`
  return html`<section class="file"><h2>${file}</h2>\n${cells.length > 0 && tableHtml(file, cells)}${list}</section>\n`
}

function tableHtml(file: string, cells: readonly CellResult[]): Html {
  const columns = [...new Set(cells.map(({ expectation }) => columnText(expectation.column)))]
  const heads = columns.map((name) => html`<th scope="col">${name}</th>`)
  const byRequest = Map.groupBy(cells, ({ place, expectation }) => `${place.line} ${expectation.method}`)
  const rows = [...byRequest.values()].map((row) => rowHtml(row, columns))
  return html`<div class="wide"><table aria-label="${file}">
<thead><tr><th scope="col">Line</th><th scope="col">Request</th><th scope="col">Object</th>${heads}</tr></thead>
<tbody>
${rows}</tbody>
</table></div>`
}

function rowHtml(row: readonly CellResult[], columns: readonly string[]): Html {
  const [first] = row
  if (!first) return html``
  const { method, path, body, note } = first.expectation
  const more = [body?.replace(/^.*[\\/]/, ''), note].filter(Boolean).join(', ')
  const cells = columns.map((name) => cellHtml(row.find(({ expectation }) => columnText(expectation.column) === name)))
  const further = more !== '' && html` <span class="quiet">${more}</span>`
  const head = html`<th scope="row"><code>${method} ${path}</code>${further}</th>`
  const about = html`<td class="line">${first.place.line}</td>${head}<td class="object">${situationText(first.expectation)}</td>`
  return html`<tr class="row">${about}${cells}</tr>\n`
}

/** Uses words beside the colours, so that readers don't depend on colours. */
function cellHtml(result: CellResult | undefined): Html {
  if (!result) return html`<td class="none" aria-label="not stated">&ndash;</td>`
  const { outcome } = result
  const text = hasDetails(result) ? html`<a href="#${anchorOf(result)}">${markOf(result)}</a>` : html`${markOf(result)}`
  return html`<td class="${MEANINGS[outcome]}">${text}</td>`
}

function markOf({ outcome, status, expectation }: CellResult): string {
  const expected = expectedText(expectation.expected)
  if (outcome === 'passed') return expected
  if (outcome === 'left-out') return `${expected} \u2026`
  if (outcome === 'impossible') return `${expected} ?`
  return `${expected} ${status === undefined || status === expectation.expected.status ? 'differs' : `not ${status}`}`
}

function caseHtml(result: Result): Html {
  const { title, outcome } = result
  const text = hasDetails(result) ? html`<a href="#${anchorOf(result)}">${title}</a>` : html`${title}`
  return html`<li class="row">${keyHtml(MEANINGS[outcome], OUTCOME_WORDS[outcome])} ${text}</li>\n`
}

/** A section of the page tells more about it. */
function hasDetails({ outcome }: Result): boolean {
  return outcome === 'failed' || outcome === 'impossible'
}

function isCell(result: Result): result is CellResult {
  return result.expectation !== undefined
}
