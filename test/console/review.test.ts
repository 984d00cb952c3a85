/** The page Review: a report is decided line by line, signed in the browser, and becomes a file and a draft. */
import { generateKeyPairSync } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { DEMO_PASSWORD } from '../../src/server/parts/demo.ts'
import type { AccessReview } from '../../src/tools/access/review.ts'
import { startChromium } from '../chromium.ts'
import { sallyport } from '../command.ts'
import { CHEAP_PASSWORDS, startTestServer, type TestServer } from '../server.ts'
import { until } from '../until.ts'
import { openConsole, signIn } from './open-console.ts'

describe('the page Review', () => {
  let browser: Browser
  let server: TestServer
  before(async () => {
    browser = await startChromium()
    server = await startTestServer({ demo: true, env: { CONSOLE_PORT: '0' } })
  })
  after(async () => {
    await server.stop()
    await browser.close()
  })

  const decided = (page: Page) => page.locator('.filters output').innerText()

  /** Puts the key of the page, or another one, into approvals.yaml. */
  async function enrol(page: Page, other?: string): Promise<void> {
    await page.getByRole('link', { name: 'Changes' }).click()
    const key = other ?? (await page.getByRole('region', { name: 'Your key' }).locator('.command code').innerText())
    const file = `people:\n  zoe: { keys: [${key}] }\n  tim: { keys: [${keyOfSomebody()}] }\nneeds: { widens: { people: 1 } }\n`
    await writeFile(join(server.folder, 'policies/approvals.yaml'), file)
    await until(() => server.app.policy.sources.files['approvals.yaml']?.text === file)
  }

  async function decideByKeys(page: Page): Promise<void> {
    const { keyboard } = page
    await page.getByLabel('Find').fill('sam orders')
    await page.getByText(/^\d of \d+ lines; 0 confirmed/).waitFor()
    await page.getByRole('gridcell').first().focus()
    for (const key of ['y', 'n', 'n', 'ArrowUp', 'Backspace']) await keyboard.press(key)
    await page.getByText(/1 confirmed, 1 revoked/).waitFor()
  }

  it('is decided by keys, kept while pages and reports change, signed, saved, and drafted', async () => {
    const { page, troubles, close } = await openConsole(browser, server, { as: 'ada', path: '/review' })
    await decideByKeys(page)
    await page.getByRole('button', { name: 'Sign the review' }).click()
    await page.getByText('You have no key in this browser').waitFor()
    const before = await decided(page)
    await page.getByRole('link', { name: 'Changes' }).click()
    await page.getByRole('button', { name: 'Make a key' }).click()
    await page.getByRole('region', { name: 'Your key' }).locator('.command code').waitFor()
    const sign = page.getByRole('button', { name: 'Sign the review' })
    await page.getByRole('link', { name: 'Review' }).click()
    await sign.click()
    await page.getByText('the policy has no approvals.yaml').waitFor()
    await enrol(page, keyOfSomebody())
    await page.getByRole('link', { name: 'Review' }).click()
    await sign.click()
    await page.getByText('nobody in the approvals.yaml in force has this key').waitFor()
    await enrol(page)
    await page.getByRole('link', { name: 'Review' }).click()
    await page.getByText('The policy in force has changed since this report').waitFor()
    expect(await decided(page)).to.match(/1 confirmed, 1 revoked/)
    await page.getByRole('button', { name: 'Read the report again' }).click()
    await page.getByText('The policy in force has changed since this report').waitFor({ state: 'detached' })
    await page.getByLabel('Find').fill('sam orders')
    expect(await decided(page)).to.equal(before)

    // In the list of what is undecided, a line that is decided makes room for the next one.
    await page.getByLabel('Decision').selectOption('undecided')
    await page.getByText(/^[1-9] of /).waitFor()
    await page.getByRole('gridcell').first().focus()
    await page.keyboard.press('n')
    await page.getByText(/^\d of .* 1 confirmed, 2 revoked/).waitFor()
    await page.getByLabel('Remark').fill('fourth quarter')

    for (const [change, sentence] of [
      [{ revoked: '1' }, 'a text with another list of what is revoked'],
      [{ digest: '0'.repeat(64) }, 'a text with another report'],
      [{ reason: 'what nobody typed' }, 'a text with another reason'],
    ] as const) {
      await otherText(page, change)
      await page.getByRole('button', { name: 'Sign the review' }).click()
      await page.getByText(`Nothing is signed: the server sent ${sentence}.`).waitFor()
    }

    await page.getByRole('button', { name: 'Sign the review' }).click()
    await page.getByText('The review is signed: 1 confirmed, 2 revoked').waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save the signed review' }).click(),
    ])
    const file = await download.path()
    const saved: AccessReview = JSON.parse(await readFile(file, 'utf8'))
    expect([saved.by, saved.reason, saved.confirmed, saved.revoked]).to.deep.equal(['zoe', 'fourth quarter', 1, 2])
    const policies = join(server.folder, 'policies')
    const verified = await sallyport(['access', 'verify-review', file, '--policies', policies])
    expect([verified.code, verified.stdout.startsWith('`zoe` reviewed the access')]).to.deep.equal([0, true])

    await page.getByRole('button', { name: 'Draft what is revoked' }).click()
    await page
      .getByText(/^narrowing .*user:sam/)
      .first()
      .waitFor()
    await page.locator('.cm-content').click()
    await page.keyboard.press('Control+End')
    // Behind the line stands what it means.
    expect(await page.locator('.cm-content').innerText()).to.match(
      /p, user:sam, orders, \w+\|\w+, any, \*, deny.*\n+# end/,
    )
    // The review is still there, and doesn't drop what is typed meanwhile.
    await page.getByRole('link', { name: 'Review' }).click()
    await page.getByRole('button', { name: 'Draft what is revoked' }).click()
    await page.getByRole('button', { name: 'Keep my draft' }).click()
    await page.getByRole('button', { name: 'Save the signed review' }).waitFor()
    expect(troubles).to.deep.equal([])
    await close()
  })

  it('takes the focus from nothing when its last line is decided and others come back', async () => {
    const { page, close } = await openConsole(browser, server, { as: 'ada', path: '/review?decision=undecided' })
    await page.getByLabel('Find').fill('sam orders delete')
    await page.getByText(/^1 of /).waitFor()
    await page.getByRole('gridcell').first().focus()
    await page.keyboard.press('y')
    await page.getByText(/^0 of .* 1 confirmed/).waitFor()
    await page.getByLabel('Find').focus()
    await page.keyboard.press('Control+A')
    await page.keyboard.type('sam orders')
    await page.getByText(/^[1-9] of /).waitFor()
    expect(await page.getByLabel('Find').evaluate((field) => field.matches(':focus'))).to.equal(true)
    expect(await page.getByLabel('Find').inputValue()).to.equal('sam orders')
    await close()
  })

  it('keeps what is decided when the session ends, and shows it to nobody else', async () => {
    const { page, close } = await openConsole(browser, server, { as: 'ada', path: '/review' })
    await decideByKeys(page)
    const hash = await CHEAP_PASSWORDS.hash(DEMO_PASSWORD)
    for (const [name, sentence] of [
      ['ada', /1 confirmed, 1 revoked/],
      ['audrey', /0 confirmed, 0 revoked/],
    ] as const) {
      await server.app.directory.setPassword('ada', { hash, oneTime: false })
      await page.getByRole('button', { name: 'Read the report again' }).dispatchEvent('click')
      await page.getByRole('dialog', { name: 'Sign in again' }).waitFor()
      await signIn(page, name)
      await page.getByText(sentence).waitFor()
    }
    await close()
  })

  it('shows a hundred thousand lines, of hostile names, a screenful at a time', async () => {
    const { page, troubles, close } = await openConsole(browser, server, { as: 'ada' })
    const names = ['<img src=x onerror=document.title=1>', '\u202eecila', 'a\nb', '"'.repeat(300)]
    const rows = Array.from({ length: 100_000 }, (_, i) => ({
      resource: 'orders',
      subject: `${names[i % names.length]} ${i}`,
      key: i % 7 === 0 ? 'k' : null,
      roles: ['member'],
      action: 'read',
      when: [],
      objects: 1,
      byValues: 0,
      fields: [{ names: ['id', 'note'], objects: 1 }],
    }))
    const result = { at: '', revision: 'other', rows, findings: [], leftOut: [], undecided: [] }
    const json = { command: 'sallyport access report', findings: false, result }
    await page.route('**/policy/v1/report', (route) => route.fulfill({ json }))
    await page.getByRole('link', { name: 'Review' }).click()
    await page.getByText('100000 of 100000 lines').waitFor()
    expect(await page.getByRole('row').count()).to.be.lessThan(100)
    await page.getByRole('gridcell', { name: '\\u{202e}ecila 1', exact: true }).click()
    await page.getByText('\\u{202e}ecila 1 (member): read orders, always, objects: 1, fields: id, note').waitFor()
    await page.getByRole('gridcell').first().focus()
    await page.keyboard.press('Control+End')
    await page.keyboard.press('n')
    await page.getByText('0 confirmed, 1 revoked, 99999 undecided').waitFor()
    await page.getByLabel('Find').fill('img 9')
    await page.getByRole('button', { name: 'Confirm all shown' }).click()
    await page.getByText(/[1-9]\d+ confirmed, 1 revoked/).waitFor()
    await page.getByRole('button', { name: 'Take back all shown' }).click()
    await page.getByText(/ 0 confirmed, 1 revoked/).waitFor()
    expect(await page.title()).to.equal('Review - Sallyport')
    expect(troubles).to.deep.equal([])
    await close()
  })
})

function keyOfSomebody(): string {
  return `'${JSON.stringify(generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }))}'`
}

/** The next text to sign says something else. */
async function otherText(page: Page, change: object): Promise<void> {
  await page.route(
    '**/policy/v1/review-access',
    async (route) => {
      const response = await route.fetch()
      const { result, ...rest } = (await response.json()) as { result: { toSign: string } }
      const [header = '', payload = ''] = result.toSign.split('.')
      const other = { ...JSON.parse(Buffer.from(payload, 'base64url').toString()), ...change }
      const toSign = `${header}.${Buffer.from(JSON.stringify(other)).toString('base64url')}`
      await route.fulfill({ response, json: { ...rest, result: { toSign } } })
    },
    { times: 1 },
  )
}
