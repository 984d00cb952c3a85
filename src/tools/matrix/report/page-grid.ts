/** The matrices of a run as tables: a row for each line of a file, a column for each caller. */
import { type Html, html } from '../../../present/html.ts'
import { columnText, type Expectation, expectedText, objectText } from '../read/expectation.ts'
import type { Result, TestOutcome } from '../run/result.ts'

/** A result of a cell. */
type CellResult = Result & { readonly expectation: Expectation }

/** The worst first: if the row has several methods, the cell shows the worst outcome. */
const WORST: readonly TestOutcome[] = ['failed', 'impossible', 'left-out', 'passed']

export function runGridHtml(results: readonly Result[]): readonly Html[] {
  return [...Map.groupBy(results, ({ place }) => place.file)].map(([file, some]) => fileHtml(file, some))
}

/** The id of the section that tells about a result. */
export function anchorOf({ place, title }: Result): string {
  return `at-${encodeURIComponent(`${place.file}:${place.line}:${place.column}:${title}`)}`
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
  const rows = [...Map.groupBy(cells, ({ place }) => place.line)].map(([line, row]) => rowHtml(line, row, columns))
  return html`<div class="wide"><table aria-label="${file}">
<thead><tr><th scope="col">Line</th><th scope="col">Request</th><th scope="col">Object</th>${heads}</tr></thead>
<tbody>
${rows}</tbody>
</table></div>`
}

function rowHtml(line: number, row: readonly CellResult[], columns: readonly string[]): Html {
  const [first] = row
  if (!first) return html``
  const { path, object, body, note } = first.expectation
  const methods = [...new Set(row.map(({ expectation }) => expectation.method))].join(' ')
  const more = [body?.replace(/^.*[\\/]/, ''), note].filter(Boolean).join(', ')
  const cells = columns.map((name) =>
    cellHtml(row.filter(({ expectation }) => columnText(expectation.column) === name)),
  )
  const red = row.some(({ outcome }) => outcome !== 'passed')
  const further = more !== '' && html` <span class="quiet">${more}</span>`
  const head = html`<th scope="row"><code>${methods} ${path}</code>${further}</th>`
  const about = html`<td class="line">${line}</td>${head}<td class="object">${objectText(object)}</td>`
  return html`<tr class="row${red && ' bad'}">${about}${cells}</tr>\n`
}

/** Uses words beside the colours, so that readers don't depend on colours. */
function cellHtml(results: readonly CellResult[]): Html {
  const result = WORST.flatMap((outcome) => results.filter((one) => one.outcome === outcome))[0]
  if (!result) return html`<td class="none" aria-label="not stated">&ndash;</td>`
  const { outcome, status, expectation } = result
  const expected = expectedText(expectation.expected)
  if (outcome === 'passed') return html`<td class="green">${expected}</td>`
  if (outcome === 'left-out') return html`<td class="none" title="left out">${expected} &hellip;</td>`
  const link = (text: string) => html`<a href="#${anchorOf(result)}">${text}</a>`
  if (outcome === 'impossible') return html`<td class="gray">${link(`${expected} ?`)}</td>`
  const other = status === undefined || status === expectation.expected.status ? 'differs' : `not ${status}`
  return html`<td class="red">${link(`${expected} ${other}`)}</td>`
}

function caseHtml(result: Result): Html {
  const { title, outcome } = result
  if (outcome === 'passed') return html`<li class="row"><span class="key green">as expected</span> ${title}</li>\n`
  if (outcome === 'left-out') return html`<li class="row"><span class="key none">left out</span> ${title}</li>\n`
  return html`<li class="row bad"><span class="key red">wrong</span> <a href="#${anchorOf(result)}">${title}</a></li>\n`
}

function isCell(result: Result): result is CellResult {
  return result.expectation !== undefined
}
