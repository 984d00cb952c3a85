/** What goes wrong around the console: hostile names, lost sessions and servers, reloads. Nothing runs, nothing is lost. */
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Browser, Page, Request } from 'playwright-core'
import { PAGES } from '../../packages/console/src/pages.ts'
import { DEMO_PASSWORD } from '../../src/server/parts/demo.ts'
import { startChromium } from '../chromium.ts'
import { CHEAP_PASSWORDS, startTestServer, type TestServer } from '../server.ts'
import { until } from '../until.ts'
import { addressOf, openConsole, signIn } from './open-console.ts'

const RUN = 'document.title=`ran`'
const HOSTILE = [
  `user:"><script>${RUN}</script>`,
  `user:<img src=x onerror=${RUN}>`,
  `user:</script><!--<script>${RUN}</script>`,
  `user:' onmouseover=${RUN} x='`,
]

const csv = (cell: string) => `"${cell.replaceAll('"', '""')}"`

const END = '# end of policy'
const SHIPPED = readFileSync(new URL('../../policies/policy.csv', import.meta.url), 'utf8')
const RULES = HOSTILE.map((user) => `p, ${csv(user)}, orders, list|read, any, *, allow\n`).join('')
const POLICY = SHIPPED.replace(END, `# ${HOSTILE[0]}\n${RULES}${END}`)

/** Its name, its callers, its objects and its faults. */
const MATRIX = `"><img src=x onerror=${RUN}>.csv`
const MATRIX_TEXT = `method,path,object,note,${HOSTILE.map(csv).join(',')}
GET,/api/orders,none,${csv(HOSTILE[0] ?? '')},${HOSTILE.map(() => '404').join(',')}
`

