/** What a page of the console shows is what the gate gives its caller, by whatever policy, and it stands in the log. */
import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import type { Browser, Page, Request, Route } from 'playwright-core'
import { startChromium } from '../chromium.ts'
import { runs } from '../runs.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { until } from '../until.ts'
import { openConsole } from './open-console.ts'

/** Of the demo, with their roles. */
const PEOPLE = { audrey: ['auditor'], ada: ['admin', 'member'], sam: ['support', 'member'], alice: ['member'] } as const
type Name = keyof typeof PEOPLE

const ROLES = ['everyone', 'member', 'support', 'auditor', 'admin'] as const
const ACTIONS = ['read', 'explain', 'draft', 'propose', 'approve', 'read-decisions', 'block'] as const

/** A line of policy.csv about system/policy. */
interface Line {
  readonly role: (typeof ROLES)[number]
  readonly actions: readonly string[]
  readonly effect: 'allow' | 'deny'
}

const LINES = fc.array(
  fc.record({
    role: fc.constantFrom(...ROLES),
    actions: fc.subarray([...ACTIONS], { minLength: 1 }),
    effect: fc.oneof({ weight: 4, arbitrary: fc.constant('allow' as const) }, fc.constant('deny' as const)),
  }),
  { minLength: 1, maxLength: 8 },
)

/** As docs/semantics says it: a line that denies wins, and nothing is allowed by itself. */
function isAllowed(lines: readonly Line[], name: Name, action: string): boolean {
  const roles: readonly string[] = ['everyone', ...PEOPLE[name]]
  const meant = lines.filter((line) => roles.includes(line.role) && line.actions.includes(action))
  return meant.length > 0 && meant.every(({ effect }) => effect === 'allow')
}

describe('a page of the console', () => {
  let browser: Browser
  before(async () => {
    browser = await startChromium()
  })
  after(() => browser.close())

  it('shows each caller what the gate gives, and nothing of what it refuses', async function () {
    this.timeout(900_000)
    const policy = await readFile(new URL('../../policies/policy.csv', import.meta.url), 'utf8')
    await fc.assert(
      fc.asyncProperty(LINES, fc.constantFrom<Name>('audrey', 'ada', 'sam', 'alice'), async (lines, name) => {
        const server = await startTestServer({
          demo: true,
          env: { CONSOLE_PORT: '0' },
          files: { 'policies/policy.csv': withLines(policy, lines) },
        })
        try {
          await lookAtAll(browser, server, { lines, name })
        } finally {
          await server.stop()
        }
      }),
      { numRuns: runs(4, 1), endOnFailure: true },
    )
  })

  it('that showed more than its caller may see, or asked without a record, would be found', async () => {
    const server = await startTestServer({ demo: true, env: { CONSOLE_PORT: '0' } })
    const { page, close } = await openConsole(browser, server, { as: 'audrey', path: '/ask' })
    const shown = await questionsOf(page, '/access')
    const lines: readonly Line[] = [{ role: 'auditor', actions: ['read'], effect: 'allow' }]
    const faultOf = (given: Case, of: readonly Shown[]) =>
      expectRecords(server, given, of).then(
        () => 'none',
        (error: Error) => error.message,
      )
    expect(shown.map(({ status }) => status)).to.include(200)
    expect(await faultOf({ lines, name: 'audrey' }, shown)).to.equal('none')
    expect(await faultOf({ lines: [], name: 'audrey' }, shown)).to.match(/^audrey: read of/)
    const unrecorded = shown.map((one) => ({ ...one, path: `${one.path}-unasked` }))
    expect(await faultOf({ lines, name: 'audrey' }, unrecorded)).to.match(/-unasked 200: /)
    await close()
    await server.stop()
  })
})

/** Each shows the answers to its questions, whatever its caller may see. */
const VIEWS = [
  '/access',
  '/ask?method=GET&path=/api/v1/notes&roles=member',
  '/who?method=GET&path=/api/users/bob',
  '/decisions?outcome=refused',
  '/draft',
  '/tests',
  '/usage',
  '/changes',
  '/review',
  '/',
]

/** Another answer each time. */
const MOVING = /\/(?:decisions|usage|record|replay|follow|instances)$/

