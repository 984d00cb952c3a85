/**
 * HTML with its values escaped, and the frame of all pages: one file that loads nothing, which its own
 * Content-Security-Policy enforces.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** Markup that `html` made. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Value = Html | readonly Html[] | string | number | false | undefined

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/**
 * Markup for the text of an element, or for an attribute in quotes. Text is escaped; a list is joined; false and
 * undefined are omitted.
 */
export function html(markup: TemplateStringsArray, ...values: readonly Value[]): Html {
  return new Html(markup.reduce((text, part, i) => text + textOf(values[i - 1]) + part))
}

function textOf(value: Value): string {
  if (value instanceof Html) return value.text
  if (typeof value === 'object') return value.map(({ text }) => text).join('')
  return String(value === undefined || value === false ? '' : value).replace(/[&<>"']/g, (one) => ENTITIES[one] ?? '')
}

interface Page {
  readonly title: string
  /** Files of browser/, in order. */
  readonly styles: readonly string[]
  /** Style rules that depend on the page's content; they must not contain text from outside. */
  readonly ownStyle?: string
  readonly body: Html
  /** A file of browser/, and the data that it reads as JSON from the element `data`. */
  readonly script?: { readonly file: string; readonly data: unknown }
}

/**
 * Even if the escaping had a gap, no foreign code would run: the Content-Security-Policy names the page's own style and
 * script by hash.
 */
export function toPage({ title, styles, ownStyle = '', body, script }: Page): string {
  const style = `${styles.map(browserFile).join('')}${ownStyle}`
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
<body>
${body}
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
