/**
 * `npm run bench:console`: the tasks of more than 50 ms in the console (PerformanceObserver, `longtask`), on large
 * answers, in a real Chromium. The server makes the pages; the large answers are made here.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, Page } from 'playwright-core'
import { startChromium } from '../test/chromium.ts'
import { openConsole, signIn } from '../test/console/open-console.ts'
import { startTestServer, type TestServer } from '../test/server.ts'

const ROUNDS = Number(process.argv[2] ?? 5)

interface Trial {
  readonly path: string
  /** Answers of /policy/v1, by question. */
  readonly answers: Readonly<Record<string, unknown>>
  /** Of the sign-in, and of this: nothing is measured. */
  readonly before?: (page: Page) => Promise<unknown>
  readonly act: (page: Page) => Promise<unknown>
}

const told = (result: object) => ({ command: 'sallyport', findings: false, result })
const numbers = (count: number) => Array.from({ length: count }, (_, i) => i)

const LINES = 100_000
const report = told({
  revision: 'r',
  findings: [],
  undecided: [],
  rows: numbers(LINES).map((i) => ({
    resource: `resource-${i % 40}`,
    action: 'read',
    subject: `user:person-${Math.floor(i / 40)}`,
    key: null,
    roles: ['member', 'support'],
    when: ['owner', 'team & open'],
    objects: i % 7,
    fields: [{ names: ['id', 'title', 'text', 'createdAt'], rules: [`policies/policy.csv:${i % 900}`] }],
    rules: [`policies/policy.csv:${i % 900}`],
    lastDone: null,
  })),
})

const [ROWS, CALLERS] = [1000, 25]
const heads = ['method', 'path', 'object', ...numbers(CALLERS).map((c) => `caller-${c}`)]
const matrixRows = [
  heads,
  ...numbers(ROWS).map((r) => ['GET', `/api/r/${r}`, 'own', ...numbers(CALLERS).map(() => '200')]),
]
const matrices = told({
  matrices: [
    {
      file: 'test/matrix/large.csv',
      rows: matrixRows,
      places: matrixRows.map((cells, r) => cells.map((_, c) => `${r + 1}:${c * 9 + 1}`)),
    },
  ],
  faults: [],
})
const tested = told({
  counts: { passed: (ROWS * CALLERS) / 2, failed: (ROWS * CALLERS) / 2, impossible: 0, 'left-out': 0 },
  remarks: [],
  results: numbers(ROWS * CALLERS).map((i) => ({
    kind: 'cell',
    title: `GET /api/r/${Math.floor(i / CALLERS)} (own) as caller-${i % CALLERS}`,
    place: { file: 'test/matrix/large.csv', line: 2 + Math.floor(i / CALLERS), column: (3 + (i % CALLERS)) * 9 + 1 },
    outcome: i % 2 === 0 ? 'passed' : 'failed',
    status: i % 2 === 0 ? 200 : 403,
    ...(i % 2 === 1 && {
      why: 'expected 200, got 403: no line of the policy allows it',
      cause: 'role',
      explain: 'sallyport policy explain',
    }),
  })),
})

const [WIDE_ROWS, WIDE_CALLERS] = [40, 3000]
const matrix = told({
  revision: 'r',
  callers: numbers(WIDE_CALLERS).map((c) => ({ name: `caller-${c}` })),
  guarantees: [],
  rows: numbers(WIDE_ROWS).map((r) => ({
    resource: `resource-${r % 20}`,
    path: `/api/resource-${r}`,
    methods: ['GET'],
    action: 'read',
    object: 'own',
    relation: 'owner',
    fields: ['id', 'title'],
    cells: numbers(WIDE_CALLERS).map((c) => ({
      caller: `caller-${c}`,
      outcome: c % 3 === 0 ? 'denied' : 'allowed',
      granted: 'all',
      fields: [],
      views: [],
      reason: 'rule',
      rules: [{ place: `policies/policy.csv:${c}`, effect: 'allow' }],
    })),
  })),
})

