/** Coverage as one page without a script: what the policy answers in each cell, open cells first. */

import { type Html, html } from '../../../present/html.ts'
import { chooserHtml, proseHtml, reportPage } from '../../../present/report-page.ts'
import { percentText } from '../../../present/text.ts'
import type { CoverageCell, UnaskedCell } from '../cells/survey.ts'
import { type Coverage, type CoveredPart, percentOf, type UnseenMistakes } from './coverage.ts'

/** Cells by resource, those with more open cells first; columns in the order of the cells. */
interface Grid {
  readonly columns: readonly string[]
  readonly resources: readonly (readonly [string, readonly CoverageCell[]])[]
}

export function coveragePage(coverage: Coverage): string {
  const { cells, unasked, rules, terms, results, relations, views } = coverage
  const grid = gridOf(cells)
  const parts = Object.entries({ cells, rules, terms, 'right sides': results, relations, views })
  const figures = parts.map(([name, some]) => figure(name, some))
  return reportPage({
    title: 'What the matrices state',
    heading: 'What the matrices state',
    about: html`<ul class="figures">${figures}</ul>`,
    legend: [
      { meaning: 'stated', example: '200', text: 'a matrix states the answer', count: cells.length - openIn(cells) },
      { meaning: 'unstated', example: '200 open', text: 'no expectation', count: openIn(cells) },
    ],
    filters: filtersHtml(grid),
    ownStyle: filterStyle(grid),
    body: html`${[partsHtml('Rules', rules, DEPENDS), partsHtml('Terms', terms, SHOWS), partsHtml('Right sides', results, SHOWS)]}
${[partsHtml('Relations', relations, DEPENDS), partsHtml('Views', views, DEPENDS)]}
${mistakesHtml(coverage.mistakes)}
${unaskedHtml(unasked)}
${gridsHtml(grid)}`,
  })
}

function figure(name: string, parts: readonly { readonly covered: boolean }[]): Html {
  const covered = parts.filter((part) => part.covered).length
  return html`<li><b>${percentText(percentOf(parts))} %</b> of ${name} (${covered} of ${parts.length})</li>`
}

/** The words for covered parts, and for the others. */
interface PartsText {
  readonly covered: string
  readonly missing: string
}

const DEPENDS: PartsText = { covered: 'an expectation depends on each', missing: 'that no expectation depends on' }
const SHOWS: PartsText = { covered: 'expectations show each both ways', missing: 'that no expectations show both ways' }

function partsHtml(title: string, parts: readonly CoveredPart[], text: PartsText): Html {
  const missing = parts.filter(({ covered }) => !covered)
  if (missing.length === 0) return html`<p class="quiet">${title}: ${text.covered}.</p>\n`
  return tableHtml(
    `${title} ${text.missing}`,
    missing.map(({ place, text }) => [codeHtml(place), codeHtml(text)]),
  )
}

function mistakesHtml(mistakes: readonly UnseenMistakes[]): Html {
  return tableHtml(
    'Rules in which a mistake changes a decision, and no expectation notices it',
    mistakes.map(({ place, text, operators }) => [codeHtml(place), codeHtml(text), operators.join(', ')]),
  )
}

/** A row for each request, with the callers. */
function unaskedHtml(cells: readonly UnaskedCell[]): Html {
  const groups = Map.groupBy(cells, ({ method, path, object, why }) => `${method} ${path} (${object})\n${why}`)
  const rows = [...groups].map(([key, some]) => {
    const [request = '', why = ''] = key.split('\n')
    return [codeHtml(request), some.map(({ column }) => column).join(', '), proseHtml(why)]
  })
  return tableHtml(html`${cells.length} cells that can't be asked`, rows)
}

/** The first cell of a row is its head. Without rows there is no table. */
function tableHtml(title: Html | string, rows: readonly (readonly (Html | string)[])[]): Html {
  if (rows.length === 0) return html``
  const lines = rows.map(
    ([first, ...more]) => html`<tr><th scope="row">${first}</th>${more.map((cell) => html`<td>${cell}</td>`)}</tr>\n`,
  )
  return html`<h2>${title}</h2><div class="wide"><table class="parts"><tbody>${lines}</tbody></table></div>\n`
}

function codeHtml(text: string): Html {
  return html`<code>${text}</code>`
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

function filtersHtml({ columns, resources }: Grid): Html {
  const withAll = (names: readonly string[]) => ['all', ...names].map((name) => [name, name] as const)
  return html`<div class="filters">
${chooserHtml('Resource', 'resource', withAll(resources.map(([name]) => name)))}
${chooserHtml('Caller', 'caller', withAll(columns))}
<label><input type="checkbox" id="open"> Only open cells</label>
</div>`
}

/** The style uses numbers, so that it contains no name. */
function filterStyle({ columns, resources }: Grid): string {
  const chosen = (select: string, i: number) => `body:has(#${select} option:nth-child(${i + 2}):checked)`
  const one = resources.map((_, i) => `${chosen('resource', i)} .resource:not(.r${i}) { display: none }`)
  const caller = columns.flatMap((_, i) => [
    `${chosen('caller', i)} .c:not(.c${i}) { display: none }`,
    `${chosen('caller', i)}:has(#open:checked) .row:not(:has(.c${i}.unstated)) { display: none }`,
    `${chosen('caller', i)}:has(#open:checked) .resource:not(:has(.c${i}.unstated)) { display: none }`,
  ])
  return [...one, ...caller, ''].join('\n')
}

function gridsHtml({ columns, resources }: Grid): readonly Html[] {
  const heads = columns.map((column, i) => html`<th scope="col" class="c c${i}">${column}</th>`)
  return resources.map(([resource, about], i) => {
    const rows = [...Map.groupBy(about, ({ method, path, object }) => `${method} ${path} (${object})`)]
    const body = rows
      .toSorted(([, one], [, other]) => openIn(other) - openIn(one))
      .map(([row, some]) => {
        const cells = columns.map((column, at) => cellHtml(some, column, at))
        return html`<tr class="row"><th scope="row">${codeHtml(row)}</th>${cells}</tr>\n`
      })
    const open = openIn(about)
    const figure = open === 0 ? 'all stated' : `${open} open`
    const table = html`<div class="wide"><table><thead><tr><th scope="col"></th>${heads}</tr></thead><tbody>${body}</tbody></table></div>`
    const title = html`<h2>${resource} <span class="quiet">${figure}</span></h2>`
    return html`<section class="resource r${i}">${title}${table}</section>\n`
  })
}

/** Empty for a caller without credentials and an object of their own. */
function cellHtml(cells: readonly CoverageCell[], column: string, at: number): Html {
  const cell = cells.find((one) => one.column === column)
  if (!cell) return html`<td class="c c${at} none">&ndash;</td>`
  return cell.covered
    ? html`<td class="c c${at} stated">${cell.answer}</td>`
    : html`<td class="c c${at} unstated">${cell.answer} open</td>`
}
