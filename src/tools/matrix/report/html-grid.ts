/** The matrices of a run as tables: a row for each line of a file, a column for each caller. */
import { escapeHtml } from '../../../present/escape.ts'
import { columnText, type Expectation, expectedText, objectText } from '../read/expectation.ts'
import type { Outcome, Result } from '../run/result.ts'

/** A result of a cell. */
type CellResult = Result & { readonly expectation: Expectation }

/** The worst first: it stands for the cell when the row has several methods. */
const WORST: readonly Outcome[] = ['failed', 'impossible', 'left-out', 'passed']

export function gridHtml(results: readonly Result[]): string {
  return [...Map.groupBy(results, ({ place }) => place.file)].map(([file, some]) => fileHtml(file, some)).join('\n')
}

/** The id of the section that tells about a result. */
export function anchorOf({ place, title }: Result): string {
  return `at-${encodeURIComponent(`${place.file}:${place.line}:${place.column}:${title}`)}`
}

function fileHtml(file: string, results: readonly Result[]): string {
  const cells = results.filter(isCell)
  const cases = results.filter((result) => !isCell(result))
  const table = cells.length > 0 ? tableHtml(file, cells) : ''
  const list = cases.length > 0 ? `<ul class="cases">${cases.map(caseHtml).join('\n')}</ul>` : ''
  return `<section class="file"><h2>${escapeHtml(file)}</h2>\n${table}${list}</section>`
}

function tableHtml(file: string, cells: readonly CellResult[]): string {
  const columns = [...new Set(cells.map(({ expectation }) => columnText(expectation.column)))]
  const heads = columns.map((name) => `<th scope="col">${escapeHtml(name)}</th>`).join('')
  const rows = [...Map.groupBy(cells, ({ place }) => place.line)].map(([line, row]) => rowHtml(line, row, columns))
  return `<div class="wide"><table aria-label="${escapeHtml(file)}">
<thead><tr><th scope="col">Line</th><th scope="col">Request</th><th scope="col">Object</th>${heads}</tr></thead>
<tbody>
${rows.join('\n')}
</tbody>
</table></div>`
}

function rowHtml(line: number, row: readonly CellResult[], columns: readonly string[]): string {
  const [first] = row
  if (!first) return ''
  const { path, object, body, note } = first.expectation
  const methods = [...new Set(row.map(({ expectation }) => expectation.method))].join(' ')
  const more = [body?.replace(/^.*[\\/]/, ''), note].filter(Boolean).join(', ')
  const cells = columns.map((name) =>
    cellHtml(row.filter(({ expectation }) => columnText(expectation.column) === name)),
  )
  const red = row.some(({ outcome }) => outcome !== 'passed')
  return `<tr class="row${red ? ' bad' : ''}"><td class="line">${line}</td><th scope="row"><code>${methods} ${escapeHtml(path)}</code>${more === '' ? '' : ` <span class="quiet">${escapeHtml(more)}</span>`}</th><td class="object">${escapeHtml(objectText(object))}</td>${cells.join('')}</tr>`
}

/** Words beside the colours: nobody needs to see them. */
function cellHtml(results: readonly CellResult[]): string {
  const result = WORST.flatMap((outcome) => results.filter((one) => one.outcome === outcome))[0]
  if (!result) return '<td class="none" aria-label="not stated">&ndash;</td>'
  const expected = escapeHtml(expectedText(result.expectation.expected))
  if (result.outcome === 'passed') return `<td class="green">${expected}</td>`
  if (result.outcome === 'left-out') return `<td class="none" title="left out">${expected} &hellip;</td>`
  const link = (text: string) => `<a href="#${anchorOf(result)}">${text}</a>`
  if (result.outcome === 'impossible') return `<td class="gray">${link(`${expected} ?`)}</td>`
  const { status } = result
  const other = status === undefined || status === result.expectation.expected.status ? 'but' : `not ${status}`
  return `<td class="red">${link(`${expected} ${other}`)}</td>`
}

function caseHtml(result: Result): string {
  const name = escapeHtml(result.title)
  if (result.outcome === 'passed') return `<li class="row"><span class="key green">as expected</span> ${name}</li>`
  if (result.outcome === 'left-out') return `<li class="row"><span class="key none">left out</span> ${name}</li>`
  return `<li class="row bad"><span class="key red">not</span> <a href="#${anchorOf(result)}">${name}</a></li>`
}

function isCell(result: Result): result is CellResult {
  return result.expectation !== undefined
}