const TRIALS: Readonly<Record<string, Trial>> = {
  'Overview, loaded': {
    path: '/',
    answers: {},
    act: (page) => page.locator('.uplot canvas').waitFor({ state: 'attached' }),
  },
  [`Review, ${LINES} lines`]: {
    path: '/review',
    answers: { report },
    act: (page) => page.getByText(`${LINES} of ${LINES} lines`).waitFor(),
  },
  [`Review, looked for in ${LINES} lines`]: {
    path: '/review',
    answers: { report },
    before: (page) => page.getByText(`${LINES} of ${LINES} lines`).waitFor(),
    act: async (page) => {
      await page.getByLabel('Find').fill('person-77 resource-7')
      await page.getByText(`of ${LINES} lines`).waitFor()
    },
  },
  [`Tests, a run of ${ROWS * CALLERS} cells`]: {
    path: '/tests',
    answers: { matrices, 'matrix-test': { matrices, test: tested } },
    act: async (page) => {
      await page.getByRole('button', { name: 'Run' }).click()
      await page.getByText('cells are as expected').waitFor()
    },
  },
  [`Access, ${WIDE_ROWS} x ${WIDE_CALLERS}, scrolled to the right`]: {
    path: '/access',
    answers: { matrix },
    before: (page) => page.getByRole('grid').waitFor(),
    act: async (page) => {
      for (let i = 0; i < 20; i++) {
        await page.locator('.window').evaluate((box) => {
          box.scrollLeft += 2500
        })
        await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
      }
    },
  },
}

const OBSERVER = `
window.measured = []
new PerformanceObserver((list) => measured.push(...list.getEntries().map((one) => one.duration)))
  .observe({ type: 'longtask' })
`

/** They come over a socket, as all answers do: in pieces. */
const texts = new Map<string, string>()
const answering = createServer(({ url = '' }, response) => {
  response.setHeader('Content-Type', 'application/json').end(texts.get(url))
}).listen(0, '127.0.0.1')
await once(answering, 'listening')
const large = `http://127.0.0.1:${(answering.address() as AddressInfo).port}`

const browser = await startChromium()
const server = await startTestServer({ demo: true, env: { CONSOLE_PORT: '0' } })
try {
  for (const [name, trial] of Object.entries(TRIALS)) {
    const tasks: LongestTask[] = []
    for (let round = 0; round < ROUNDS; round++) tasks.push(await longestTask(browser, server, trial))
    const [whole, cpu] = [tasks.map(({ ms }) => ms), tasks.map(({ cpuMs }) => cpuMs)]
    process.stdout.write(`${name}: longest task ${spread(whole)} ms; ${spread(cpu)} ms of CPU\n`)
  }
} finally {
  answering.close()
  await server.stop()
  await browser.close()
}

/** The middle one of some, and the range. */
function spread(values: readonly number[]): string {
  const sorted = values.map(Math.round).toSorted((a, b) => a - b)
  return `${sorted[Math.floor(sorted.length / 2)]} (${sorted[0]} to ${sorted.at(-1)})`
}

interface LongestTask {
  /** As a PerformanceObserver tells it: 0 for none above 50 ms. Other programs on the machine lengthen it. */
  readonly ms: number
  readonly cpuMs: number
}

async function longestTask(on: Browser, of: TestServer, { path, answers, before, act }: Trial): Promise<LongestTask> {
  const { page, close } = await openConsole(on, of)
  await page.addInitScript(OBSERVER)
  for (const [name, json] of Object.entries(answers)) {
    texts.set(`/${name}`, JSON.stringify(json))
    await page.route(`**/policy/v1/${name}`, (route) => route.continue({ url: `${large}/${name}` }))
  }
  await page.goto(`${of.app.consoleUrl}${path}`)
  await signIn(page, path === '/tests' ? 'ada' : 'audrey')
  await before?.(page)
  if (before) await settled(page)
  await page.evaluate('measured.length = 0')
  await on.startTracing(page, { categories: ['disabled-by-default-devtools.timeline', '__metadata'] })
  await act(page)
  await settled(page)
  const cpuMs = longestOnMainThread(JSON.parse(String(await on.stopTracing())).traceEvents)
  const ms = Math.max(0, ...(await page.evaluate<number[]>('measured')))
  await close()
  return { ms, cpuMs }
}

/** Of Chromium's trace; times are in microseconds. */
interface TraceEvent {
  readonly name: string
  readonly tid: number
  readonly pid: number
  readonly tdur?: number
  readonly args: { readonly name?: string }
}

function longestOnMainThread(events: readonly TraceEvent[]): number {
  const threadOf = ({ pid, tid }: TraceEvent) => `${pid} ${tid}`
  const mains = new Set(events.filter(({ args }) => args.name === 'CrRendererMain').map(threadOf))
  const tasks = events.filter((one) => one.name === 'RunTask' && mains.has(threadOf(one)))
  if (tasks.length === 0) throw new Error('the trace has no task')
  return Math.max(...tasks.map(({ tdur = 0 }) => tdur / 1000))
}

/** What was begun is done, and told. */
async function settled(page: Page): Promise<void> {
  await page.evaluate('new Promise((done) => setTimeout(done, 1000))')
}
