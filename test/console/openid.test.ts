/** People of an OpenID provider sign in to the console with its own page, in a window beside it. */
import { expect } from 'chai'
import type { Browser, BrowserContext, Page, Route } from 'playwright-core'
import { AUDIENCE, startProvider } from '../../examples/openid-provider.ts'
import { startChromium } from '../chromium.ts'
import { ROLES_BY_CLAIM } from '../identity/openid-client.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { until } from '../until.ts'
import { addressOf, openConsole } from './open-console.ts'

const ANY_ORIGIN = { 'Access-Control-Allow-Origin': '*' }

describe('the sign-in of the console at an OpenID provider', () => {
  let browser: Browser
  let provider: Awaited<ReturnType<typeof startProvider>>
  let server: TestServer
  before(async () => {
    browser = await startChromium()
    provider = await startProvider(0)
    server = await startTestServer({
      demo: true,
      env: {
        CONSOLE_PORT: '0',
        CONSOLE_OPENID_CLIENT: 'console',
        CONSOLE_OPENID_SCOPE: 'openid offline_access',
        CONSOLE_OPENID_PARAMETERS: `resource=${AUDIENCE}&prompt=consent`,
        OIDC_ISSUER: provider.issuer,
        OIDC_AUDIENCE: AUDIENCE,
        OIDC_ROLES_CLAIM: 'groups',
      },
      files: { 'policies/roles.yaml': ROLES_BY_CLAIM },
    })
  })
  after(async () => {
    await server.stop()
    await provider.stop()
    await browser.close()
  })

  it('leads to the page that was asked for, with the roles that the provider gives, and leaves no token behind', async () => {
    const { page, troubles, close } = await openConsole(browser, server, { path: '/usage?since=2026-01-01' })
    await signInAtProvider(page, 'zoe')
    await page.locator('.email').getByText('zoe', { exact: true }).waitFor()
    await page.getByRole('heading', { name: 'Usage' }).waitFor({ state: 'attached' })
    expect((await addressOf(page)).href).to.match(/\/usage\?since=2026-01-01$/)
    await page.goto(`${server.app.consoleUrl}/`)
    await signInAtProvider(page, 'zoe')
    await page.getByText(server.app.policy.active.revision).waitFor()
    expect(await server.lastDecision({ resource: 'system/policy' })).to.include({
      subject: 'zoe',
      credential: `issuer ${provider.issuer}`,
      outcome: 'allowed',
    })
    expect(await kept(page.context(), page)).to.deep.equal({ local: [], session: [], windows: 1 })
    expect(troubles).to.deep.equal([])
    await close()
  })

  it('a token that ends is renewed at the provider, and a session that ends there asks for the sign-in again', async () => {
    const { page, close } = await openConsole(browser, server, { path: '/ask' })
    await signInAtProvider(page, 'zoe')
    await page.getByLabel('Path').fill('/api/orders/{id}')
    await refuseOnce(page)
    const [renewal] = await Promise.all([
      page.waitForRequest(`${provider.issuer}/token`),
      page.getByRole('button', { name: 'Explain' }).click(),
    ])
    expect(renewal.postData()).to.contain('grant_type=refresh_token')
    await page.getByRole('article', { name: 'Explanation' }).waitFor()
    await page.route(`${provider.issuer}/token`, (route) =>
      route.fulfill({
        status: 400,
        json: { error: 'invalid_grant' },
        headers: { 'Access-Control-Allow-Origin': '*' },
      }),
    )
    await refuseOnce(page)
    await page.getByLabel('Path').fill('/api/orders')
    await page.getByRole('button', { name: 'Explain' }).click()
    await page.getByText('Your session has ended.').waitFor()
    await page.unroute(`${provider.issuer}/token`)
    await signInAtProvider(page, 'zoe')
    await page.getByRole('article', { name: 'Explanation' }).waitFor()
    expect(await page.getByLabel('Path').inputValue()).to.equal('/api/orders')
    await close()
  })

  it('somebody else in the same tab finds nothing of the one before', async () => {
    const { page, close } = await openConsole(browser, server, { path: '/draft' })
    await signInAtProvider(page, 'zoe')
    await page.getByRole('textbox').first().waitFor()
    await page.keyboard.press('Tab')
    await page.locator('.cm-content').click()
    await page.keyboard.type('# mine\n')
    await page.route(`${provider.issuer}/token`, (route) =>
      route.fulfill({ status: 400, json: { error: 'invalid_grant' }, headers: { 'Access-Control-Allow-Origin': '*' } }),
    )
    await page.route('**/policy/v1/draft', (route) => route.fulfill({ status: 401, json: {} }))
    await page.keyboard.type('# more\n')
    await page.getByText('Your session has ended.').waitFor()
    await page.unrouteAll()
    await page.context().clearCookies()
    await signInAtProvider(page, 'yan')
    await page.locator('.email').getByText('yan', { exact: true }).waitFor()
    await page.locator('.cm-content').waitFor()
    expect(await page.locator('.cm-content').innerText()).to.not.contain('# mine')
    await close()
  })

  it('a refusal of the provider is told, and a code of another sign-in is not taken', async () => {
    const { page, close } = await openConsole(browser, server)
    const asked = page.context().waitForEvent('request', (one) => one.url().includes('code_challenge='))
    const window = await openWindow(page)
    const back = `${server.app.consoleUrl}/signed-in`
    const foreign = await page.context().newPage()
    await foreign.goto(`${back}?code=stolen&state=guessed&iss=${provider.issuer}`)
    expect(foreign.isClosed() || new URL(foreign.url()).search).to.be.oneOf([true, ''])
    const { searchParams } = new URL((await asked).url())
    const refusal = new URLSearchParams({
      error: 'access_denied',
      error_description: '<img src=x onerror=alert(1)>',
      state: searchParams.get('state') ?? '',
      iss: provider.issuer,
    })
    // The window closes itself while it is opened.
    await window.goto(`${back}?${refusal}`).catch(() => undefined)
    const { host } = new URL(provider.issuer)
    await page
      .getByText(`The sign-in at ${host} failed: it answered access_denied: <img src=x onerror=alert(1)>.`)
      .waitFor()
    await close()
  })

  it('a renewed token that is refused too ends the session, and is not renewed again', async () => {
    const { page, close } = await openConsole(browser, server, { path: '/ask' })
    await signInAtProvider(page, 'zoe')
    let renewals = 0
    page.on('request', (one) => {
      if (one.postData()?.includes('grant_type=refresh_token')) renewals += 1
    })
    await page.route('**/policy/v1/**', (route) => route.fulfill({ status: 401, json: {} }))
    await page.getByLabel('Path').fill('/api/orders')
    await page.getByRole('button', { name: 'Explain' }).click()
    await page.getByText('Your session has ended.').waitFor()
    expect(renewals).to.equal(1)
    await close()
  })

  it('a renewal that fails once is tried again, and the question is answered', async () => {
    const { page, close } = await openConsole(browser, server, { path: '/ask' })
    await signInAtProvider(page, 'zoe')
    const away = { status: 503, json: { error: 'temporarily_unavailable' }, headers: ANY_ORIGIN }
    const failures: Readonly<Record<string, (route: Route) => Promise<void>>> = {
      '/api/orders': (route) => route.abort(),
      '/api/orders/{id}': (route) => route.fulfill(away),
    }
    for (const [path, fail] of Object.entries(failures)) {
      await page.route(`${provider.issuer}/token`, fail, { times: 1 })
      await refuse(page, 2)
      await page.getByLabel('Path').fill(path)
      const renewed = page.waitForResponse(async (one) => one.url() === `${provider.issuer}/token` && one.ok())
      await page.getByRole('button', { name: 'Explain' }).click()
      await renewed
      await page.getByRole('article', { name: 'Explanation' }).getByText(path).first().waitFor()
      expect(await page.getByText('Your session has ended.').count()).to.equal(0)
    }
    await close()
  })

  it('a provider that answers nonsense leads nowhere, and the page says why', async () => {
    const cases: readonly (readonly [object, string])[] = [
      [{ authorization_endpoint: 'javascript:alert(1)' }, 'its `authorization_endpoint` is not an address of https:'],
      [{ authorization_endpoint: undefined }, 'its `authorization_endpoint` is not an address of https:'],
      [{ token_endpoint: 'http://127.0.0.2/token' }, 'its token endpoint is at http://127.0.0.2, and the console asks'],
      [{ issuer: 'http://127.0.0.2' }, 'property does not match the expected value'],
    ]
    const { page, close } = await openConsole(browser, server)
    const discovery = `${provider.issuer}/.well-known/openid-configuration`
    const right = JSON.parse(await (await fetch(discovery)).text())
    for (const [wrong, sentence] of cases) {
      await page.route(discovery, (route) => route.fulfill({ json: { ...right, ...wrong }, headers: ANY_ORIGIN }))
      const window = await openWindow(page)
      await page.getByRole('alert').getByText(sentence).waitFor()
      await until(async () => window.isClosed())
      await page.unrouteAll()
    }
    await close()
  })

  it('of two clicks on the button, the last window counts, and the first one leads nowhere', async () => {
    const { page, close } = await openConsole(browser, server)
    const discovery = `${provider.issuer}/.well-known/openid-configuration`
    const held: Route[] = []
    await page.route(discovery, (route) => void held.push(route), { times: 1 })
    const first = await openWindow(page)
    await until(async () => held.length === 1)
    await signInAtProvider(page, 'zoe')
    await Promise.all([first.waitForEvent('close'), held[0]?.continue()])
    expect(await page.locator('.email').innerText()).to.equal('zoe')
    await close()
  })
})

async function openWindow(page: Page): Promise<Page> {
  const [window] = await Promise.all([
    page.context().waitForEvent('page'),
    page.getByRole('button', { name: /^Sign in at 127\.0\.0\.1/ }).click(),
  ])
  return window
}

/** Through the pages that the provider has for development. */
async function signInAtProvider(page: Page, login: string): Promise<void> {
  const window = await openWindow(page)
  const closed = window.waitForEvent('close')
  const name = window.locator('input[name=login]')
  const consent = window.getByRole('button', { name: 'Continue' })
  await name.or(consent).waitFor()
  if (await name.isVisible()) {
    await name.fill(login)
    await window.locator('input[name=password]').fill('any')
    await window.getByRole('button').click()
  }
  await consent.click()
  await closed
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
}

function refuseOnce(page: Page): Promise<void> {
  return refuse(page, 1)
}

async function refuse(page: Page, times: number): Promise<void> {
  await page.route('**/policy/v1/**', (route) => route.fulfill({ status: 401, json: {} }), { times })
}

async function kept(context: BrowserContext, page: Page) {
  const { local, session } = await page.evaluate(() => ({
    local: Object.keys(localStorage),
    session: Object.keys(sessionStorage),
  }))
  return { local, session, windows: context.pages().length }
}
