/**
 * Coverage as a report: first what has no expectation, then the figures. As a page, also what the policy answers in each
 * cell.
 */
import { type Html, html } from '../../../present/html.ts'
import { chooserHtml, type Page, proseHtml } from '../../../present/page.ts'
import { formatsOf, type Paragraph, section } from '../../../present/report.ts'
import { count, percentText } from '../../../present/text.ts'
import type { CoverageCell, UnaskedCell } from '../cells/survey.ts'
import { leftOutLines } from '../predict/expectations-met.ts'
import { type Coverage, type CoveredPart, type Measured, partsOf, percentOf } from './coverage.ts'

const DEPENDS = { all: 'an expectation depends on each', missing: 'that no expectation depends on' }
const SHOWS = { all: 'expectations show each both ways', missing: 'that no expectations show both ways' }

/** The parts of a policy that an expectation can depend on, with what is said of covered ones and of the others. */
const PARTS = [
  { key: 'rules', name: 'Rules', said: DEPENDS },
  { key: 'terms', name: 'Terms', said: SHOWS },
  { key: 'results', name: 'Right sides', said: SHOWS },
  { key: 'relations', name: 'Relations', said: DEPENDS },
  { key: 'views', name: 'Views', said: DEPENDS },
] as const

export const COVERAGE_FORMATS = formatsOf((coverage: Coverage) => {
  const { cells, unasked, mistakes, unmet, unpredictable } = coverage
  const missing = PARTS.map(({ key, name, said }): MissingParts => {
    const rows = missingOf(coverage[key]).map(({ place, text }) => [place, text])
    return { title: `${name} ${said.missing}`, all: `${name}: ${said.all}.`, rows }
  })
  const unseen: MissingParts = {
    title: 'Rules in which a mistake changes a decision, and no expectation notices it',
    rows: mistakes.map(({ place, text, operators }) => [place, text, operators.join(', ')]),
  }
  const idle: MissingParts = {
    title: 'Parts without which no decision differs: they count neither as covered nor as missing',
    rows: partsOf(coverage).flatMap(({ place, text, redundant }) => (redundant ? [[place, text]] : [])),
  }
  const parts = [...missing, idle, unseen]
  const figures = [{ key: 'cells', name: 'Cells' } as const, ...PARTS].map(({ key, name }) => {
    return figureOf(name.toLowerCase(), coverage[key])
  })
  return {
    text: () => [
      section('Cells without an expectation', rowLines(missingOf(cells))),
      section("Cells that can't be asked", unaskedLines(unasked)),
      ...parts.map(({ title, rows }) => section(title, rows.map(partLine))),
      leftOutLines({ ...coverage, unasked: 0 }),
      figureLines(figures, unasked.length),
    ],
    /** The shape is in docs/schemas/matrix-coverage.schema.json. */
    json: () => {
      const measures = PARTS.map(({ key }) => [key, measured<CoveredPart>(coverage[key])])
      return { cells: measured(cells), unasked, ...Object.fromEntries(measures), mistakes, unmet, unpredictable }
    },
    html: () => coveragePage(coverage, figures, parts),
  }
})

function missingOf<T extends Measured>(parts: readonly T[]): readonly T[] {
  return parts.filter(({ covered, redundant }) => !covered && !redundant)
}

function figureOf(name: string, parts: readonly Measured[]): Figure {
  const total = parts.filter(({ redundant }) => !redundant).length
  const share = `${total - missingOf(parts).length} of ${total}`
  return { name, percent: percentText(percentOf(parts)), share }
}

function figureLines(figures: readonly Figure[], unasked: number): Paragraph {
  const more = unasked > 0 ? `, and ${unasked} that can't be asked` : ''
  return figures.map(({ name, percent, share }, i) => {
    return `${name.padEnd(11)} ${percent.padStart(5)} %  ${share}${i === 0 ? more : ''}`
  })
}

function partLine([place, text, operators]: readonly string[]): string {
  return `${place}  ${text}${operators === undefined ? '' : `: ${operators}`}`
}

/** Once for each reason. */
function unaskedLines(cells: readonly UnaskedCell[]): readonly string[] {
  return [...Map.groupBy(cells, ({ why }) => why)].flatMap(([why, some]) => [...rowLines(some), `  ${why}`])
}

function rowLines(cells: readonly Omit<CoverageCell, 'covered' | 'answer'>[]): readonly string[] {
  const rows = Map.groupBy(cells, ({ method, path, object }) => `${method} ${path} (${object})`)
  return [...rows].map(([row, some]) => `${row}: ${some.map(({ column }) => column).join(', ')}`)
}

function measured<T extends Measured>(parts: readonly T[]) {
  const told = (some: readonly T[]) => some.map(({ covered, redundant, ...part }) => part)
  const redundant = told(parts.filter((part) => part.redundant))
  const covered = parts.filter((part) => part.covered).length
  const more = redundant.length > 0 && { redundant }
  const total = parts.length - redundant.length
  return { total, covered, percent: percentOf(parts), missing: told(missingOf(parts)), ...more }
}

export interface Figure {
  readonly name: string
  readonly percent: string
  /** `3 of 8` */
  readonly share: string
}

export interface MissingParts {
  readonly title: string
  /** What stands in place of the list if none is missing; undefined for nothing. */
  readonly all?: string
  readonly rows: readonly (readonly string[])[]
}

/** Cells by resource, those with more open cells first; columns in the order of the cells. */
interface Grid {
  readonly columns: readonly string[]
  readonly resources: readonly (readonly [string, readonly CoverageCell[]])[]
}

function coveragePage({ cells, unasked }: Coverage, figures: readonly Figure[], parts: readonly MissingParts[]): Page {
  const grid = gridOf(cells)
  const open = openIn(cells)
  const shown = figures.map(({ name, percent, share }) => html`<li><b>${percent} %</b> of ${name} (${share})</li>`)
  return {
    heading: 'What the matrices state',
    layout: 'report',
    about: html`<ul class="figures">${shown}</ul>`,
    legend: [
      { meaning: 'stated', example: '200', text: 'a matrix states the answer', count: cells.length - open },
      { meaning: 'unstated', example: '200 open', text: 'no expectation', count: open },
    ],
    filters: filtersHtml(grid),
    ownStyle: filterStyle(grid),
    main: html`${parts.map(partsHtml)}${unaskedHtml(unasked)}
${gridsHtml(grid)}`,
  }
}

function partsHtml({ title, all, rows }: MissingParts): Html {
  if (rows.length === 0 && all !== undefined) return html`<p class="quiet">${all}</p>\n`
  return tableHtml(
    title,
    rows.map(([place = '', text = '', ...more]) => [codeHtml(place), codeHtml(text), ...more]),
  )
}

/** A row for each request, with the callers. */
function unaskedHtml(cells: readonly UnaskedCell[]): Html {
  const groups = Map.groupBy(cells, ({ method, path, object, why }) => `${method} ${path} (${object})\n${why}`)
  const rows = [...groups].map(([key, some]) => {
    const [request = '', why = ''] = key.split('\n')
    return [codeHtml(request), some.map(({ column }) => column).join(', '), proseHtml(why)]
  })
  return tableHtml(html`${count(cells.length, 'cell')} that can't be asked`, rows)
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