describe('the console among hostile names and lost connections', () => {
  let browser: Browser
  let server: TestServer
  before(async () => {
    browser = await startChromium()
    server = await startTestServer({
      demo: true,
      env: { CONSOLE_PORT: '0' },
      files: { 'policies/policy.csv': POLICY },
    })
    await mkdir(join(server.folder, 'test/matrix'), { recursive: true })
    await writeFile(join(server.folder, `test/matrix/${MATRIX}`), MATRIX_TEXT)
    for (const user of HOSTILE) {
      const token = await server.token(user.slice('user:'.length))
      await server.ask('GET', '/api/orders', { token })
      await server.ask('DELETE', `/api/orders/${encodeURIComponent(user)}`, { token })
    }
  })
  after(async () => {
    await server.stop()
    await browser.close()
  })

  it('shows names of policies and decisions as they are, and runs nothing on any page', async () => {
    const { page, troubles, close } = await openConsole(browser, server, { as: 'ada' })
    await page.getByRole('link', { name: 'Access' }).click()
    await page.getByRole('grid').waitFor()
    const options = await page.getByLabel('Caller').locator('option').allInnerTexts()
    expect(options).to.include.members(HOSTILE)
    await page.getByLabel('Caller').selectOption(HOSTILE[1] ?? '')
    await page.getByRole('gridcell', { name: 'yes' }).first().click()
    expect(await page.locator('.panel .who').innerText()).to.equal(HOSTILE[1])
    await page.getByRole('link', { name: 'Explain this request' }).click()
    await page.locator('.marked').waitFor()
    await page.getByRole('link', { name: 'Decisions' }).click()
    await page
      .getByRole('gridcell', { name: HOSTILE[1]?.slice('user:'.length) ?? '', exact: true })
      .first()
      .waitFor()
    // Columns out of sight don't exist.
    await page.setViewportSize({ width: 2400, height: 900 })
    await page.getByRole('link', { name: 'Tests' }).click()
    await page.getByRole('grid', { name: `Matrix ${MATRIX}` }).waitFor()
    expect(await page.getByRole('combobox', { name: 'Matrix' }).inputValue()).to.equal(MATRIX)
    await page.getByRole('button', { name: 'Run' }).click()
    await page.getByText(/^0 of 4 cells are as expected/).waitFor()
    expect(await page.getByRole('columnheader').allInnerTexts()).to.include.members(HOSTILE)
    await page.getByRole('gridcell', { name: 'GET' }).click()
    await page.getByRole('textbox', { name: 'method of row 2' }).fill(HOSTILE[2] ?? '')
    await page.getByRole('button', { name: 'Run' }).click()
    await page.getByText('Correct the rows first: nothing was asked.').waitFor()
    for (const { title } of PAGES) {
      await page.getByRole('link', { name: title, exact: true }).click()
      await page.locator('#content :is([aria-busy=true], [data-loading])').first().waitFor({ state: 'detached' })
      expect(await page.title()).to.equal(`${title} - Sallyport`)
    }
    expect(await page.locator('img, script:not([src])').count()).to.equal(0)
    expect(troubles).to.deep.equal([])
    await close()
  })

  it('runs nothing of an address either', async () => {
    const query = new URLSearchParams({
      find: `<img src=x onerror=${RUN}>`,
      caller: HOSTILE[1] ?? '',
      path: HOSTILE[2] ?? '',
      matrix: HOSTILE[3] ?? '',
    })
    const { page, troubles, close } = await openConsole(browser, server)
    for (const path of ['/access', '/ask', '/who', '/decisions', '/tests']) {
      await page.goto(`${server.app.consoleUrl}${path}?${query}`)
      await signIn(page, 'audrey')
      await page.locator('#content :is([aria-busy=true], [data-loading])').first().waitFor({ state: 'detached' })
      expect(await page.title()).to.match(/ - Sallyport$/)
    }
    expect(troubles).to.deep.equal([])
    await close()
  })

  it('would run nothing even where it made markup of a name: the browser refuses that, and says so', async () => {
    const { page, troubles, close } = await openConsole(browser, server)
    const marked = page.evaluate(`document.body.innerHTML = '<img src=x onerror=${RUN}>'`)
    expect(await marked.catch(String)).to.contain('TrustedHTML')
    await page.evaluate(`document.body.append(Object.assign(document.createElement('div'), { id: 'held' }))`)
    await page.evaluate(`document.querySelector('#held').setAttribute('onclick', '${RUN}')`).catch(String)
    await page.locator('#held').dispatchEvent('click')
    expect(await page.title()).to.equal('Sallyport')
    expect(troubles.join()).to.match(/TrustedHTML.*TrustedScript/)
    await close()
  })

  it('keeps tokens in memory alone, and a reload asks again and returns to the same view', async () => {
    const path = '/access?caller=support&outcome=allowed'
    const { page, close } = await openConsole(browser, server, { as: 'audrey', path })
    const count = await page.locator('.filters output').innerText()
    const kept = await page.evaluate(`JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }])`)
    expect(kept).to.equal('["",{},{}]')
    await page.reload()
    expect(await page.getByRole('grid').count()).to.equal(0)
    await signIn(page, 'audrey')
    expect(await page.locator('.filters output').innerText()).to.equal(count)
    expect((await addressOf(page)).href).to.match(/\/access\?caller=support&outcome=allowed$/)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sallyport' }).waitFor()
    expect((await addressOf(page)).href).to.match(/\/access\?caller=support&outcome=allowed$/)
    await close()
  })

  it('asks to sign in again when the session ends, and the draft stays as it was typed', async () => {
    const { page, close } = await openConsole(browser, server, { as: 'ada', path: '/draft' })
    await typeFirst(page, '# typed before')
    await page.getByText('No request is answered in another way.').waitFor()
    // The page asks this by itself, and must not meet the end of the session before the text is typed.
    const FILES = '**/policy/v1/files'
    await page.route(FILES, () => undefined)
    // A new password ends the sessions that there are; this one happens to be the old one.
    const hash = await CHEAP_PASSWORDS.hash(DEMO_PASSWORD)
    await server.app.directory.setPassword('ada', { hash, oneTime: false })
    await typeFirst(page, '# typed after')
    const dialog = page.getByRole('dialog', { name: 'Sign in again' })
    await dialog.waitFor()
    await page.unroute(FILES)
    for (const key of ['Escape', 'Escape', 'Escape']) await page.keyboard.press(key)
    // The browser closes it at a second Escape, and the page opens it again.
    await dialog.waitFor()
    expect(await page.getByLabel('E-mail').inputValue()).to.equal('ada@example.com')
    await signIn(page, 'ada')
    await page.getByText('No request is answered in another way.').waitFor()
    const lines = await page.locator('.cm-line').allInnerTexts()
    expect(lines.slice(0, 2)).to.deep.equal(['# typed after', '# typed before'])
    // Somebody else finds nothing of it.
    await page.route(FILES, () => undefined)
    await server.app.directory.setPassword('ada', { hash, oneTime: false })
    await typeFirst(page, '# typed at last')
    await dialog.waitFor()
    await page.unroute(FILES)
    await signIn(page, 'audrey')
    await page.getByText('Nothing is changed yet.').waitFor()
    expect(await page.locator('.cm-line').first().innerText()).not.to.match(/typed/)
    await close()
  })

  it('ends no session where the server is too busy to renew it', async () => {
    const { page, close } = await openConsole(browser, server, { as: 'ada', path: '/ask' })
    const asked: number[] = []
    await page.route('**/policy/v1/explain', (route) => route.fulfill({ status: 401, json: {} }), { times: 1 })
    await page.route(
      '**/api/tokens',
      (route) => {
        asked.push(asked.length)
        return route.fulfill({ status: 503, json: { code: 'store-unavailable', detail: 'The store is busy.' } })
      },
      { times: 2 },
    )
    await page.getByLabel('Path').fill('/api/orders')
    await page.getByRole('button', { name: 'Explain' }).click()
    await page.getByRole('article', { name: 'Explanation' }).waitFor()
    expect(asked.length).to.be.greaterThan(0)
    expect(await page.getByRole('dialog').count()).to.equal(0)
    await close()
  })

  it('takes all that was typed when the focus leaves the editor, and when the page is left', async () => {
    const { page, troubles, close } = await openConsole(browser, server)
    page.on('dialog', (dialog) => void dialog.accept())
    // The pause after which what was typed counts by itself never ends.
    await page.addInitScript(`(() => {
      const { setTimeout } = window
      window.setTimeout = (work, ms, ...rest) => setTimeout(work, ms === 150 ? 2 ** 31 - 1 : ms, ...rest)
    })()`)
    await page.goto(`${server.app.consoleUrl}/draft`)
    await signIn(page, 'ada')
    await typeFirst(page, '# one')
    await page.getByText('Nothing is changed yet.').waitFor()
    await page.keyboard.press('Tab')
    await page.getByText('No request is answered in another way.').waitFor()
    await typeFirst(page, '# two')
    await page.getByRole('button', { name: 'Take back all changes' }).click()
    await page.getByText('Nothing is changed yet.').waitFor()
    expect(await page.locator('.cm-line').first().innerText()).not.to.match(/one|two/)
    await typeFirst(page, '# three')
    await page.getByText('Nothing is changed yet.').waitFor()
    await page.reload()
    await signIn(page, 'ada')
    await page.getByRole('button', { name: 'Go on with it' }).click()
    expect(await page.locator('.cm-line').first().innerText()).to.equal('# three')
    expect(troubles).to.deep.equal([])
    await close()
  })

  it('is told by a step that runs out of time, with what it has asked', async () => {
    const { page, close } = await openConsole(browser, server, { as: 'ada', path: '/draft' })
    await page.getByText('Nothing is changed yet.').waitFor()
    let message = ''
    await page
      .getByText('never')
      .first()
      .waitFor({ timeout: 1 })
      .catch((error: Error) => {
        message = error.message
      })
    expect(message).to.contain('Timeout 1ms exceeded')
    expect(message).to.match(/draft shows\n(?:.*\n)*status: Nothing is changed yet\./)
    expect(message).to.contain('GET /policy/v1/files: 200')
    expect(message.match(/and has asked/g)).to.have.length(1)
    await close()
  })

  it('offers a draft again after a reload and the sign-in, to the same person alone, and keeps no token', async () => {
    const { page, troubles, close } = await openConsole(browser, server, { as: 'ada', path: '/draft' })
    page.on('dialog', (dialog) => void dialog.accept())
    const offer = page.getByRole('dialog', { name: 'Your draft from before' })
    const storage = () => page.evaluate<string>('JSON.stringify({ ...sessionStorage })')
    await typeFirst(page, '# typed before')
    await page.getByText('No request is answered in another way.').waitFor()
    await page.reload()
    expect(await storage()).to.match(/# typed before/)
    expect(await storage()).not.to.match(/eyJ[\w-]+\.|_token/)
    await signIn(page, 'ada')
    await offer.waitFor()
    // A reload before the choice loses nothing.
    await page.reload()
    await signIn(page, 'ada')
    await offer.getByRole('button', { name: 'Go on with it' }).click()
    await page.getByText('Changed: policy.csv.').waitFor()
    expect(await page.locator('.cm-line').first().innerText()).to.equal('# typed before')
    await page.getByText('No request is answered in another way.').waitFor()

    await page.reload()
    await signIn(page, 'audrey')
    await page.getByText('Nothing is changed yet.').waitFor()
    expect([await offer.count(), await storage()]).to.deep.equal([0, '{}'])
    await page.getByRole('button', { name: 'Sign out' }).click()
    await signIn(page, 'ada')
    await page.getByText('Nothing is changed yet.').waitFor()
    expect(await offer.count()).to.equal(0)

    // Dropped, or signed out: then nothing is left.
    await typeFirst(page, '# typed again')
    await page.getByText('No request is answered in another way.').waitFor()
    await page.reload()
    await signIn(page, 'ada')
    await offer.getByRole('button', { name: 'Drop it' }).click()
    await page.getByText('Nothing is changed yet.').waitFor()
    await until(async () => (await storage()) === '{}')
    await typeFirst(page, '# typed at last')
    await until(async () => (await storage()).includes('# typed at last'))
    await page.getByRole('button', { name: 'Sign out' }).click()
    await until(async () => (await storage()) === '{}')
    expect(troubles).to.deep.equal([])
    await close()
  })

  it('tells where the browser has no room for a draft, and takes nothing of what it kept for granted', async () => {
    const { page, close } = await openConsole(browser, server, { path: '/draft' })
    page.on('dialog', (dialog) => void dialog.accept())
    for (const entry of ['x', '1', '{"person":"ada@example.com","value":{"revision":1,"changed":{"policy.csv":1}}}']) {
      await page.evaluate(`sessionStorage.setItem('sallyport.kept.draft', ${JSON.stringify(entry)})`)
      await page.reload()
      await signIn(page, 'ada')
      await page.getByText('Nothing is changed yet.').waitFor()
      expect(await page.getByRole('dialog').count()).to.equal(0)
    }
    await page.evaluate(`(() => {
      for (let size = 4_000_000; size >= 1; size = Math.floor(size / 2)) {
        for (let i = 0; ; i += 1) try { sessionStorage.setItem(size + ' ' + i, 'x'.repeat(size)) } catch { break }
      }
    })()`)
    await typeFirst(page, '# typed without room')
    await page.getByText('The browser has no room to keep this draft over a reload').waitFor()
    await page.evaluate('sessionStorage.clear()')
    await typeFirst(page, '# typed with room')
    await page.getByText('The browser has no room to keep this draft over a reload').waitFor({ state: 'detached' })
    await close()
  })

  it('goes on when the access token is no longer taken, with the refresh token, and asks for nothing', async () => {
    const { page, close } = await openConsole(browser, server, { as: 'audrey' })
    const asked = '**/policy/v1/matrix'
    const headersOf = (request: Request) => ({ ...request.headers(), authorization: 'Bearer expired' })
    await page.route(asked, (route) => route.continue({ headers: headersOf(route.request()) }), { times: 1 })
    const answers: string[] = []
    page.on('response', (answer) => answers.push(`${answer.status()} ${new URL(answer.url()).pathname}`))
    await page.getByRole('link', { name: 'Access' }).click()
    await page.getByRole('grid').waitFor()
    expect(answers.filter((answer) => /tokens|matrix/.test(answer))).to.deep.equal([
      '401 /policy/v1/matrix',
      '200 /api/tokens',
      '200 /policy/v1/matrix',
    ])
    expect(await page.getByRole('dialog').count()).to.equal(0)
    await close()
  })

  it('keeps the e-mail address that was typed when a sign-in is refused', async () => {
    const { page, close } = await openConsole(browser, server, {})
    await page.getByLabel('E-mail').fill('ada@example.com')
    await page.getByLabel('Password', { exact: true }).fill('wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').filter({ hasText: /\w/ }).waitFor()
    expect(await page.getByLabel('E-mail').inputValue()).to.equal('ada@example.com')
    await close()
  })

  it('gives back the tokens that come after a sign-out', async () => {
    const { page, close } = await openConsole(browser, server, { as: 'audrey' })
    await page.getByText('nobody changes a user without credentials').waitFor()
    const headersOf = (request: Request) => ({ ...request.headers(), authorization: 'Bearer expired' })
    await page.route('**/policy/v1/matrix', (route) => route.continue({ headers: headersOf(route.request()) }), {
      times: 1,
    })
    const renewal = Promise.withResolvers<void>()
    const signedOut = Promise.withResolvers<void>()
    await page.route('**/api/tokens', async (route) => {
      const response = await route.fetch()
      renewal.resolve()
      await signedOut.promise
      await route.fulfill({ response })
    })
    const ended: string[] = []
    page.on('response', (answer) => {
      if (answer.request().method() === 'DELETE') ended.push(answer.request().headers().authorization ?? '')
    })
    await page.getByRole('link', { name: 'Access' }).click()
    await renewal.promise
    await page.getByRole('button', { name: 'Sign out' }).click()
    await until(() => ended.length === 1)
    signedOut.resolve()
    await until(() => ended.length === 2)
    expect(ended[0]).not.to.equal(ended[1])
    await page.unroute('**/api/tokens')
    await signIn(page, 'ada')
    await page.getByRole('grid').waitFor()
    await close()
  })

  it('asks no question again that takes too long', async () => {
    const { page, close } = await openConsole(browser, server, { as: 'audrey' })
    let asked = 0
    const json = { code: 'read-too-long', detail: 'The question takes too long.' }
    await page.route('**/policy/v1/matrix', (route) => {
      asked += 1
      return route.fulfill({ status: 503, json })
    })
    await page.getByRole('link', { name: 'Access' }).click()
    await page.getByRole('alert').filter({ hasText: json.detail }).waitFor()
    expect(asked).to.equal(1)
    await close()
  })

  it('does nothing twice when the connection is lost, and asks no signature for a folder', async () => {
    const { page, close } = await openConsole(browser, server, { as: 'ada' })
    await page.route('**/policy/v1/files', async (route) => {
      const response = await route.fetch()
      const { files, ...rest } = (await response.json()) as { files: object }
      await route.fulfill({ response, json: { ...rest, files: { ...files, 'approvals.yaml': 'people: {}\n' } } })
    })
    const asked: string[] = []
    await page.route('**/policy/v1/block', (route) => {
      asked.push(route.request().postData() ?? '')
      return route.abort()
    })
    await page.getByRole('link', { name: 'Changes' }).click()
    await page.getByRole('textbox', { name: 'User' }).fill('user:mallory')
    await page.getByRole('button', { name: 'Block', exact: true }).click()
    await page.getByText('The server did not answer. Look whether it was done, before you try again.').waitFor()
    expect(asked).to.deep.equal(['{"user":"user:mallory"}'])

    // An answer that is cut off, and those of something in between, say nothing of the act either.
    await page.unroute('**/policy/v1/block')
    const block = page.getByRole('button', { name: 'Block', exact: true })
    const ended = page.getByRole('region', { name: 'Blocked users' }).getByRole('alert')
    for (const [status, body, sentence] of [
      [200, '{"command":"sally', 'Look whether it was done'],
      [502, 'Bad Gateway', 'Look whether it was done'],
      [503, 'no server', 'Look whether it was done'],
      [503, '{"code":"read-too-long","detail":"It takes too long."}', 'Look whether it was done'],
      [503, '{"code":"overloaded","detail":"Too many requests."}', 'Too many requests.'],
      [429, '{"code":"quota-exceeded","detail":"Too many questions."}', 'Too many questions.'],
    ] as const) {
      let times = 0
      await page.route('**/policy/v1/block', (route) => {
        times += 1
        return route.fulfill({ status, body, contentType: 'application/json' })
      })
      await block.click()
      await ended.filter({ hasText: sentence }).waitFor()
      expect(times, body).to.equal(1)
      await page.unroute('**/policy/v1/block')
    }
    await close()
  })

  it('tells when the server is away, loses nothing that is typed, and goes on when it is back', async () => {
    const { page, close } = await openConsole(browser, server, { as: 'ada', path: '/draft' })
    await typeFirst(page, '# typed before')
    await page.context().setOffline(true)
    await typeFirst(page, '# typed while it is away')
    await page.getByText('The server does not answer; trying again.').waitFor()
    expect(await page.locator('.cm-line').first().innerText()).to.equal('# typed while it is away')
    await page.context().setOffline(false)
    await page.getByText('No request is answered in another way.').waitFor()
    await page.getByText('The server does not answer; trying again.').waitFor({ state: 'hidden' })
    await close()
  })

  it('tells when the policy in force changes meanwhile, and keeps the draft', async () => {
    const { page, close } = await openConsole(browser, server, { path: '/draft' })
    await page.clock.install()
    await signIn(page, 'ada')
    await typeFirst(page, '# typed before')
    await page.clock.runFor(1000)
    const before = server.app.policy.active.revision
    writeFileSync(join(server.folder, 'policies/policy.csv'), POLICY.replace(END, `# changed meanwhile\n${END}`))
    await until(() => server.app.policy.active.revision !== before)
    await page.clock.runFor(20_000)
    await page
      .getByText(`The policy in force has changed since you began: it is ${server.app.policy.active.revision}`)
      .waitFor()
    expect(await page.locator('.cm-line').first().innerText()).to.equal('# typed before')
    await page.getByRole('button', { name: 'Take back all changes' }).click()
    await page.getByText('Nothing is changed yet.').waitFor()
    await close()
  })
})

/** At once: what comes by itself can't fall between two letters. */
async function typeFirst(page: Page, line: string): Promise<void> {
  await page.locator('.cm-content').click()
  await page.keyboard.press('Control+Home')
  await page.keyboard.insertText(`${line}\n`)
}
