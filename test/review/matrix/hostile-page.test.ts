/** The HTML page stays what it is whatever users, rules and fields are called, and however much there is of it. */
import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { MATRIX_FORMATS } from '../../../src/tools/permissions/formats.ts'
import { startChromium } from '../../chromium.ts'
import { filesOf } from '../../policy/render.ts'
import { soak } from '../../runs.ts'
import { matrixOf, routed } from './fixture.ts'
import { openPage } from './open-page.ts'

const RUN = 'document.title=`ran`'
const HOSTILE = [
  `user:"><script>${RUN}</script>`,
  `user:</script><script>${RUN}</script><!--<script>`,
  `user:<img src=x onerror=${RUN}>`,
  `user:' onmouseover=${RUN} x='`,
  'user:&lt;b&gt; &amp;',
  'user:__proto__',
  'user:=HYPERLINK("http://127.0.0.1:1/","x")',
]

const csv = (cell: string) => `"${cell.replaceAll('"', '""')}"`
const RULES = HOSTILE.map((user) => `p, ${csv(user)}, docs, read, any, *, allow`).join('\n')

describe('the page of a hostile matrix', () => {
  let browser: Browser
  before(async () => {
    browser = await startChromium()
  })
  after(() => browser.close())

  const html = () => MATRIX_FORMATS.html(matrixOf({ files: filesOf({ 'policy.csv': `# ${HOSTILE[1]}\n${RULES}` }) }))

  it('shows names and rules as they are, runs nothing of them, and asks for nothing', async () => {
    const { page, cell, rows, requests, troubles, close } = await openPage(browser, html())
    const heads = await page.locator('thead th').allInnerTexts()
    expect(heads.slice(3)).to.deep.equal(HOSTILE.toSorted())
    expect(await page.getByLabel('Caller').locator('option').allInnerTexts()).to.include.members(HOSTILE)
    const readRow = await rows.evaluateAll<number, { readonly textContent: string }>((lines) =>
      lines.findIndex(({ textContent }) => textContent.includes('/docs/{id}')),
    )
    for (const [i, user] of HOSTILE.toSorted().entries()) {
      await cell(readRow, i + 2).click()
      expect(await page.locator('.panel .who').innerText()).to.equal(user.replaceAll(/\s+/g, ' '))
      expect(await page.locator('.panel .rule code').innerText()).to.contain(csv(user))
      await page
        .locator('thead th')
        .nth(i + 3)
        .hover()
      await page.getByLabel('Caller').selectOption(user)
      expect(await page.locator('thead th:visible').count()).to.equal(2)
      await page.getByRole('button', { name: 'Clear' }).click()
    }
    expect(await page.title()).to.match(/^Access matrix/)
    expect(await page.locator('script').count()).to.equal(2)
    expect({ requests: requests.length, troubles }).to.deep.equal({ requests: 1, troubles: [] })
    await close()
  })

  it('reads no more from its address than the choices that it has', async () => {
    const { page, close } = await openPage(browser, html())
    await page.goto(
      `${page.url()}#caller=${encodeURIComponent(`"><img src=x onerror=${RUN}>`)}&text=docs&__proto__=x&elements=1`,
    )
    await page.reload()
    expect(await page.getByLabel('Caller').inputValue()).to.equal('')
    expect(await page.getByLabel('Find').inputValue()).to.equal('docs')
    expect(await page.title()).to.match(/^Access matrix/)
    await close()
  })

  it('runs nothing even where the escaping has a hole, which would run without its Content-Security-Policy', async () => {
    const broken = html().replace('<main>', `<main><script>${RUN}</script><img src=x onerror=${RUN}>`)
    const held = await openPage(browser, broken)
    expect(await held.page.title()).to.match(/^Access matrix/)
    expect(held.troubles.join()).to.match(/Content Security Policy/)
    await held.close()
    const loose = await openPage(browser, broken.replace(/<meta http-equiv[^>]*>/, ''))
    expect(await loose.page.title()).to.equal('ran')
    await loose.close()
  })
})

describe('the page of a large matrix', () => {
  let browser: Browser
  before(async () => {
    browser = await startChromium()
  })
  after(() => browser.close())

  it('works with 30 roles and 150 rows, in soak with 100 and 500', async () => {
    const { many, paths, least } = soak({ many: 100, paths: 45, least: 500 }, { many: 30, paths: 14, least: 150 })
    const roles = Array.from({ length: many }, (_, i) => `role-${i}`)
    const states = Array.from({ length: paths }, (_, i) => `s${i}`)
    const one = routed(undefined)
    const docs = one.byName.get('docs')
    if (!docs) throw new Error('no docs')
    // Copies of the same routes under other paths.
    const routes = states.flatMap((name) =>
      docs.routes.slice(0, 2).map((route) => ({ ...route, path: `/${name}${route.path}` })),
    )
    const resources = { byName: one.byName, routes: [...one.routes, ...routes] }
    const files = filesOf({
      'policy.csv': roles
        .map((role, i) => `p, ${role}, docs, ${i % 2 ? 'read' : 'list|update'}, owner, *, allow`)
        .join('\n'),
      'roles.yaml': roles.map((role) => `${role}: { description: One of many. }`).join('\n'),
      'ownership.yaml': 'docs: { relations: { owner: ownerId } }\n',
    })
    const matrix = matrixOf({ files, resources })
    expect(matrix.rows.length).to.be.at.least(least)
    const { page, cell, rows, troubles, close } = await openPage(browser, MATRIX_FORMATS.html(matrix))
    expect(await rows.count()).to.equal(matrix.rows.length)
    await page.getByLabel('Find').fill('/s7/docs/{id}')
    await page.getByLabel('Caller').selectOption('role-27')
    const shown = matrix.rows.filter(({ path }) => path === '/s7/docs/{id}').length
    expect(await page.locator('tr.row:visible').count()).to.equal(shown)
    await page.getByRole('button', { name: 'Clear' }).click()
    await cell(0, 0).focus()
    await page.keyboard.press('Control+End')
    await page.keyboard.press('Enter')
    expect(await page.locator('.panel .who').innerText()).to.equal(`role-${many - 1}`)
    expect(troubles).to.deep.equal([])
    await close()
  })

  it('is still a grid to assistive technology, though laid out otherwise', async () => {
    const roles = Array.from({ length: 20 }, (_, i) => `role-${i}: { description: One of many. }`)
    const matrix = matrixOf({ files: filesOf({ 'roles.yaml': roles.join('\n') }) })
    const { page, close } = await openPage(browser, MATRIX_FORMATS.html(matrix))
    expect(await page.locator('table.many').count()).to.equal(1)
    const { nodes } = await (await page.context().newCDPSession(page)).send('Accessibility.getFullAXTree')
    const count = (role: string) => nodes.filter((node) => node.role?.value === role).length
    expect(count('gridcell')).to.equal(matrix.rows.length * matrix.columns.length)
    expect(count('columnheader')).to.equal(matrix.columns.length + 1)
    await close()
  })
})
