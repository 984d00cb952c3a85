/** The matrices of a run as tables: a row for each line of a file and method, a column for each caller. */
import { type Html, html } from '../../../present/html.ts'
import { keyHtml, type Meaning } from '../../../present/page.ts'
import { columnText, type Expectation, expectedText, objectText } from '../read/expectation.ts'
import type { Result, TestOutcome } from '../run/result.ts'
import { OUTCOME_WORDS, placeOf } from './causes.ts'

/** A result of a cell. */
type CellResult = Result & { readonly expectation: Expectation }

const MEANINGS: Readonly<Record<TestOutcome, Meaning>> = {
  passed: 'expected',
  failed: 'wrong',
  impossible: 'untried',
  'left-out': 'left-out',
}

export function runGridHtml(results: readonly Result[]): readonly Html[] {
  return [...Map.groupBy(results, ({ place }) => place.file)].map(([file, some]) => fileHtml(file, some))
}

/** The id of the section that tells about a result. */
export function anchorOf(result: Result): string {
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
  const { method, path, object, body, note } = first.expectation
  const more = [body?.replace(/^.*[\\/]/, ''), note].filter(Boolean).join(', ')
  const cells = columns.map((name) => cellHtml(row.find(({ expectation }) => columnText(expectation.column) === name)))
  const further = more !== '' && html` <span class="quiet">${more}</span>`
  const head = html`<th scope="row"><code>${method} ${path}</code>${further}</th>`
  const about = html`<td class="line">${first.place.line}</td>${head}<td class="object">${objectText(object)}</td>`
  return html`<tr class="row">${about}${cells}</tr>\n`
}

/** Uses words beside the colours, so that readers don't depend on colours. */
function cellHtml(result: CellResult | undefined): Html {
  if (!result) return html`<td class="none" aria-label="not stated">&ndash;</td>`
  const { outcome } = result
  const text = isTold(result) ? html`<a href="#${anchorOf(result)}">${markOf(result)}</a>` : html`${markOf(result)}`
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
  const text = isTold(result) ? html`<a href="#${anchorOf(result)}">${title}</a>` : html`${title}`
  return html`<li class="row">${keyHtml(MEANINGS[outcome], OUTCOME_WORDS[outcome])} ${text}</li>\n`
}

/** A section of the page tells more about it. */
function isTold({ outcome }: Result): boolean {
  return outcome === 'failed' || outcome === 'impossible'
}

function isCell(result: Result): result is CellResult {
  return result.expectation !== undefined
}
