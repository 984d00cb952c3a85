/** Changes with a time, roles for a time, and two people at once, in the browser. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { DEMO_PASSWORD } from '../../src/server/parts/demo.ts'
import { ApprovedPolicies, approvalsText } from '../approvals/people.ts'
import { startChromium } from '../chromium.ts'
import { CHEAP_PASSWORDS, type TestServer } from '../server.ts'
import { until } from '../until.ts'
import { faultsAt } from './faults-at.ts'
import { openConsole, signIn } from './open-console.ts'

const RULES = ['admin', 'auditor']
  .map((role) => `p, ${role}, system/policy, read|draft|propose|approve|block, any, *, allow\n`)
  .join('')
const NEEDS = `needs:
  widens: { people: 1 }
break-glass: { from: [security], roles: [admin], for: 2h, review: 24h }
`

describe('changes in the console', () => {
  let browser: Browser
  let approved: ApprovedPolicies
  let server: TestServer
  let author: Awaited<ReturnType<typeof openConsole>>
  let other: Awaited<ReturnType<typeof openConsole>>
  before(async () => {
    browser = await startChromium()
    approved = await ApprovedPolicies.make(undefined, NEEDS, RULES)
    server = await approved.published.start({ CONSOLE_PORT: '0' }, { demo: true })
    author = await openConsole(browser, server, { as: 'audrey' })
    other = await openConsole(browser, server, { as: 'ada' })
    const keys = { audrey: await makeKey(author.page), ada: await makeKey(other.page) }
    const people = Object.entries(keys).map(([name, key]) => `  in-${name}: { keys: [${key}], groups: [security] }\n`)
    const file = approvalsText(approved.people, NEEDS).replace('people:\n', `people:\n${people.join('')}`)
    const folder = await approved.folderWith('enrolled', RULES)
    await writeFile(join(folder, 'approvals.yaml'), file)
    await done(approved.as('tim', 'propose', folder, '--title', 'keys of browsers', '--matrices', folder))
    await done(approved.as('zoe', 'approve', '1'))
    await done(approved.run('publish', '1'))
    await until(() => server.app.policy.sources.files['approvals.yaml']?.text === file)
  })
  after(async () => {
    await approved.remove()
    await browser.close()
  })

  it('a proposal can wait for its time, and is approved once, whatever happens on the way', async () => {
    const { page } = author
    await page.getByRole('link', { name: 'Draft' }).click()
    await page.locator('.cm-content').click()
    await page.keyboard.press('Control+End')
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Home')
    await page.keyboard.type('p, member, orders, read, any, *, allow\n')
    await page.getByLabel('What it is for').fill('members read orders')
    await page.getByLabel('In force from').fill('2999-01-31T18:00')
    await page.getByLabel('To be approved within').fill('2d')
    await page.getByRole('button', { name: 'Propose' }).click()
    await page.getByText('It is proposal 2.').waitFor()

    const asked: string[] = []
    other.page.on('request', (request) => asked.push(request.postData() ?? ''))
    const signed = () => asked.filter((body) => body.includes('"signed:')).length
    const form = await openProposal(other.page, 2)
    await form.getByText(/^It is to be in force from .*2999/).waitFor()

    // The answer is lost: whether it was approved, only a look can tell.
    await other.page.route('**/policy/v1/approve', async (route) => {
      if (!route.request().postData()?.includes('"signed:')) return route.continue()
      await route.fetch()
      return route.abort()
    })
    await form.getByRole('button', { name: 'Approve' }).click()
    await form.getByText('Look whether it was done, before you try again.').waitFor()
    expect(signed()).to.equal(1)
    await other.page.unroute('**/policy/v1/approve')
    await other.page.reload()
    await signIn(other.page, 'ada')
    await (await openProposal(other.page, 2)).getByText('in-ada has approved it.').waitFor()

    // A session that ends in the middle costs a sign-in.
    const hash = await CHEAP_PASSWORDS.hash(DEMO_PASSWORD)
    await server.app.directory.setPassword('ada', { hash, oneTime: false })
    // The page may have met it already, and then the dialog stands before the button.
    await form.getByRole('button', { name: 'Put in force' }).dispatchEvent('click')
    await other.page.getByRole('dialog', { name: 'Sign in again' }).waitFor()
    await signIn(other.page, 'ada')
    await form.getByText('may not be in force before').waitFor()

    // Somebody else was first.
    await done(approved.as('zoe', 'reject', '2', '--reason', 'too much'))
    await form.getByRole('button', { name: 'Approve' }).click()
    await form.getByText(/rejected.*: nothing was done/).waitFor()
  })

  it('break-glass gives a role at once, and somebody else reviews it', async () => {
    const { page } = other
    await page.getByRole('link', { name: 'Changes' }).click()
    await page.getByText('Break the glass').click()
    await page.getByLabel('Role', { exact: true }).fill('admin')
    await page.getByLabel('To', { exact: true }).fill('user:alice')
    const why = page.locator('form', { has: page.getByLabel('For', { exact: true }) }).getByLabel('Why')
    await why.fill('payments are down')

    // A server that gives it to somebody else, or for longer, gets no signature.
    for (const [change, sentence] of [
      [{ to: 'eve' }, 'another person'],
      [{ until: '2999-01-01T00:00:00.000Z' }, 'another end'],
    ] as const) {
      await page.route(
        '**/policy/v1/break-glass',
        async (route) => {
          const response = await route.fetch()
          const { result, ...rest } = (await response.json()) as { result: { toSign: string } }
          const [header = '', payload = ''] = result.toSign.split('.')
          const said = { ...JSON.parse(Buffer.from(payload, 'base64url').toString()), ...change }
          const toSign = `${header}.${Buffer.from(JSON.stringify(said)).toString('base64url')}`
          await route.fulfill({ response, json: { ...rest, result: { toSign } } })
        },
        { times: 1 },
      )
      await page.getByRole('button', { name: 'Give the role' }).click()
      await page.getByText(`Nothing is signed: the server sent a text with ${sentence}.`).waitFor()
    }
    await page.getByRole('button', { name: 'Give the role' }).click()
    await page.getByText('admin is given to user:alice, and somebody else must review it.').waitFor()
    const grants = page.getByRole('region', { name: 'Roles for a time' })
    await grants.getByText(/^in force 1: admin for user:alice until .* \(break-glass by in-ada\)/).waitFor()
    await grants.getByLabel('Finding, or reason').fill('it was me')
    await grants.getByRole('button', { name: 'Sign the finding' }).click()
    await grants.getByText('somebody else must review it').last().waitFor()

    for (const summary of await page.locator('summary').all()) await summary.click()
    expect(await faultsAt(page, 'changes')).to.deep.equal([])

    const ofAuthor = author.page.getByRole('region', { name: 'Roles for a time' })
    await author.page.getByRole('link', { name: 'Changes', exact: true }).click()
    await ofAuthor.getByLabel('Finding, or reason').fill('one order was corrected')
    await ofAuthor.getByRole('button', { name: 'Sign the finding' }).click()
    await ofAuthor.getByText('in-audrey has reviewed it: one order was corrected').waitFor({ state: 'attached' })
    const status = await approved.run('status')
    expect(status.stdout).not.to.contain('review-glass')
    await author.page.reload()
    await signIn(author.page, 'audrey')
    await ofAuthor.getByText(/^in force 1: admin/).click()
    await ofAuthor.getByRole('button', { name: 'Take it back' }).click()
    await ofAuthor.getByText(/^revoked 1: admin/).waitFor()
    expect([...author.troubles, ...other.troubles]).to.deep.equal([])
  })
})

async function makeKey(page: Page): Promise<string> {
  await page.getByRole('link', { name: 'Changes' }).click()
  await page.getByRole('button', { name: 'Make a key' }).click()
  return page.getByRole('region', { name: 'Your key' }).locator('.command code').innerText()
}

async function done(ending: Promise<{ readonly code: number; readonly stderr: string }>): Promise<void> {
  const { code, stderr } = await ending
  expect(code, stderr).to.equal(0)
}

async function openProposal(page: Page, number: number) {
  await page.getByRole('link', { name: 'Changes', exact: true }).click()
  const proposal = page.locator('details', {
    has: page.locator('summary', { hasText: new RegExp(`^\\w+ ${number}: `) }),
    hasText: 'policy approve',
  })
  if ((await proposal.getAttribute('open')) === null) await proposal.locator('summary').click()
  await proposal.getByRole('button', { name: 'Approve' }).waitFor()
  return proposal
}
