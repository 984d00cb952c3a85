/** The page Tests of the console: a tester changes a matrix, runs it, and sees what it misses; nothing typed is lost. */
import { mkdir, readFile, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { startChromium } from '../chromium.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { until } from '../until.ts'
import { addressOf, openConsole, signIn } from './open-console.ts'

const ORDERS = `method,path,object,anonymous,member,support
GET,/api/orders/{id},placed+open,401,403,403
DELETE,/api/orders/{id},owner+draft+open,-,204,204
`
const HOSTILE = '<img src=x onerror=document.title=`ran`>'

describe('the page Tests of the console', () => {
  let browser: Browser
  let server: TestServer
  before(async () => {
    browser = await startChromium()
    server = await startTestServer({ demo: true, env: { CONSOLE_PORT: '0' } })
    await mkdir(join(server.folder, 'test/matrix'), { recursive: true })
    await writeFile(join(server.folder, 'test/matrix/orders.csv'), ORDERS)
  })
  after(async () => {
    await server.stop()
    await browser.close()
  })

  it('runs a matrix, leads to the wrong cell, takes another answer, and changes no file', async () => {
    const { page, troubles, close } = await openConsole(browser, server, { as: 'ada', path: '/tests' })
    await page.getByRole('button', { name: 'Run' }).click()
    const found = page.getByRole('complementary', { name: 'What was found' })
    await found.getByText("4 of 5 cells are as expected, 1 wrong, 0 can't be tried.").waitFor()
    await page.getByRole('gridcell', { name: '403 got 200' }).waitFor()
    await found.getByText('sallyport matrix test', { exact: true }).waitFor()
    await found.getByRole('button', { name: /orders\.csv:2:42.*expected 403, got 200/ }).click()
    expect(await focused(page)).to.equal('403 got 200')
    await page.keyboard.press('Enter')
    await page.getByRole('textbox', { name: 'support of row 2' }).fill('200')
    await page.keyboard.press('Enter')
    await until(async () => (await focused(page)) === '200')
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByRole('link', { name: 'Tests', exact: true }).click()
    await page.getByRole('button', { name: 'Run' }).click()
    await found.getByText('All 5 cells are as expected.').waitFor()
    await found.getByText('sallyport matrix test matrices').waitFor()
    expect(await page.locator('.window .expected').count()).to.equal(5)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download CSV' }).click(),
    ])
    expect(download.suggestedFilename()).to.equal('orders.csv')
    const saved = (await readFile(await download.path(), 'utf8')).replaceAll('\r\n', '\n')
    expect(saved).to.equal(ORDERS.replace('403,403', '403,200'))
    expect(await readFile(join(server.folder, 'test/matrix/orders.csv'), 'utf8')).to.equal(ORDERS)
    expect(troubles).to.deep.equal([])
    await close()
  })

  it('counts the cells that a run did not get to, and calls no such run a whole one', async () => {
    const { page, close } = await openConsole(browser, server, { as: 'ada', path: '/tests' })
    await page.route('**/policy/v1/matrix-test', async (route) => {
      const response = await route.fetch()
      const run = (await response.json()) as { test: { result: { counts: object } } }
      run.test.result.counts = { passed: 2, failed: 0, impossible: 0, 'left-out': 3 }
      await route.fulfill({ response, json: run })
    })
    await page.getByRole('button', { name: 'Run' }).click()
    await page
      .getByText("2 of 5 cells are as expected, 0 wrong, 0 can't be tried, 3 not asked about.", { exact: true })
      .waitFor()
    await close()
  })

  it('shows what the matrices say nothing about, which mistakes they miss, and writes what is missing', async () => {
    const { page, close } = await openConsole(browser, server, { as: 'ada', path: '/tests' })
    const found = page.getByRole('complementary', { name: 'What was found' })
    await page.getByRole('button', { name: 'Coverage' }).click()
    await found.getByText(/^Expectations state \d+ of \d+ cells/).waitFor()
    await page.getByRole('button', { name: 'Mistakes' }).click()
    await found.getByText(/^Expectations notice \d+ of \d+ mistakes/).waitFor()
    await found.getByText('sallyport matrix mutate', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Write missing cells' }).click()
    await found.getByText('They are in matrices of their own.').waitFor()
    await page.getByRole('combobox', { name: 'Matrix' }).selectOption('notes.missing.csv')
    expect((await addressOf(page)).searchParams.get('matrix')).to.equal('notes.missing.csv')
    await page.getByRole('grid', { name: 'Matrix notes.missing.csv' }).waitFor()
    await page.getByRole('button', { name: 'Remove the matrix' }).click()
    await page.getByRole('grid', { name: 'Matrix notes.missing.csv' }).waitFor({ state: 'detached' })
    await close()
  })

  it('runs against the draft of the page Draft, and tells who may not run which action is missing', async () => {
    const { page, close } = await openConsole(browser, server, { as: 'ada', path: '/draft' })
    await page.locator('.cm-content').click()
    await page.keyboard.press('Control+End')
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Home')
    await page.keyboard.type('p, support, orders, read, any, *, deny\n')
    await page.getByText('Changed: policy.csv.').waitFor()
    await page.getByRole('link', { name: 'Tests', exact: true }).click()
    await page.getByLabel('Against').selectOption('draft')
    await page.getByRole('button', { name: 'Run' }).click()
    await page.getByText('All 5 cells are as expected.').waitFor()
    await page.getByText('sallyport matrix test --policies=draft').waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await signIn(page, 'audrey')
    await page.getByRole('grid', { name: 'Matrix orders.csv' }).waitFor()
    expect(await page.getByText('All 5 cells').count()).to.equal(0)
    await page.getByRole('button', { name: 'Run' }).click()
    await page.getByText(/don't grant the action draft of system\/policy/).waitFor()
    await close()
  })

  it('beside a draft tells what the matrices and the last day would be answered, when somebody asks', async () => {
    await server.ask('GET', '/api/orders', { token: await server.token('sam', 'support') })
    const { page, troubles, close } = await openConsole(browser, server, { as: 'ada', path: '/draft' })
    await page.locator('.cm-content').click()
    await page.keyboard.press('Control+End')
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Home')
    await page.keyboard.type('p, support, orders, list, any, *, deny\n')
    const meaning = page.getByRole('complementary', { name: 'What it means' })
    await meaning.getByText(/^\d+ of \d+ are proven\.$/).waitFor()
    await meaning.getByRole('button', { name: 'Run the matrices' }).click()
    await meaning.getByText(/^4 of 5 cells are as expected/).waitFor()
    await meaning.getByRole('button', { name: 'Replay the last day' }).click()
    await meaning.getByText(/refused-now.* GET \/api\/orders as support: 200, then 403/).waitFor()
    await meaning.getByText(/^sallyport policy replay --candidate=draft --since=24h/).waitFor()
    await page.locator('.cm-content').click()
    await page.keyboard.press('Control+Home')
    await page.keyboard.type('# more\n')
    await meaning.getByText('You have changed the text since it was tried.').waitFor()
    expect(troubles).to.deep.equal([])
    await close()
  })

  it('a cell of the access matrix has the rows that state it, and when somebody last used it', async () => {
    await server.ask('GET', '/api/orders', { token: await server.token('sam', 'support') })
    const { page, troubles, close } = await openConsole(browser, server, { as: 'audrey', path: '/access' })
    await page.getByLabel('Caller').selectOption('support')
    await page.getByLabel('Find').fill('/api/orders/{id} delete owner+draft')
    await page.getByRole('gridcell', { name: 'yes' }).first().click()
    const panel = page.getByRole('complementary', { name: 'Why' })
    await panel.getByText('owner+draft+open: 204').or(panel.getByText('draft+open+owner: 204')).waitFor()
    await page.getByLabel('Find').fill('/api/orders list')
    await page.getByRole('gridcell', { name: 'yes' }).first().click()
    await panel.getByText('none', { exact: true }).last().waitFor()
    await panel.getByRole('button', { name: 'Look it up' }).click()
    await panel.getByRole('link', { name: /by sam$/ }).waitFor()
    // The use of others would be told of those without a role.
    await page.getByLabel('Caller').selectOption('anonymous')
    await page.getByRole('gridcell', { name: 'no', exact: true }).first().click()
    await panel.getByText('The log is searched by role, and these callers have none.').waitFor()
    expect(await panel.getByRole('button', { name: 'Look it up' }).count()).to.equal(0)
    await page.getByLabel('Caller').selectOption('support')
    await page.getByLabel('Find').fill('/api/orders/{id} delete owner+draft')
    await page.getByRole('gridcell', { name: 'yes' }).first().click()
    await panel.getByRole('link', { name: 'orders.csv:3' }).click()
    await page.getByRole('grid', { name: 'Matrix orders.csv' }).waitFor()
    expect(troubles).to.deep.equal([])
    await close()
  })

  it('works by keys alone: a cell is opened, typed, left with Tab, and taken back with Escape', async () => {
    const { page, close } = await openConsole(browser, server, { as: 'ada' })
    const { keyboard } = page
    await page.getByRole('heading', { name: 'In force' }).waitFor()
    await keyboard.press('g')
    await keyboard.press('t')
    await page.getByRole('grid').waitFor()
    await keyboard.press('/')
    await keyboard.type('delete')
    expect((await addressOf(page)).searchParams.get('find')).to.equal('delete')
    expect(await page.getByRole('gridcell', { name: 'GET' }).count()).to.equal(0)
    for (let i = 0; i < 20 && !/^\d+$/.test(await focused(page)); i += 1) await keyboard.press('Tab')
    for (const key of ['Control+End', 'Enter']) await keyboard.press(key)
    await keyboard.type('403')
    await keyboard.press('Escape')
    expect(await focused(page)).to.equal('204')
    await keyboard.press('Enter')
    await keyboard.type('403')
    await keyboard.press('Tab')
    await page.getByRole('gridcell', { name: '403', exact: true }).waitFor()
    await page.getByRole('button', { name: 'Take back the changes' }).click()
    expect(await page.getByRole('gridcell', { name: '403', exact: true }).count()).to.equal(0)
    await close()
  })

  it('adds and removes rows and columns, marks faults at their cells, and asks nothing for them', async () => {
    const { page, close } = await openConsole(browser, server, { as: 'ada', path: '/tests' })
    await page.getByLabel('New matrix').fill('mine')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    const grid = page.getByRole('grid', { name: 'Matrix mine.csv' })
    await type(page, 'method of row 2', 'GTE')
    await type(page, 'path of row 2', '/api/orders')
    await type(page, 'object of row 2', HOSTILE)
    await page.getByRole('button', { name: 'Run' }).click()
    await page.getByText('Correct the rows first: nothing was asked.').waitFor()
    expect(await grid.locator('.wrong').count()).to.equal(3)
    expect(await page.title()).to.equal('Tests - Sallyport')
    await type(page, 'method of row 2', 'GET')
    await type(page, 'object of row 2', 'none')
    await type(page, 'anonymous of row 2', '401')
    await page.getByRole('button', { name: 'Add a column' }).click()
    await type(page, '(column 6) of row 1', 'auditor')
    await type(page, 'auditor of row 2', '200 [all]')
    await grid.getByRole('gridcell', { name: '2', exact: true }).click()
    await page.getByRole('button', { name: 'Add a row below 2' }).click()
    expect(await grid.getByRole('row').count()).to.equal(4)
    await page.getByRole('button', { name: 'Run' }).click()
    await page.getByText(/^6 of 7 cells are as expected/).waitFor()
    expect(await grid.locator('.expected').count()).to.equal(2)
    await page.getByRole('button', { name: 'Delete row 2' }).click()
    expect(await grid.getByRole('row').count()).to.equal(3)
    await close()
  })

  it('keeps what is typed when the session ends in the middle of a run, and when the file changes meanwhile', async () => {
    const { page, close } = await openConsole(browser, server, { as: 'ada', path: '/tests' })
    await type(page, 'support of row 2', '200')
    await page.route('**/policy/v1/matrix-test', (route) => route.fulfill({ status: 401, json: {} }), { times: 1 })
    await page.route('**/api/tokens', (route) => route.fulfill({ status: 401, json: {} }), { times: 1 })
    await page.getByRole('button', { name: 'Run' }).click()
    await page.getByRole('dialog', { name: 'Sign in again' }).waitFor()
    await signIn(page, 'ada')
    await page.getByText('All 5 cells are as expected.').waitFor()
    await writeFile(join(server.folder, 'test/matrix/orders.csv'), ORDERS.replace('204,204', '204,403'))
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByRole('link', { name: 'Tests', exact: true }).click()
    await page.getByText(/^The server has other rows of orders\.csv/).waitFor()
    await page.getByRole('gridcell', { name: '200' }).waitFor()
    await writeFile(join(server.folder, 'test/matrix/orders.csv'), ORDERS)
    await close()
  })

  it('keeps changed rows over a reload for the same person, and for nobody else', async () => {
    const { page, close } = await openConsole(browser, server, { as: 'ada', path: '/tests' })
    page.on('dialog', (dialog) => void dialog.accept())
    await type(page, 'support of row 2', '200')
    await page.getByRole('button', { name: 'Take back the changes' }).waitFor()
    await page.reload()
    await signIn(page, 'ada')
    await page.getByRole('gridcell', { name: '200', exact: true }).waitFor()
    await page.reload()
    await signIn(page, 'audrey')
    await page.getByRole('grid', { name: 'Matrix orders.csv' }).waitFor()
    expect(await page.getByRole('gridcell', { name: '200', exact: true }).count()).to.equal(0)
    await close()
  })

  it('stops a run that somebody no longer wants, and two at once are one', async () => {
    const { page, close } = await openConsole(browser, server, { as: 'ada', path: '/tests' })
    const asked: string[] = []
    await page.route('**/policy/v1/matrix-test', async (route) => {
      asked.push(route.request().url())
      if (asked.length === 3) await route.continue()
    })
    const failed: string[] = []
    page.on('requestfailed', (request) => failed.push(request.url()))
    await page.getByRole('button', { name: 'Run' }).click()
    await until(() => asked.length === 1)
    await page.getByRole('button', { name: 'Run' }).click()
    await until(() => asked.length === 2 && failed.length === 1)
    await page.getByRole('button', { name: 'Stop' }).click()
    await until(() => failed.length === 2)
    await page.getByRole('button', { name: 'Run' }).click()
    await page.getByText("4 of 5 cells are as expected, 1 wrong, 0 can't be tried.").waitFor()
    await close()
  })

  it('has 5,000 columns in a table whose columns out of sight do not exist', async () => {
    const columns = Array.from({ length: 5000 }, (_, i) => `user:u${i}`)
    const text = `method,path,object,${columns}\nGET,/api/orders,none,${columns.map(() => '403')}\n`
    await writeFile(join(server.folder, 'test/matrix/wide.csv'), text)
    const { page, close } = await openConsole(browser, server, { as: 'ada', path: '/tests?matrix=wide.csv' })
    const grid = page.getByRole('grid', { name: 'Matrix wide.csv' })
    await grid.waitFor()
    expect(await grid.getAttribute('aria-colcount')).to.equal('5004')
    expect(await page.getByRole('columnheader').count()).to.be.lessThan(60)
    await grid.getByRole('gridcell', { name: '2', exact: true }).click()
    await page.keyboard.press('End')
    await until(async () => (await focused(page)) === '403')
    await page.keyboard.press('Enter')
    await page.getByRole('textbox', { name: 'user:u4999 of row 2' }).waitFor()
    await unlink(join(server.folder, 'test/matrix/wide.csv'))
    await close()
  })

  it('has 20,000 rows in a table whose rows out of sight do not exist', async () => {
    const rows = Array.from({ length: 20_000 }, (_, i) => `GET,/api/orders/{id},other,${i === 19_999 ? '444' : '401'}`)
    await writeFile(join(server.folder, 'test/matrix/large.csv'), `method,path,object,anonymous\n${rows.join('\n')}\n`)
    const { page, troubles, close } = await openConsole(browser, server, { as: 'ada', path: '/tests?matrix=large.csv' })
    const grid = page.getByRole('grid', { name: 'Matrix large.csv' })
    await grid.waitFor()
    expect(await grid.getAttribute('aria-rowcount')).to.equal('20002')
    expect(await grid.getByRole('row').count()).to.be.lessThan(60)
    await grid.getByRole('gridcell', { name: '1', exact: true }).click()
    await page.keyboard.press('Control+End')
    await until(async () => (await focused(page)) === '444')
    await page.keyboard.press('Enter')
    await page.getByRole('textbox', { name: 'anonymous of row 20001' }).fill('404')
    await page.keyboard.press('Enter')
    await until(async () => (await focused(page)) === '404')
    expect(troubles).to.deep.equal([])
    await close()
  })
})

/** Opens a cell, types, and leaves it. */
async function type(page: Page, name: string, text: string): Promise<void> {
  const { column, row } = /^(?<column>.*) of row (?<row>\d+)$/.exec(name)?.groups ?? {}
  const heads = await page.getByRole('columnheader').allInnerTexts()
  const line = page.locator('.window .line').nth(Number(row) - 1)
  await line
    .getByRole('gridcell')
    .nth(heads.indexOf(column ?? ''))
    .click()
  await page.locator('.window input').fill(text)
  await page.keyboard.press('Enter')
  await page.locator('.window input').waitFor({ state: 'detached' })
}

function focused(page: Page): Promise<string> {
  return page.evaluate('document.activeElement?.innerText ?? ""')
}
