/** A matrix as a page in a real browser, with what it asked for, logged and was refused. */
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Browser, Locator, Page } from 'playwright-core'
import { removeFolder } from '../../ends-with-tests.ts'

export interface OpenPage {
  readonly page: Page
  /** What the page asked for, itself included. */
  readonly requests: readonly string[]
  /** What it logged, errors that it threw, and what its Content-Security-Policy refused. */
  readonly troubles: readonly string[]
  readonly rows: Locator
  cell(row: number, column: number): Locator
  close(): Promise<void>
}

export async function openPage(browser: Browser, html: string, options = {}): Promise<OpenPage> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
  const file = join(folder, 'matrix.html')
  await writeFile(file, html)
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options })
  const page = await context.newPage()
  const requests: string[] = []
  const troubles: string[] = []
  page.on('request', (request) => requests.push(request.url()))
  page.on('console', (message) => troubles.push(message.text()))
  page.on('pageerror', (error) => troubles.push(error.message))
  await page.goto(pathToFileURL(file).href)
  const rows = page.locator('tr.row')
  return {
    page,
    requests,
    troubles,
    rows,
    cell: (row, column) => rows.nth(row).locator('td').nth(column),
    close: async () => {
      await context.close()
      await removeFolder(folder)
    },
  }
}
