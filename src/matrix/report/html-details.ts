/** What was asked and answered for each result that isn't as expected. */
import { escapeHtml } from '../../review/matrix/escape.ts'
import type { Exchange, Result } from '../run/result.ts'
import { anchorOf } from './html-grid.ts'

export function detailsHtml(results: readonly Result[]): string {
  const told = results.filter(({ outcome }) => outcome === 'failed' || outcome === 'impossible')
  if (told.length === 0) return ''
  return `<section class="details"><h2>What is not as expected</h2>\n${told.map(detailHtml).join('\n')}</section>`
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
