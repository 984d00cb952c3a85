/** The editor of a draft offers the names that may stand at the cursor: by keys alone, and what they mean runs nothing. */
import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import type { Browser, Locator, Page } from 'playwright-core'
import { startChromium } from '../chromium.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { faultsAt } from './faults-at.ts'
import { openConsole } from './open-console.ts'

const RUN = '"><img src=x onerror=document.title=`ran`><script>document.title=`ran`</script>'

describe('completion in a draft', () => {
  let browser: Browser
  let server: TestServer
  before(async () => {
    browser = await startChromium()
    const roles = await readFile(new URL('../../policies/roles.yaml', import.meta.url), 'utf8')
    const files = { 'policies/roles.yaml': `${roles}\nmember-of-night:\n  description: ${JSON.stringify(RUN)}\n` }
    server = await startTestServer({ demo: true, env: { CONSOLE_PORT: '0' }, files })
  })
  after(async () => {
    await server.stop()
    await browser.close()
  })

  it('offers names with Ctrl-Space; arrows and Enter choose one, and Escape leaves all as it is', async () => {
    const { page, troubles, close } = await openConsole(browser, server, { as: 'ada', path: '/draft' })
    await typeFirst(page, 'p, support, orders, read, owner+')
    await page.keyboard.press('Control+Space')
    await offered(page, 'placed').waitFor()
    expect(await page.locator('[role=option]').allInnerTexts())
      .to.include.members(['ownerrelation', 'anyword'])
      .and.not.include('memberrole')
    // Enter before an arrow key is a new line, so that whoever types on loses none.
    await page.keyboard.press('Escape')
    await page.getByRole('listbox').waitFor({ state: 'detached' })
    expect(await firstLine(page)).to.equal('p, support, orders, read, owner+')
    await page.keyboard.type('pl')
    await page.keyboard.press('Control+Space')
    const option = offered(page, 'placed')
    await option.waitFor()
    expect(await page.locator('[role=option]').count()).to.be.lessThan(4)
    await page.keyboard.press('ArrowDown')
    await page.locator('[role=option][aria-selected=true]', { hasText: 'placed' }).waitFor()
    expect(await faultsAt(page, 'completion')).to.deep.equal([])
    await page.keyboard.press('Enter')
    expect(await firstLine(page)).to.equal('p, support, orders, read, owner+placed')
    expect(troubles).to.deep.equal([])
    await close()
  })

  it('offers what is typed in the draft alone, when a name begins, by one question', async () => {
    const { page, troubles, close } = await openConsole(browser, server, { as: 'ada', path: '/draft?file=views.yaml' })
    await typeFirst(page, 'notes:\n  night: [id]\n')
    await page.getByLabel('File').selectOption('policy.csv')
    let asked = 0
    page.on('request', (request) => {
      if (request.url().endsWith('/policy/v1/names')) asked++
    })
    await typeFirst(page, 'p, support, notes, read, any, ')
    await page.keyboard.type('n')
    await offered(page, 'night').waitFor()
    await page.keyboard.type('ig')
    await offered(page, 'night').waitFor()
    expect(asked).to.equal(1)
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    expect(await firstLine(page)).to.equal('p, support, notes, read, any, night')
    expect(troubles).to.deep.equal([])
    await close()
  })

  it('runs nothing of a name or a meaning', async () => {
    const { page, troubles, close } = await openConsole(browser, server, { as: 'ada', path: '/draft' })
    await typeFirst(page, 'p, member-of')
    await page.keyboard.press('Control+Space')
    await offered(page, 'member-of-night').waitFor()
    await page.keyboard.press('ArrowDown')
    await page.locator('.cm-completionInfo', { hasText: RUN }).waitFor()
    await page.keyboard.press('Escape')
    await page.route('**/policy/v1/names', async (route) => {
      const told = await (await route.fetch()).json()
      told.result.names = [{ name: `member-of${RUN}`, kind: RUN, meaning: RUN }]
      await route.fulfill({ json: told })
    })
    await page.keyboard.press('Control+Space')
    await offered(page, RUN).waitFor()
    await page.keyboard.press('ArrowDown')
    await page.locator('.cm-completionInfo', { hasText: RUN }).waitFor()
    await page.keyboard.press('Enter')
    expect(await firstLine(page)).to.equal(`p, member-of${RUN}`)
    expect(await page.title()).to.equal('Draft - Sallyport')
    expect(await page.locator('img[onerror]').count()).to.equal(0)
    expect(troubles).to.deep.equal([])
    await close()
  })

  it('lets whoever may not ask type on', async () => {
    const { page, troubles, close } = await openConsole(browser, server, { as: 'audrey', path: '/draft' })
    await typeFirst(page, 'p, ')
    const refused = page.waitForResponse('**/policy/v1/names')
    await page.keyboard.press('Control+Space')
    expect((await refused).status()).to.equal(403)
    await page.keyboard.type('member')
    expect(await firstLine(page)).to.equal('p, member')
    expect(await page.locator('[role=option]').count()).to.equal(0)
    expect(troubles).to.deep.equal([])
    await close()
  })
})

/** In a line of its own, with the cursor behind it. */
async function typeFirst(page: Page, line: string): Promise<void> {
  await page.locator('.cm-content').click()
  await page.keyboard.press('Control+Home')
  await page.keyboard.insertText('\n')
  await page.keyboard.press('Control+Home')
  await page.keyboard.insertText(line)
}

/** A name in the list, and not in the choice of files. */
function offered(page: Page, name: string): Locator {
  return page.locator('[role=option]', { hasText: name })
}

function firstLine(page: Page): Promise<string> {
  return page.locator('.cm-line').first().innerText()
}
