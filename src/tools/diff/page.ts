/** A diff as one page without a script: a list of changes for each direction, and their transitions grouped. */

import {
  type ChangeParts,
  changeParts,
  type Direction,
  directionOf,
  type PolicyDifference,
} from '../../analysis/diff/change.ts'
import { countsOf, equivalence, type PolicyDiff } from '../../analysis/diff/compare-policies.ts'
import { DIRECTIONS, HEADINGS, SIGNS } from '../../analysis/diff/directions.ts'
import { type Html, html } from '../../present/html.ts'
import { say } from '../../present/phrase.ts'
import { chooserHtml, keyHtml, type LegendEntry, phraseHtml, reportPage } from '../../present/report-page.ts'

const MEANT: Readonly<Record<Direction, string>> = {
  widening: 'more is allowed',
  either: 'depends on objects or callers',
  narrowing: 'less is allowed',
  neutral: 'no request is decided differently',
}

export function diffPage(report: PolicyDiff): string {
  const { before, after } = report.names
  const counts = countsOf(report)
  const legend = DIRECTIONS.map((direction): LegendEntry => {
    const example = `${SIGNS[direction]} ${direction}`
    return { meaning: direction, example, text: MEANT[direction], count: counts[direction] }
  })
  const choices = DIRECTIONS.map((direction) => [direction, `${direction} only (${counts[direction]})`] as const)
  return reportPage({
    title: 'Policy diff',
    heading: 'Policy diff',
    about: html`<p>${phraseHtml(say`${before} → ${after}`)}</p>`,
    legend,
    filters: html`<div class="filters">${chooserHtml('Show', 'show', [['all', 'all changes'], ...choices])}</div>`,
    body: bodyHtml(report),
  })
}

function bodyHtml(report: PolicyDiff): Html {
  const same = equivalence(report)
  if (same !== undefined) return html`<p>${same}</p>`
  const byDirection = Map.groupBy(report.changes, directionOf)
  return html`${DIRECTIONS.map((direction) => sectionHtml(direction, byDirection.get(direction) ?? []))}`
}

function sectionHtml(direction: Direction, changes: readonly PolicyDifference[]): Html {
  if (changes.length === 0) return html``
  const items = changes.map((change) => {
    const key = keyHtml(direction, `${SIGNS[direction]} ${direction}`)
    return html`<li>${key}<div>${partsHtml(changeParts(change))}</div></li>\n`
  })
  return html`<section class="of-${direction}"><h2>${HEADINGS[direction]}</h2>
<ul class="changes">
${items}</ul></section>
`
}

function partsHtml({ sentence, scope }: ChangeParts): Html {
  const lists = scope.map(({ label, terms }) => {
    const lines = terms.map((term) => html`<dd>${phraseHtml(term)}</dd>`)
    return html`<dt>${label}</dt>${lines}`
  })
  return html`<p>${phraseHtml(sentence)}</p>${lists.length > 0 && html`<dl class="scope">${lists}</dl>`}`
}
