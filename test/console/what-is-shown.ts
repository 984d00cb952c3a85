/** A step of a browser that runs out of time says what the page shows, and what it has asked of the server. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page, Request } from 'playwright-core'

/** The last ones: what a page asks in between stays readable. */
const MOST_ASKED = 20
const LONGEST_TEXT = 3000
/** A page that answers nothing is told so. */
const PATIENCE_MS = 10_000

/** By request, how it was answered. */
const asked = new WeakMap<Page, Map<Request, string>>()
const patched = new WeakSet<object>()
const explained = new WeakSet<Error>()

/** Of this page, from now on. */
export function explainTimeouts(page: Page): void {
  const ofPage = new Map<Request, string>()
  asked.set(page, ofPage)
  page.on('request', (request) => {
    ofPage.set(request, 'no answer yet')
    const [first] = ofPage.keys()
    if (ofPage.size > MOST_ASKED && first) ofPage.delete(first)
  })
  page.on('response', (response) => note(ofPage, response.request(), String(response.status())))
  page.on('requestfailed', (request) => note(ofPage, request, request.failure()?.errorText ?? 'failed'))
  explainSteps(Object.getPrototypeOf(page.locator('body')))
}

function note(ofPage: Map<Request, string>, request: Request, end: string): void {
  if (ofPage.has(request)) ofPage.set(request, end)
}

/** `steps`: the methods of all locators. */
function explainSteps(steps: Record<string, unknown>): void {
  if (patched.has(steps)) return
  patched.add(steps)
  for (const [name, { value: step }] of Object.entries(Object.getOwnPropertyDescriptors(steps))) {
    if (typeof step !== 'function' || name === 'constructor' || name === 'page') continue
    steps[name] = function (this: { page(): Page }, ...args: unknown[]) {
      const result: unknown = step.apply(this, args)
      return result instanceof Promise ? result.catch((error: Error) => rethrow(error, this.page())) : result
    }
  }
}

async function rethrow(error: Error, page: Page): Promise<never> {
  if (error.name === 'TimeoutError' && asked.has(page) && !explained.has(error)) {
    explained.add(error)
    const shown = `${error.message}\n${await shownBy(page)}`
    // Reporters print the stack, which has the message too.
    error.stack = (error.stack ?? '').replace(error.message, () => shown)
    error.message = shown
  }
  throw error
}

async function shownBy(page: Page): Promise<string> {
  const text = await Promise.race([textOf(page), sleep(PATIENCE_MS, 'nothing: it does not answer', { ref: false })])
  const requests = [...(asked.get(page) ?? [])].map(([request, end]) => {
    return `  ${request.method()} ${new URL(request.url()).pathname}: ${end}`
  })
  return [`${page.url()} shows`, text.slice(0, LONGEST_TEXT), 'and has asked', ...requests].join('\n')
}

function textOf(page: Page): Promise<string> {
  return page
    .evaluate<string>(`[
      ...[...document.querySelectorAll('[role=alert], [role=status], [role=dialog]')]
        .map((one) => one.role + ': ' + one.innerText).filter((text) => /: ./.test(text)),
      ...[...document.querySelectorAll('input:invalid, select:invalid')].map((one) => 'invalid: ' + one.name),
      document.body.innerText,
    ].join('\\n')`)
    .catch((error: Error) => `nothing: ${error.message}`)
}