interface Case {
  readonly lines: readonly Line[]
  readonly name: Name
}

interface Shown {
  readonly path: string
  readonly method: string
  readonly sent: string | null
  readonly status: number
  readonly text: string
}

async function lookAtAll(browser: Browser, server: TestServer, { lines, name }: Case): Promise<void> {
  const { page, troubles, close } = await openConsole(browser, server, { as: name, path: '/ask' })
  const token = await server.token(name, ...PEOPLE[name])
  for (const view of VIEWS) {
    const shown = await questionsOf(page, view)
    for (const one of shown) {
      const { method, path, sent, status, text } = one
      const same = await server.ask(method, path, { token, ...(sent !== null && { body: JSON.parse(sent) }) })
      expect(same.status, `${view}: ${path} for ${name}`).to.equal(status)
      if (!MOVING.test(path)) expect(resultIn(same.text), `${view}: ${path}`).to.deep.equal(resultIn(text))
    }
    await expectRecords(server, { lines, name }, shown)
    const main = await page.locator('main').innerText()
    const isAllRefused = shown.length > 0 && shown.every(({ status }) => status === 403)
    if (isAllRefused)
      expect(main, view)
        .to.match(/Your roles don't grant the action/)
        .and.not.contain('policy.csv:')
  }
  expect(troubles).to.deep.equal([])
  await close()
}

/** Opens a view as a link does, and waits until all that it asks is answered. */
async function questionsOf(page: Page, view: string): Promise<readonly Shown[]> {
  const answers: Shown[] = []
  let asked = 0
  let ended = 0
  const isQuestion = (url: URL) => url.pathname.startsWith('/policy/v1/')
  const ask = (request: Request) => {
    if (isQuestion(new URL(request.url()))) asked += 1
  }
  const end = (request: Request) => {
    if (isQuestion(new URL(request.url()))) ended += 1
  }
  // Taken on its way: Chromium keeps no text of an answer that a page reads as a stream.
  const take = async (route: Route) => {
    const request = route.request()
    const path = new URL(request.url()).pathname
    if (path.endsWith('/follow')) return route.continue()
    const response = await route.fetch()
    const text = await response.text()
    answers.push({ path, method: request.method(), sent: request.postData(), status: response.status(), text })
    await route.fulfill({ response })
  }
  page.on('request', ask).on('requestfinished', end).on('requestfailed', end)
  await page.route(isQuestion, take)
  const to = JSON.stringify(view)
  await page.evaluate(`history.pushState(null, '', ${to}); dispatchEvent(new PopStateEvent('popstate'))`)
  // Each view asks something, and what it shows then may ask more.
  await until(async () => asked > 0 && asked === ended && (await page.locator('[aria-busy=true]').count()) === 0)
  page.off('request', ask).off('requestfinished', end).off('requestfailed', end)
  await page.unroute(isQuestion, take)
  return answers
}

/** `command` and times of the asking differ. */
function resultIn(text: string): unknown {
  const { result, ...rest } = JSON.parse(text)
  return result === undefined
    ? rest.code
    : JSON.parse(JSON.stringify(result), (key, value) => (key === 'at' ? '' : value))
}

/** What the console asked is in the log, with the action that the lines allow or refuse. */
async function expectRecords(server: TestServer, { lines, name }: Case, shown: readonly Shown[]): Promise<void> {
  const records = (await server.decisions()).filter(({ subject }) => subject === name)
  for (const { path, method, status } of shown) {
    const record = records.findLast((one) => one.route === path && one.method === method && one.status === status)
    expect(record, `${method} ${path} ${status}`).to.include({ resource: 'system/policy' })
    expect(status !== 403, `${name}: ${record?.action} of ${path}`).to.equal(
      isAllowed(lines, name, String(record?.action)),
    )
  }
}

function withLines(policy: string, lines: readonly Line[]): string {
  const without = policy.replace(/^p, (?:auditor|admin), +system\/policy,.*\n/gm, '')
  const added = lines.map(
    ({ role, actions, effect }) => `p, ${role}, system/policy, ${actions.join('|')}, any, *, ${effect}\n`,
  )
  return without.replace(/# end of policy\s*$/, `${[...new Set(added)].join('')}$&`)
}
