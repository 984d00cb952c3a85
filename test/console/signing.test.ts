/** Proposals, approvals and blocks in the browser, with keys that it keeps: two people, and a server that verifies. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { ApprovedPolicies, approvalsText } from '../approvals/people.ts'
import { startChromium } from '../chromium.ts'
import type { TestServer } from '../server.ts'
import { until } from '../until.ts'
import { openConsole, signIn } from './open-console.ts'

const RULES = ['admin', 'auditor']
  .map((role) => `p, ${role}, system/policy, read|draft|propose|approve|block, any, *, allow\n`)
  .join('')
const NEEDS = 'needs:\n  widens: { people: 1 }\n  narrows: { people: 1 }\n  blocks: { people: 1 }\n'
const WIDER = 'p, member, orders, read, any, *, allow'

describe('keys in the console', () => {
  let browser: Browser
  let approved: ApprovedPolicies
  let server: TestServer
  before(async () => {
    browser = await startChromium()
    approved = await ApprovedPolicies.make(undefined, NEEDS, RULES)
    server = await approved.published.start({ CONSOLE_PORT: '0' }, { demo: true })
  })
  after(async () => {
    await approved.remove()
    await browser.close()
  })

  /** What approvals.yaml needs of the key that the page makes. */
  async function enrol(page: Page): Promise<string> {
    await page.getByRole('link', { name: 'Changes' }).click()
    await page.getByRole('button', { name: 'Make a key' }).click()
    return page.getByRole('region', { name: 'Your key' }).locator('.command code').innerText()
  }

  it('propose and approve a change, block, and count only once approvals.yaml has them', async () => {
    const author = await openConsole(browser, server, { as: 'audrey' })
    const other = await openConsole(browser, server, { as: 'ada' })
    const keys = { audrey: await enrol(author.page), ada: await enrol(other.page) }

    await draft(author.page)
    await author.page.getByRole('button', { name: 'Propose' }).click()
    await author.page.getByText('nobody in the approvals.yaml in force has this key').waitFor()

    const people = Object.entries(keys).map(([name, key]) => `  in-${name}: { keys: [${key}], groups: [security] }\n`)
    const file = approvalsText(approved.people, NEEDS).replace('people:\n', `people:\n${people.join('')}`)
    const folder = await approved.folderWith('enrolled', RULES)
    await writeFile(join(folder, 'approvals.yaml'), file)
    for (const ended of [
      await approved.as('tim', 'propose', folder, '--title', 'keys of browsers', '--matrices', folder),
      await approved.as('zoe', 'approve', '1'),
      await approved.run('publish', '1'),
    ]) {
      expect(ended.code, ended.stderr).to.equal(0)
    }
    await until(() => server.app.policy.sources.files['approvals.yaml']?.text === file)

    // A server that sends another text to sign gets no signature.
    const proposing = '**/policy/v1/propose'
    await author.page.route(
      proposing,
      async (route) => {
        const answer = await route.fetch()
        const { result, ...rest } = (await answer.json()) as { result: { toSign: string } }
        const [header = '', payload = ''] = result.toSign.split('.')
        const other = { ...JSON.parse(Buffer.from(payload, 'base64url').toString()), title: 'something else' }
        const toSign = `${header}.${Buffer.from(JSON.stringify(other)).toString('base64url')}`
        await route.fulfill({ response: answer, json: { ...rest, result: { toSign } } })
      },
      { times: 1 },
    )
    const asked: string[] = []
    author.page.on('request', (request) => asked.push(request.postData() ?? ''))
    await author.page.getByRole('button', { name: 'Propose' }).click()
    await author.page.getByText('Nothing is signed: the server sent a text with another title.').waitFor()
    expect(asked.filter((body) => body.includes('signed:'))).to.deep.equal([])

    await author.page.getByRole('button', { name: 'Propose' }).click()
    await author.page.getByText('It is proposal 2.').waitFor()
    await author.page.getByRole('link', { name: 'See the proposals' }).click()
    await open(author.page, 2)
    await author.page.getByRole('button', { name: 'Approve' }).click()
    await author.page.getByText('nobody approves a change of their own').waitFor()

    await other.page.reload()
    await signIn(other.page, 'ada')
    await open(other.page, 2)
    await other.page.getByRole('listitem').filter({ hasText: 'member gains read on orders' }).waitFor()
    await other.page.getByRole('button', { name: 'Approve' }).click()
    await other.page.getByText('You have approved it.').waitFor()
    await open(other.page, 2)
    await other.page.getByRole('button', { name: 'Put in force' }).click()
    await until(() => server.app.policy.sources.files['policy.csv'].text.includes(WIDER))

    const blocks = other.page.getByRole('region', { name: 'Blocked users' })
    await blocks.getByLabel('User').fill('user:mallory')
    await blocks.getByRole('button', { name: 'Block', exact: true }).click()
    await blocks.getByText('Proposal 3 waits for approvals: user:mallory is as before until then.').waitFor()

    // A version before comes back as a draft, which is proposed like any other.
    await other.page.getByRole('row', { name: /^2 / }).getByRole('button', { name: 'Draft' }).click()
    await other.page.getByText('Changed: policy.csv.').waitFor()
    await other.page.getByRole('listitem').filter({ hasText: 'member loses read on orders' }).waitFor()

    // Going back takes a file away that the version lacks. What was typed isn't dropped without a question.
    await other.page.getByRole('link', { name: 'Changes' }).click()
    const first = other.page.getByRole('row', { name: /^1 / }).getByRole('button', { name: 'Draft' })
    await first.click()
    await other.page.getByRole('button', { name: 'Keep my draft' }).click()
    await first.click()
    await other.page.route('**/policy/v1/version', (route) => route.fulfill(REFUSED), { times: 1 })
    await other.page.getByRole('button', { name: 'Drop it' }).click()
    await other.page.getByText('There is no such version.').waitFor()
    await other.page.route(
      '**/policy/v1/version',
      async (route) => {
        const answer = await route.fetch()
        const { result, ...rest } = (await answer.json()) as { result: { files: Record<string, string> } }
        const { 'approvals.yaml': _lacking, ...files } = result.files
        await route.fulfill({ response: answer, json: { ...rest, result: { files } } })
      },
      { times: 1 },
    )
    await first.click()
    await other.page.getByRole('button', { name: 'Drop it' }).click()
    await other.page.getByText('Taken away: approvals.yaml.').waitFor()
    expect([...author.troubles, ...other.troubles]).to.deep.equal([])
    await Promise.all([author.close(), other.close()])
  })

  it('stay in the browser: no code can read the private half, also after a reload', async () => {
    const { page, close } = await openConsole(browser, server, { as: 'audrey' })
    const line = await enrol(page)
    await page.reload()
    await signIn(page, 'audrey')
    expect(await page.getByRole('region', { name: 'Your key' }).locator('.command code').innerText()).to.equal(line)
    const exported = await page.evaluate(`(async () => {
      const opened = await new Promise((resolve) => {
        const opening = indexedDB.open('sallyport', 1)
        opening.onsuccess = () => resolve(opening.result)
      })
      const pair = await new Promise((resolve) => {
        const asked = opened.transaction('keys').objectStore('keys').get('own')
        asked.onsuccess = () => resolve(asked.result)
      })
      return crypto.subtle.exportKey('jwk', pair.privateKey).then(() => 'read', (error) => error.name)
    })()`)
    expect(exported).to.equal('InvalidAccessError')
    await page.getByRole('button', { name: 'Forget this key' }).click()
    await page.getByRole('button', { name: 'Make a key' }).waitFor()
    await close()
  })
})

const REFUSED = { status: 422, json: { code: 'question-refused', detail: 'There is no such version.' } }

async function draft(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Draft' }).click()
  await page.locator('.cm-content').click()
  await page.keyboard.press('Control+End')
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('Home')
  await page.keyboard.type(`${WIDER}\n`)
  await page.getByLabel('What it is for').fill('members read orders')
}

async function open(page: Page, number: number): Promise<void> {
  const proposal = page.locator('details', {
    has: page.locator('summary', { hasText: new RegExp(`^\\w+ ${number}: `) }),
  })
  if ((await proposal.getAttribute('open')) === null) await proposal.locator('summary').click()
  await proposal.getByRole('button', { name: 'Approve' }).waitFor()
}
