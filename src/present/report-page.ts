/**
 * The frame of all reports as a page: a header with figures and a legend, filters, and the content. The same meaning
 * looks the same on each page (browser/page.css), and no two meanings look alike.
 */
import { type Html, html, toPage } from './html.ts'
import { type Phrase, visibleText } from './phrase.ts'

/** Access; test results; coverage; directions of a change. Each is a class of page.css. */
export type Meaning =
  | ('all' | 'some' | 'no')
  | ('expected' | 'wrong' | 'untried' | 'left-out')
  | ('stated' | 'unstated')
  | ('widening' | 'either' | 'narrowing' | 'neutral')

export interface LegendEntry {
  /** Undefined for a sign that stands in cells of each meaning. */
  readonly meaning?: Meaning
  /** What such a cell holds, as an example. */
  readonly example: string | Html
  readonly text: string
  /** How many the page shows. */
  readonly count?: number
}

interface Report {
  readonly title: string
  readonly heading: string
  /** The heading says at once that something is wrong. */
  readonly isBad?: boolean
  /** Below the heading. */
  readonly about: Html
  readonly legend: readonly LegendEntry[]
  readonly filters?: Html
  readonly body: Html
  readonly ownStyle?: string
}

/** A report that is read from top to bottom, without a script. */
export function reportPage({ title, filters, body, ownStyle, ...head }: Report): string {
  return toPage({
    title,
    styles: ['page.css', 'report.css'],
    ...(ownStyle === undefined ? {} : { ownStyle }),
    body: html`${headerHtml(head)}
${filters}
<main>
${body}
</main>`,
  })
}

/** The header of each page. */
export function headerHtml({
  heading,
  isBad = false,
  about,
  legend,
}: Pick<Report, 'heading' | 'isBad' | 'about' | 'legend'>): Html {
  return html`<header>
<div>
<h1${isBad && html` class="bad"`}>${heading}</h1>
${about}
</div>
<ul class="legend" aria-label="Legend">
${legend.map(entryHtml)}</ul>
</header>`
}

function entryHtml({ meaning, example, text, count }: LegendEntry): Html {
  const figure = count !== undefined && html`: <b class="count">${count}</b>`
  return html`<li>${keyHtml(meaning, example)} ${text}${figure}</li>\n`
}

export function keyHtml(meaning: Meaning | undefined, text: string | Html): Html {
  return html`<span class="key ${meaning}">${text}</span>`
}

/** A choice that the page's style acts on, without a script. */
export function chooserHtml(
  label: string,
  id: string,
  choices: readonly (readonly [value: string, text: string])[],
): Html {
  const options = choices.map(([value, text]) => html`<option value="${value}">${text}</option>`)
  return html`<label>${label} <select id="${id}">${options}</select></label>`
}

/** A sentence of a message, whose values are in backticks. */
export function proseHtml(text: string): Html {
  return html`${text.split('`').map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : html`${part}`))}`
}

/** Names are code, with what is invisible in them shown. */
export function phraseHtml(phrase: Phrase): Html {
  return html`${phrase.map(({ kind, text }) => (kind === 'words' ? html`${text}` : html`<code>${visibleText(text)}</code>`))}`
}
