/** What was asked and answered for each result that isn't as expected. */
import { escapeHtml } from '../../../present/escape.ts'
import type { Exchange, Result } from '../run/result.ts'
import { type Cause, causesOf, sentenceOf } from './causes.ts'
import { anchorOf } from './html-grid.ts'

export function detailsHtml(results: readonly Result[]): string {
  return causesOf(results).map(causeHtml).join('\n')
}

/** Of many cells the requests and answers are folded away; a link to one of them unfolds it. */
function causeHtml(cause: Cause): string {
  const { kind, results } = cause
  const [first, ...more] = results
  if (more.length === 0) return `<section class="cause ${kind}">${detailHtml(first)}</section>`
  const cells = results.map((result) => `<details>${summaryHtml(result)}${detailHtml(result)}</details>`)
  return `<section class="cause ${kind}"><h2>${escapeHtml(sentenceOf(cause))}</h2>\n${cells.join('\n')}</section>`
}

function summaryHtml({ title, place }: Result): string {
  return `<summary>${escapeHtml(title)} <code class="quiet">${escapeHtml(`${place.file}:${place.line}:${place.column}`)}</code></summary>`
}

function detailHtml(result: Result): string {
  const { title, place, why = '', explain, exchanges } = result
  const where = `${place.file}:${place.line}:${place.column}`
  const hint = explain === undefined ? '' : `<p>Ask why: <code>${escapeHtml(explain)}</code></p>`
  return `<article id="${anchorOf(result)}" tabindex="-1">
<h3>${escapeHtml(title)}</h3>
<p class="quiet"><code>${escapeHtml(where)}</code></p>
<p class="why">${escapeHtml(why)}</p>
${hint}
${exchanges.map(exchangeHtml).join('\n')}
</article>`
}

function exchangeHtml({ request, answer }: Exchange): string {
  const sent = [`${request.method} ${request.url}`, ...headerLines(request.headers), ...bodyLines(request.body)]
  const received = answer
    ? [`${answer.status}`, ...headerLines(answer.headers), '', readable(answer.text)]
    : ['no answer']
  return `<div class="exchange"><div><h4>Request</h4><pre>${escapeHtml(sent.join('\n'))}</pre></div><div><h4>Answer</h4><pre>${escapeHtml(received.join('\n'))}</pre></div></div>`
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
