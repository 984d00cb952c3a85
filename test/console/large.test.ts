/** The console beside a policy that is too large to be shown whole, and on a screen that is too small for its columns. */
import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { startChromium } from '../chromium.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { until } from '../until.ts'
import { addressOf, openConsole } from './open-console.ts'

/** Each is a column of the matrix. */
const PEOPLE = 30_000

describe('the access matrix in the console', () => {
  let browser: Browser
  let server: TestServer
  before(async () => {
    browser = await startChromium()
    const policy = await readFile(new URL('../../policies/policy.csv', import.meta.url), 'utf8')
    const lines = Array.from({ length: PEOPLE }, (_, i) => `p, user:u${i}, notes, read, owner, *, allow\n`).join('')
    const files = { 'policies/policy.csv': policy.replace(/# end of policy\s*$/, `${lines}$&`) }
    server = await startTestServer({ demo: true, env: { CONSOLE_PORT: '0' }, files })
  })
  after(async () => {
    await server.stop()
    await browser.close()
  })

  it('that has too many cells is shown for a resource or a caller, at an address of its own', async () => {
    const { page, close } = await openConsole(browser, server, { as: 'audrey', path: '/access' })
    await page.getByText(/the matrix of 30007 callers has [\d,]+ cells, and at most 1,000,000 are shown/).waitFor()
    await page.getByLabel('Only resource').fill('notes')
    await page.getByLabel('Only caller').fill('support')
    await page.getByLabel('Only caller').press('Enter')
    await page.getByRole('grid').waitFor()
    expect(await page.getByRole('columnheader').allInnerTexts())
      .to.include('support')
      .and.not.include('user:u1')
    expect((await addressOf(page)).search).to.equal('?resource=notes&caller=support')
    await page.getByLabel('Only caller').fill('supprt')
    await page.getByLabel('Only caller').press('Enter')
    await page.getByText(/did you mean support/).waitFor()
    expect(await page.getByRole('alert').innerText()).to.match(/supprt is not a role of roles\.yaml/)
    await close()
  })

  it('has no cells out of sight, and the keys lead to each', async () => {
    const { page, close } = await openConsole(browser, server, { as: 'audrey', path: '/access?caller=support' })
    await page.getByRole('grid').waitFor()
    await page.setViewportSize({ width: 360, height: 640 })
    const grid = page.getByRole('grid')
    const titles = () => page.getByRole('columnheader').allInnerTexts()
    await until(async () => (await titles()).length < 4)
    expect(await titles())
      .to.include('Method')
      .and.not.include('support')
    expect(await grid.getAttribute('aria-colcount')).to.equal('4')
    await page.getByRole('gridcell').first().focus()
    await page.keyboard.press('End')
    await page.locator('[role=gridcell]:focus').waitFor()
    expect(await page.locator('[role=gridcell]:focus').getAttribute('aria-colindex')).to.equal('4')
    expect(await titles())
      .to.include('support')
      .and.not.include('Method')
    expect(await page.locator('[role=gridcell]:focus').boundingBox())
      .to.have.property('x')
      .lessThan(360)
    await page.keyboard.press('Home')
    await page.keyboard.press('ArrowDown')
    expect(await page.locator('[role=gridcell]:focus').getAttribute('aria-colindex')).to.equal('1')
    await close()
  })

  it('keeps the focus of a cell that is scrolled out of sight, and Tab leads to it', async () => {
    const { page, close } = await openConsole(browser, server, { as: 'audrey', path: '/access?caller=support' })
    await page.setViewportSize({ width: 1440, height: 400 })
    const grid = page.getByRole('grid')
    await page.getByRole('gridcell').first().focus()
    await page.locator('.window').evaluate((box) => {
      box.scrollTop = box.scrollHeight
    })
    const rows = await grid.getAttribute('aria-rowcount')
    await page.locator(`[role=row][aria-rowindex="${rows}"]`).waitFor()
    expect(await page.locator('[role=row][aria-rowindex="5"]').count()).to.equal(0)
    expect(await page.locator('[role=gridcell][tabindex="0"]').count()).to.equal(1)
    await page.keyboard.press('ArrowDown')
    await page.locator('[role=row][aria-rowindex="3"] [role=gridcell]:focus').waitFor()
    await close()
  })
})
