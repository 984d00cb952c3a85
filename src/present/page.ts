/**
 * A report as one page: a header with figures and a legend, filters, and the content. It loads nothing, which its own
 * Content-Security-Policy enforces. The same meaning looks the same on each page (browser/page.css), and no two meanings
 * look alike.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Html, html } from './html.ts'
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

export interface Page {
  readonly heading: string
  /** Of the window; the heading, if it has no other. */
  readonly title?: string
  /** The heading says at once that something is wrong. */
  readonly isBad?: boolean
  /** Below the heading. */
  readonly about: Html
  readonly legend: readonly LegendEntry[]
  readonly filters?: Html
  readonly main: Html
  /** Below the content, on paper alone. */
  readonly paper?: Html
  /** `report` is read from top to bottom; `grid` fills the window with a table. */
  readonly layout: 'report' | 'grid'
  /** Style rules that depend on the page's content; they must not contain text from outside. */
  readonly ownStyle?: string
  /** A file of browser/, and the data that it reads as JSON from the element `data`. */
  readonly script?: { readonly file: string; readonly data: unknown }
}

/**
 * Even if the escaping had a gap, no foreign code would run: the Content-Security-Policy names the page's own style and
 * script by hash.
 */
export function pageText(page: Page): string {
  const { heading, title = heading, filters, main, paper, layout, ownStyle = '', script } = page
  const style = `${browserFile('page.css')}${ownStyle}`
  const code = script && browserFile(script.file)
  const scriptSource = code === undefined ? '' : ` script-src ${hashOf(code)};`
  const sources = `default-src 'none'; style-src ${hashOf(style)};${scriptSource} img-src data:`
  const policy = `${sources}; base-uri 'none'; form-action 'none'`
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${new Html(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>${title}</title>
<style>${new Html(style)}</style>
</head>
<body class="${layout}">
${headerHtml(page)}
${filters}
<main>
${main}
</main>
${paper}
${script && html`<script type="application/json" id="data">${new Html(jsonForScript(script.data))}</script>`}
${code !== undefined && html`<script type="module">${new Html(code)}</script>`}
</body>
</html>
`.text
}

/** The build copies the folder beside the compiled file. */
function browserFile(name: string): string {
  return readFileSync(new URL(`./browser/${name}`, import.meta.url), 'utf8')
}

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}

/** A script element ends at the first `</script`, in any context. */
function jsonForScript(value: unknown): string {
  return JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

function headerHtml({ heading, isBad = false, about, legend }: Page): Html {
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
