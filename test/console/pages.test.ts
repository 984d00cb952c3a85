/** Each page of the console does its main task, from sign-in to result, for a mouse, for keys alone and for a reader. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { PAGES } from '../../packages/console/src/pages.ts'
import { ApprovedPolicies } from '../approvals/people.ts'
import { startChromium } from '../chromium.ts'
import { inTurn, soak } from '../runs.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { until } from '../until.ts'
import { faultsAt } from './faults-at.ts'
import { addressOf, openConsole, signIn } from './open-console.ts'

/** Bytes over the wire, until the first page has its answers. */
const MOST_BYTES = 150_000

describe('the pages of the console', () => {
  let browser: Browser
  let server: TestServer
  const begun = Date.now()
  before(async () => {
    browser = await startChromium()
    server = await startTestServer({ demo: true, env: { CONSOLE_PORT: '0' } })
    await mkdir(join(server.folder, 'test/matrix'), { recursive: true })
    const matrix = 'method,path,object,member,support\nGET,/api/orders/{id},placed+open,403,403\n'
    await writeFile(join(server.folder, 'test/matrix/orders.csv'), matrix)
    const token = await server.token('alice', 'member')
    await server.ask('GET', '/api/accounts/none', { token })
    await server.ask('DELETE', '/api/users/bob', { token })
  })
  after(async () => {
    await server.stop()
    await browser.close()
  })

  it('the overview shows what is in force, its guarantees and the refusals, in few bytes', async () => {
    const { page, troubles, close } = await openConsole(browser, server)
    const sizes: Promise<number>[] = []
    page.on('response', (response) => sizes.push(sizeOf(response)))
    await page.reload()
    await signIn(page, 'audrey')
    await page.getByText(server.app.policy.active.revision).waitFor()
    const since = await page.locator('dt', { hasText: 'Since' }).locator('xpath=following-sibling::dd[1]').innerText()
    expect(Date.parse(since))
      .to.be.greaterThan(begun - 1000)
      .and.lessThan(Date.now())
    await page.getByText('nobody changes a user without credentials').waitFor()
    await page.getByRole('figure', { name: /^Refused requests by minute: at most [1-9]/ }).waitFor()
    await page.locator('.uplot canvas').waitFor({ state: 'attached' })
    const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
    expect(bytes).to.be.greaterThan(5_000).and.lessThan(MOST_BYTES)
    expect(troubles).to.deep.equal([])
    await close()
  })

  it('access narrows the matrix, and a cell opens the line that decides it and its explanation', async () => {
    const { page, troubles, close } = await openConsole(browser, server, { as: 'audrey', path: '/access' })
    await page.getByLabel('Caller').selectOption('support')
    await page.getByLabel('Resource').selectOption('orders')
    await page.getByLabel('Action').selectOption('read')
    await page.getByRole('gridcell', { name: 'yes' }).first().click()
    expect(await page.getByRole('row').count()).to.be.lessThan(60)
    const panel = page.getByRole('complementary', { name: 'Why' })
    expect(await panel.innerText()).to.match(/policy\.csv:\d+ allow\s+p, support, orders, list\|read, any/)
    await panel.getByText('None speaks of it.').waitFor()
    await page.getByLabel('Caller').selectOption('anonymous')
    await page.getByLabel('Resource').selectOption('users')
    await page.getByLabel('Action').selectOption('update')
    await page.getByRole('gridcell', { name: 'no', exact: true }).first().click()
    await panel.getByText(/^proven nobody changes a user without credentials \(never\)$/).waitFor()
    await page.getByLabel('Caller').selectOption('support')
    await page.getByLabel('Resource').selectOption('orders')
    await page.getByLabel('Action').selectOption('read')
    await page.getByRole('gridcell', { name: 'yes' }).first().click()
    await panel.getByRole('link', { name: 'Explain this request' }).click()
    await page.getByRole('article', { name: 'Explanation' }).getByText('allowed', { exact: true }).first().waitFor()
    expect((await addressOf(page)).searchParams.get('roles')).to.equal('support')
    expect(troubles).to.deep.equal([])
    await close()
  })

  it('ask explains a request, with its lines marked in the file and what would allow it', async () => {
    const { page, close } = await openConsole(browser, server, { as: 'audrey', path: '/ask' })
    await page.getByLabel('Method').selectOption('DELETE')
    await page.getByLabel('Path').fill('/api/orders/{id}')
    await page.getByLabel('Roles').fill('member')
    await page.getByLabel('Relations').fill('owner')
    await page.getByRole('button', { name: 'Explain' }).click()
    const article = page.getByRole('article', { name: 'Explanation' })
    await article.getByText('refused', { exact: true }).first().waitFor()
    await article.getByText('if the caller had the role admin').waitFor()
    await page.getByLabel('Relations').fill('owner+draft')
    await page.getByLabel('Relations').press('Enter')
    expect(await article.locator('.marked').innerText()).to.match(/^p, member, orders, +delete, +owner\+draft/)
    expect(await article.locator('.command code').innerText()).to.contain('sallyport policy explain')
    await page.goBack()
    await article.getByText('refused', { exact: true }).first().waitFor()
    await close()
  })

  it('ask makes a draft of what would allow a request, and drops none that was typed', async () => {
    const query = 'method=DELETE&path=%2Fapi%2Forders%2F%7Bid%7D&roles=member&relation=owner'
    const { page, troubles, close } = await openConsole(browser, server, { as: 'ada', path: `/ask?${query}` })
    const miss = page.locator('.rule', { hasText: 'if the object were draft' })
    await miss.getByRole('button', { name: 'Draft this change' }).click()
    await page.getByText('Changed: policy.csv.').waitFor()
    await page.locator('li', { hasText: /member .*gains delete on orders/ }).waitFor()
    await page.goBack()
    await miss.getByRole('button', { name: 'Draft this change' }).click()
    await page.getByRole('button', { name: 'Keep my draft' }).click()
    const other = page.locator('.rule', { hasText: 'if the caller had the role admin' })
    await other.getByRole('button', { name: 'Draft this change' }).click()
    await page.getByRole('button', { name: 'Drop it' }).click()
    await page
      .locator('.cm-content')
      .getByText('p, member, orders, delete, any, *, allow')
      .waitFor({ state: 'attached' })
    expect((await addressOf(page)).pathname).to.equal('/draft')
    // The policy is another one now: nothing is drafted of lines that aren't those in force.
    await page.goBack()
    await page.route('**/policy/v1/files', async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, json: { ...(await response.json()), revision: 'other' } })
    })
    await other.getByRole('button', { name: 'Draft this change' }).click()
    await page.getByRole('button', { name: 'Drop it' }).click()
    await page.getByText('The policy in force has changed since: ask again.').waitFor()
    expect(troubles).to.deep.equal([])
    await close()
  })

  it('a question that the command refuses shows its sentence', async () => {
    const { page, close } = await openConsole(browser, server, { as: 'audrey', path: '/ask' })
    await page.getByLabel('Path').fill('/api/orders/{id}')
    await page.getByLabel('Relations').fill('ownr')
    await page.getByLabel('Relations').press('Enter')
    expect(await page.getByRole('alert').innerText()).to.match(/ownr.*did you mean owner/)
    await close()
  })

  it('who lists the people who can, and what a person can do', async () => {
    const { page, close } = await openConsole(browser, server, { as: 'audrey', path: '/who' })
    await page.getByLabel('Path').fill('/api/users/bob')
    await page.getByRole('button', { name: 'Find who' }).click()
    await page.getByRole('table').getByRole('rowheader', { name: 'ada' }).first().waitFor()
    await page.getByLabel('Caller').fill('user:sam')
    await page.getByRole('button', { name: 'Find what' }).click()
    await page.getByText('user:sam is active, with support').waitFor()
    await close()
  })

  it('decisions finds records, and explains one by the policy that decided it', async () => {
    const { page, close } = await openConsole(browser, server, { as: 'audrey', path: '/decisions?outcome=refused' })
    await page.getByLabel('Caller').fill('alice')
    await page.getByRole('button', { name: 'Find' }).click()
    await page.getByRole('gridcell', { name: 'DELETE /api/users/{id}' }).click()
    await page.getByRole('article', { name: 'Explanation' }).getByText('refused', { exact: true }).first().waitFor()
    expect((await addressOf(page)).href).to.match(/\/ask\?requestId=[\w-]+$/)
    await close()
  })

  it('decisions shows what is decided meanwhile, where somebody follows', async () => {
    const { page, close } = await openConsole(browser, server, { as: 'audrey', path: '/decisions?subject=sam' })
    await page.getByText(/^0 records/).waitFor()
    await page.getByLabel('follow').check()
    const token = await server.token('sam', 'support')
    const rows = page.getByRole('gridcell', { name: 'GET /api/orders' })
    // A stream takes a moment to begin, and nothing tells when it has.
    await until(async () => {
      await server.ask('GET', '/api/orders', { token })
      return (await rows.count()) > 0
    })
    await page.reload()
    await signIn(page, 'audrey')
    await rows.first().waitFor()
    expect(await page.getByLabel('follow').isChecked()).to.equal(true)
    await close()
  })

  it('decisions asks with growing pauses where streams end at once', async () => {
    const { page, close } = await openConsole(browser, server, { as: 'audrey', path: '/decisions' })
    const asked: number[] = []
    await page.route('**/policy/v1/follow', (route) => {
      asked.push(performance.now())
      return route.fulfill({ contentType: 'text/event-stream', body: '' })
    })
    await page.getByLabel('follow').check()
    await until(() => asked.length === 3)
    const [first = 0, , third = 0] = asked
    expect(third - first).to.be.greaterThan(1400)
    await close()
  })

  it('draft finds mistakes while somebody types, tells what a change means, and changes nothing', async () => {
    const before = server.app.policy.active.revision
    const { page, troubles, close } = await openConsole(browser, server, { as: 'ada', path: '/draft' })
    await typeAtEnd(page, 'p, support, orders, delete, any, *, allow')
    const meaning = page.getByRole('complementary', { name: 'What it means' })
    await meaning.getByText('support gains delete on orders').waitFor()
    const line = page.locator('.cm-line', { hasText: 'p, support, orders, delete' })
    await line.getByText(/^widens: support gains delete on orders/).waitFor()
    await typeAtEnd(page, 'p, suport, orders, read, any, *, allow')
    await meaning.getByRole('button', { name: /error .*the role suport is not declared/ }).click()
    expect(await page.locator('.cm-lint-marker-error').count()).to.equal(1)
    expect(await page.locator('.cm-activeLine').innerText()).to.contain('suport')
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByRole('link', { name: 'Draft' }).click()
    await page.getByText('Changed: policy.csv.').waitFor()
    await page.getByRole('button', { name: 'Take back all changes' }).click()
    await page.getByText('Nothing is changed yet.').waitFor()
    expect(server.app.policy.active.revision).to.equal(before)
    expect(troubles).to.deep.equal([])
    await close()
  })

  it('usage shows which lines requests needed, and leads to their records', async () => {
    const { page, close } = await openConsole(browser, server, { as: 'audrey', path: '/usage' })
    await page.getByRole('combobox', { name: 'Use' }).selectOption('used')
    await page
      .getByRole('gridcell', { name: /^policy\.csv:\d+$/ })
      .first()
      .click()
    await page.getByText(/^[1-9]\d* records/).waitFor()
    expect((await addressOf(page)).href).to.match(/\/decisions\?rule=policy\.csv%3A\d+$/)
    await close()
  })

  it('changes says how versions and proposals come about where there are none', async () => {
    const { page, close } = await openConsole(browser, server, { as: 'audrey', path: '/changes' })
    await page.getByText('No version is kept yet.').waitFor()
    await page.getByText('The policy of this server is a folder').waitFor()
    const asked = await server.decisions()
    expect(asked.filter(({ problem }) => problem === 'question-refused')).to.have.length.below(2)
    await close()
  })

  it('changes shows what a proposal means, what it still needs, and the command that approves it', async () => {
    const approved = await ApprovedPolicies.make()
    const published = await approved.published.start({ CONSOLE_PORT: '0' }, { demo: true })
    // The matrices of a server are those of the folder that it was started in.
    const matrices = join(published.folder, 'test/matrix')
    await mkdir(matrices, { recursive: true })
    await writeFile(join(matrices, 'orders.csv'), 'method,path,object,member\nGET,/api/orders/{id},other,403\n')
    const folder = await approved.folderWith('wider', 'p, member, orders, read, any, *, allow\n')
    const made = await approved.as('ada', 'propose', folder, '--title', 'members read orders')
    expect(made.code, made.stderr).to.equal(0)
    const { page, troubles, close } = await openConsole(browser, published, { as: 'audrey', path: '/changes' })
    await page.getByText(/open 1: members read orders \(ada/).click()
    await page.getByText(/^widening .*member gains read on orders/).waitFor()
    await page.getByText(/^2 people of security, because .*: 2 missing, of zoe, tim\.$/).waitFor()
    await page.getByText(/^Expectations of the matrices that it does not meet: [1-9]/).waitFor()
    await page.getByText('sallyport policy approve 1').waitFor()
    await page.getByRole('table', { name: 'The newest first' }).getByRole('rowheader', { name: '1' }).waitFor()
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByRole('heading', { name: 'Instances' }).waitFor()
    expect(troubles).to.deep.equal([])
    await close()
    await approved.remove()
  })

  it('tells who may not look which action is missing', async () => {
    const { page, close } = await openConsole(browser, server, { as: 'alice' })
    for (const { title, action } of PAGES) {
      if (title === 'Ask' || title === 'Who') continue
      await page.getByRole('link', { name: title }).click()
      await page
        .getByText(new RegExp(`Your roles don't grant the action (${action}|read) of system/policy`))
        .first()
        .waitFor()
    }
    await close()
  })

  it('works by keys alone: signing in, choosing a page, a cell of the matrix, help, and back', async () => {
    const { page, close } = await openConsole(browser, server, {})
    const { keyboard } = page
    await page.getByLabel('E-mail').waitFor()
    await keyboard.press('Tab')
    await keyboard.type('audrey@example.com')
    await keyboard.press('Tab')
    await keyboard.type('sallyport-demo')
    await keyboard.press('Enter')
    await page.getByRole('heading', { name: 'In force' }).waitFor()
    await keyboard.press('g')
    await keyboard.press('a')
    await page.getByRole('grid', { name: 'Access matrix' }).waitFor()
    await keyboard.press('/')
    await keyboard.type('orders support')
    expect((await addressOf(page)).searchParams.get('find')).to.equal('orders support')
    await page.getByLabel('Find').press('Escape')
    for (let i = 0; i < 6 && !(await isIn(page, 'gridcell')); i += 1) await keyboard.press('Tab')
    for (const key of ['End', 'ArrowLeft', 'PageDown', 'ArrowUp', 'Control+Home', 'End', 'Enter'])
      await keyboard.press(key)
    await page.getByRole('complementary', { name: 'Why' }).waitFor()
    await keyboard.press('Escape')
    expect(await isIn(page, 'gridcell')).to.equal(true)
    await keyboard.press('?')
    await page.getByRole('dialog', { name: 'Help with keys' }).waitFor()
    await keyboard.press('Escape')
    expect(await page.getByRole('dialog').count()).to.equal(0)
    await close()
  })

  it('breaks no rule of WCAG 2.2 AA that axe-core knows, light and dark, narrow and wide', async () => {
    const { page, close } = await openConsole(browser, server)
    // Most rules don't ask for the width: each commit looks at one of both, soak at both.
    const light = soak([360, 1440], inTurn([360, 1440], 2))
    const [dark] = inTurn([1440, 360], 2)
    const faults = await faultsAt(page, 'sign-in', light, dark)
    await signIn(page, 'ada')
    for (const { title } of PAGES) {
      await page.getByRole('link', { name: title, exact: true }).click()
      if (title === 'Ask') {
        await page.getByLabel('Path').fill('/api/orders/{id}')
        await page.getByLabel('Roles').fill('member')
        await page.getByLabel('Roles').press('Enter')
        await page.getByText('Lines that decide').waitFor()
      }
      if (title === 'Tests') {
        for (const name of ['Run', 'Coverage', 'Mistakes']) await page.getByRole('button', { name }).click()
        await page.getByRole('gridcell', { name: '403 got 200' }).waitFor()
        await page.getByRole('gridcell', { name: '403 got 200' }).click()
        await page.getByRole('textbox', { name: 'support of row 2' }).waitFor()
      }
      await page.locator('#content :is([aria-busy=true], [data-loading])').first().waitFor({ state: 'detached' })
      faults.push(...(await faultsAt(page, title, light, dark)))
    }
    expect(faults).to.deep.equal([])
    const link = page.getByRole('link', { name: 'Overview' })
    await link.evaluate<void, { readonly style: object }>(({ style }) => void Object.assign(style, { color: '#888' }))
    expect(await faultsAt(page, 'control', [1440])).to.include('control, light at 1440: color-contrast')
    await close()
  })
})

async function typeAtEnd(page: Page, line: string): Promise<void> {
  await page.locator('.cm-content').click()
  await page.keyboard.press('Control+End')
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('Home')
  await page.keyboard.type(`${line}\n`)
}

/** Whether the focus is in an element of this role. */
function isIn(page: Page, role: string): Promise<boolean> {
  return page.evaluate(`document.activeElement?.getAttribute('role') === '${role}'`)
}

async function sizeOf(response: {
  request(): { sizes(): Promise<{ responseBodySize: number; responseHeadersSize: number }> }
}) {
  const { responseBodySize, responseHeadersSize } = await response.request().sizes()
  return responseBodySize + responseHeadersSize
}
