/** The console in a browser: signed in, with what its page complained about. */
import type { Browser, Page } from 'playwright-core'
import { DEMO_PASSWORD } from '../../src/server/parts/demo.ts'
import type { TestServer } from '../server.ts'
import { explainTimeouts } from './what-is-shown.ts'

interface OpenedConsole {
  readonly page: Page
  /** Errors, and what the Content-Security-Policy kept from running. */
  readonly troubles: readonly string[]
  readonly close: () => Promise<void>
}

interface OpenOptions {
  /** Of the demo; undefined doesn't sign in. */
  readonly as?: string
  readonly path?: string
  readonly colorScheme?: 'light' | 'dark'
  readonly viewport?: { readonly width: number; readonly height: number }
}

/** Statuses that a page shows in a sentence; the browser logs them by itself. */
const TOLD = /Failed to load resource: (?:the server responded with a status of (?:401|403|422)|net::ERR_)/

/** No answer takes this long, on a busy machine neither. */
const ONLY_A_FAULT_MS = 120_000

export async function openConsole(
  browser: Browser,
  server: TestServer,
  { as, path = '/', colorScheme = 'light', viewport = { width: 1440, height: 900 } }: OpenOptions = {},
): Promise<OpenedConsole> {
  const context = await browser.newContext({ viewport, colorScheme })
  context.setDefaultTimeout(ONLY_A_FAULT_MS)
  const page = await context.newPage()
  explainTimeouts(page)
  const troubles: string[] = []
  page.on('pageerror', (error) => troubles.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error' && !TOLD.test(message.text())) troubles.push(message.text())
  })
  await page.goto(`${server.app.consoleUrl}${path}`)
  if (as !== undefined) await signIn(page, as)
  return { page, troubles, close: () => context.close() }
}

export async function signIn(page: Page, name: string): Promise<void> {
  const email = page.getByLabel('E-mail')
  await email.fill(`${name}@example.com`)
  await page.getByLabel('Password', { exact: true }).fill(DEMO_PASSWORD)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await email.waitFor({ state: 'detached' })
}

/** As the page itself knows it: `page.url()` learns of a change in the page a moment later. */
export async function addressOf(page: Page): Promise<URL> {
  return new URL(await page.evaluate<string>('location.href'))
}
