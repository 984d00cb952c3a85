/**
 * `npm run pictures` writes docs/pictures/: what the pages of the console show on a server with demo data. It is run
 * when a page changes its look; a picture is only ever made here (test/console/pictures.test.ts).
 */
import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { ApprovedPolicies } from '../test/approvals/people.ts'
import { startChromium } from '../test/chromium.ts'
import { openConsole } from '../test/console/open-console.ts'
import { startTestServer, type TestServer } from '../test/server.ts'
import { until } from '../test/until.ts'

const FOLDER = new URL('../docs/pictures/', import.meta.url)
const SIZE = { width: 1280, height: 760 }

interface Picture {
  readonly path: string
  /** Of the demo. */
  readonly as: 'audrey' | 'ada'
  /** Leads to what is worth to be seen, and waits for it. */
  readonly show: (page: Page) => Promise<unknown>
  /** On a server whose policy is published, beside a proposal. */
  readonly proposes?: boolean
}

const RULE = 'p, member, users, list, any, public, allow\n'

export const PICTURES: Readonly<Record<string, Picture>> = {
  overview: { path: '/', as: 'audrey', show: (page) => page.locator('.uplot canvas').waitFor() },
  access: {
    path: '/access?resource=orders',
    as: 'audrey',
    show: async (page) => {
      await page.getByRole('gridcell', { name: 'yes' }).first().click()
      await page.getByRole('complementary', { name: 'Why' }).getByText('policy.csv').first().waitFor()
    },
  },
  ask: {
    path: '/ask?method=DELETE&path=%2Fapi%2Forders%2F%7Bid%7D&roles=member&relation=owner%2Bplaced%2Bopen',
    as: 'audrey',
    show: (page) =>
      page
        .getByRole('article', { name: 'Explanation' })
        .getByText(/if the object were draft/)
        .first()
        .waitFor(),
  },
  who: {
    path: '/who?method=GET&path=%2Fapi%2Fusers%2Fbob',
    as: 'audrey',
    show: (page) => page.getByRole('table').getByRole('rowheader', { name: 'ada' }).first().waitFor(),
  },
  decisions: {
    path: '/decisions',
    as: 'audrey',
    show: (page) => page.getByRole('gridcell', { name: 'DELETE /api/users/{id}' }).first().waitFor(),
  },
  draft: {
    path: '/draft',
    as: 'ada',
    show: async (page) => {
      await page.locator('.cm-content').click()
      await page.keyboard.press('ControlOrMeta+End')
      await page.keyboard.press('ArrowUp')
      await page.keyboard.press('Home')
      await page.keyboard.type(RULE)
      await page.locator('li', { hasText: 'member gains list on users' }).waitFor()
    },
  },
  tests: {
    path: '/tests?matrix=notes.csv',
    as: 'ada',
    show: async (page) => {
      await page.getByRole('button', { name: 'Run' }).first().click()
      await page
        .getByText(/expected/)
        .first()
        .waitFor()
    },
  },
  usage: {
    path: '/usage',
    as: 'audrey',
    show: (page) =>
      page
        .getByText(/^policy\.csv:\d+/)
        .first()
        .waitFor(),
  },
  review: {
    path: '/review',
    as: 'ada',
    show: async (page) => {
      await page.getByLabel('Find').fill('orders')
      await page.getByRole('gridcell').first().focus()
      await page.keyboard.press('y')
      await page.keyboard.press('n')
      await page.getByText(/1 confirmed, 1 revoked/).waitFor()
    },
  },
  changes: {
    path: '/changes',
    as: 'audrey',
    proposes: true,
    show: async (page) => {
      await page.getByText(/open 1: members read orders/).click()
      await page
        .getByText(/member gains read on orders/)
        .first()
        .waitFor()
      await page.getByText('sallyport policy approve 1').waitFor()
    },
  },
}

/** What the decision log of a young server would lack. */
async function work(server: TestServer): Promise<void> {
  const [alice, sam] = [await server.token('alice', 'member'), await server.token('sam', 'support', 'member')]
  for (const path of ['/api/v1/notes', '/api/orders', '/api/accounts', '/users']) {
    await server.ask('GET', path, { token: alice })
    await server.ask('GET', path, { token: sam })
  }
  await server.ask('DELETE', '/api/users/bob', { token: alice })
  await server.ask('DELETE', '/api/orders/nothing', { token: sam })
}

/** By file name. */
type Pictures = ReadonlyMap<string, Buffer>

/** `names`: of PICTURES. */
export async function takePictures(names: readonly string[] = Object.keys(PICTURES)): Promise<Pictures> {
  const browser = await startChromium()
  const server = await startTestServer({ demo: true, env: { CONSOLE_PORT: '0' } })
  const approved = await ApprovedPolicies.make()
  try {
    // The matrices of a server are those of the folder that it was started in. One is soon run, on a busy machine too.
    for (const one of ['notes.csv', 'bodies'])
      cpSync(new URL(`../test/matrix/${one}`, import.meta.url), join(server.folder, 'test/matrix', one), {
        recursive: true,
      })
    await work(server)
    const taken = new Map<string, Buffer>()
    for (const name of names) {
      const picture = PICTURES[name]
      if (!picture) throw new Error(`there is no picture ${name}`)
      const shown = picture.proposes ? await withProposal(approved) : server
      const { page, close } = await openConsole(browser, shown, { as: picture.as, path: picture.path, viewport: SIZE })
      await picture.show(page)
      await until(async () => (await page.locator('[aria-busy=true]').count()) === 0)
      taken.set(`${name}.png`, await page.screenshot())
      await close()
    }
    return taken
  } finally {
    await approved.remove()
    await server.stop()
    await browser.close()
  }
}

async function withProposal(approved: ApprovedPolicies): Promise<TestServer> {
  const server = await approved.published.start({ CONSOLE_PORT: '0' }, { demo: true })
  const folder = await approved.folderWith('wider', 'p, member, orders, read, any, *, allow\n')
  const { code, stderr } = await approved.as('ada', 'propose', folder, '--title', 'members read orders')
  if (code !== 0) throw new Error(stderr)
  return server
}

if (import.meta.main) {
  const taken = await takePictures()
  mkdirSync(FOLDER, { recursive: true })
  for (const old of readdirSync(FOLDER)) rmSync(new URL(old, FOLDER))
  for (const [name, bytes] of taken) writeFileSync(new URL(name, FOLDER), bytes)
}
