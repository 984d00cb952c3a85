/** All reports as pages, in a real browser: nothing is cut, covered or out of reach, wide, narrow and on paper. */
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { reportOn } from '../../src/analysis/diff/compare-policies.ts'
import { loadResources } from '../../src/resources/load/load-resources.ts'
import type { Resources } from '../../src/resources/resource.ts'
import { ACCESS_REPORT_FORMATS } from '../../src/tools/access/formats.ts'
import type { AccessReport } from '../../src/tools/access/report.ts'
import { DIFF_FORMATS } from '../../src/tools/diff/formats.ts'
import { type LoadedPolicy, loadPolicy } from '../../src/tools/load-policy.ts'
import { COVERAGE_FORMATS } from '../../src/tools/matrix/coverage/report.ts'
import { REPORTS } from '../../src/tools/matrix/report/reports.ts'
import type { Result } from '../../src/tools/matrix/run/result.ts'
import { MATRIX_FORMATS } from '../../src/tools/permissions/formats.ts'
import { buildMatrix, chooseColumns, type Matrix } from '../../src/tools/permissions/matrix.ts'
import { USAGE_FORMATS } from '../../src/tools/usage/formats.ts'
import { usageOf } from '../../src/tools/usage/usage.ts'
import { startChromium } from '../chromium.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { soak } from '../runs.ts'
import { openPage } from './matrix/open-page.ts'

const FOLDER = 'examples/projects'
const WIDTHS = soak([1280], [390])
const NOW = Date.parse('2027-02-03T04:05:06Z')

describe('the page of each report', () => {
  let browser: Browser
  let pages: Readonly<Record<string, string>>
  let matrix: Matrix

  before(async () => {
    browser = await startChromium()
    const resources = await loadResources(`${FOLDER}/schemas`)
    const loaded = await loadPolicy(`${FOLDER}/policies`, resources)
    const matrixFor = (resource: string, callers: readonly string[]) =>
      buildMatrix(loaded, {
        resources,
        columns: chooseColumns(loaded.policy, callers),
        only: new Set([resource]),
        now: NOW,
      })
    matrix = { ...matrixFor('tasks', []), people: PEOPLE }
    const many = Array.from({ length: 20 }, (_, i) => `user:somebody-${i}`)
    const report = reportOn(
      { before: 'old', after: 'new' },
      { before: withoutResults(loaded), after: loaded },
      { resources, now: NOW },
    )
    pages = {
      matrix: MATRIX_FORMATS.html(matrix),
      'matrix of two callers': MATRIX_FORMATS.html(matrixFor('comments', ['member', 'admin'])),
      'matrix of many callers': MATRIX_FORMATS.html(matrixFor('comments', ['member', ...many])),
      'matrix with long paths': MATRIX_FORMATS.html(withLongPaths(matrix)),
      run: REPORTS.html(RUN),
      coverage: COVERAGE_FORMATS.html(COVERAGE),
      diff: DIFF_FORMATS.html(report),
      access: ACCESS_REPORT_FORMATS.html(ACCESS),
      usage: await usagePage(loaded, resources),
    }
  })
  after(async () => {
    for (const one of opened.values()) await (await one).close()
    await browser.close()
  })

  const opened = new Map<string, ReturnType<typeof openPage>>()
  /** Each page is opened once: a large one takes a second. */
  const withPage = async (name: string, width: number, work: (page: Page) => Promise<void>) => {
    const opening = opened.get(name) ?? openPage(browser, pages[name] ?? '')
    opened.set(name, opening)
    const { page, troubles } = await opening
    await page.setViewportSize({ width, height: 844 })
    await work(page)
    await page.emulateMedia({ media: null, colorScheme: null })
    expect(troubles).to.deep.equal([])
  }

  it('has nothing outside its container, nothing cut, and nothing upon another', async () => {
    for (const name of Object.keys(pages)) {
      for (const width of WIDTHS) {
        await withPage(name, width, async (page) => {
          expect(await page.evaluate(FAULTS), `${name}, ${width}`).to.deep.equal([])
        })
      }
    }
  })

  it('would be found out with a label upon the cells, a cut path, or a line beyond the edge', async () => {
    const faultsWith = async (name: string, style: string) => {
      let found: readonly string[] = []
      await withPage(name, 390, async (page) => {
        await page.evaluate(
          `(() => { const made = new CSSStyleSheet(); made.replaceSync(${JSON.stringify(style)}); document.adoptedStyleSheets.push(made) })()`,
        )
        found = await page.evaluate(FAULTS)
        await page.evaluate('void document.adoptedStyleSheets.pop()')
      })
      return found.join()
    }
    expect(await faultsWith('matrix', '.r { width: 300px }')).to.match(/leaves/)
    expect(await faultsWith('matrix with long paths', '.p { overflow: hidden; white-space: nowrap }')).to.match(/cut/)
    expect(await faultsWith('diff', '.changes { white-space: nowrap }')).to.match(/wider/)
    expect(await faultsWith('usage', 'pre { white-space: pre !important }')).to.match(/cut|wider/)
  })

  it('of a matrix goes from edge to edge', async () => {
    for (const name of Object.keys(pages).filter((one) => one.startsWith('matrix'))) {
      await withPage(name, 1280, async (page) => {
        const short = await page.evaluate<number>(
          `document.querySelector('.scroll').clientWidth - document.querySelector('table').getBoundingClientRect().width`,
        )
        expect(short, name).to.be.at.most(0.5)
      })
    }
  })

  it('of access shows hostile names as text', async () => {
    await withPage('access', 1280, async (page) => {
      expect(await page.title()).to.equal(`Access report of policy ${ACCESS.revision}`)
      expect(await page.evaluate(`document.querySelectorAll('img').length`)).to.equal(0)
      expect(await page.evaluate(`document.body.innerText`))
        .to.contain(HOSTILE)
        .and.to.contain(LONG)
    })
  })

  it('of usage shows hostile names as text, and each sentence on a line of its own', async () => {
    for (const width of [1280, 390]) {
      await withPage('usage', width, async (page) => {
        expect(await page.evaluate(`document.querySelectorAll('img').length`)).to.equal(0)
        const text = await page.locator('body').innerText()
        expect(text).to.contain(`${HOSTILE}: 3 allowed requests`).and.to.contain(LONG)
        expect(text).to.match(/^lines that are not decision records: 1$/m)
        expect(text).to.match(/^0 requests decided again, .* of this time\.$/m)
        expect(await page.locator('h2').allInnerTexts()).to.include('API keys')
        const lines = await page.locator('pre').first().innerText()
        expect(lines).to.match(/^ *policy\.csv:\d+ {2}p, /m)
      })
    }
  })

  it('has all its filters in sight on a telephone', async () => {
    for (const name of Object.keys(pages).filter((one) => one !== 'access' && one !== 'usage')) {
      await withPage(name, 390, async (page) => {
        const boxes = await page.evaluate<readonly { left: number; right: number; bottom: number }[]>(
          `[...document.querySelectorAll('.filters :is(input, select, button)')].map((one) => one.getBoundingClientRect().toJSON())`,
        )
        expect(boxes.length, name).to.be.greaterThan(0)
        for (const { left, right, bottom } of boxes) {
          expect(left, name).to.be.at.least(0)
          expect(right, name).to.be.at.most(390)
          expect(bottom, name).to.be.at.most(600)
        }
      })
    }
  })

  it('shows each meaning in its own way, the same on each page, light, dark and on paper', async () => {
    for (const media of [{ colorScheme: 'light' }, { colorScheme: 'dark' }, { media: 'print' }] as const) {
      const looks = new Map<string, string>()
      for (const name of ['matrix', 'run', 'coverage', 'diff']) {
        await withPage(name, 1280, async (page) => {
          await page.emulateMedia(media)
          for (const [meaning, look] of await page.evaluate<readonly [string, string][]>(LOOKS)) {
            expect(looks.get(meaning) ?? look, meaning).to.equal(look)
            looks.set(meaning, look)
          }
        })
      }
      expect([...looks.keys()]).to.include.members(['all', 'no', 'expected', 'wrong', 'stated', 'unstated', 'widening'])
      expect(new Set(looks.values()).size, JSON.stringify(media)).to.equal(looks.size)
    }
  })

  it('counts in its legend what it shows', async () => {
    for (const [name, shown] of [
      ['run', 'td'],
      ['coverage', 'td'],
      ['diff', '.changes .key'],
    ] as const) {
      await withPage(name, 1280, async (page) => {
        const differ = await page.evaluate(`[...document.querySelectorAll('.legend li')].filter((entry) => {
          const meaning = entry.querySelector('.key').classList[1]
          return document.querySelectorAll('${shown}.' + meaning).length !== Number(entry.querySelector('.count').textContent)
        }).map((entry) => entry.textContent)`)
        expect(differ, name).to.deep.equal([])
      })
    }
  })

  it('shows no backticks, but code', async () => {
    await withPage('coverage', 390, async (page) => {
      const text = await page.locator('main').innerText()
      expect(text).to.contain('add examples to name').and.not.to.contain('`')
      expect(await page.locator('.parts td code', { hasText: 'examples' }).count()).to.equal(1)
    })
  })

  it('of a matrix has on paper the date, people, rules, and what its words mean', async () => {
    await withPage('matrix', 1280, async (page) => {
      expect(await page.locator('.paper').isVisible()).to.equal(false)
      await page.emulateMedia({ media: 'print' })
      expect(await page.locator('header').innerText()).to.contain('2027-02-03T04:05:06Z')
      const paper = async (name: string) => (await page.locator(`.paper .${name}`).innerText()).replaceAll(/\s+/g, ' ')
      expect(await paper('roles')).to.match(/member .*Held by: Zoe \(u1\); Max \(u2\), disabled\. .*Held by: nobody/)
      expect(await paper('rules')).to.match(/policy\.csv:\d+ p, member, tasks, /)
      expect(await paper('relations')).to.contain(
        'tasks: lead projectId names an object with the relation lead of projects',
      )
      expect(await paper('views')).to.contain('tasks: claim assigneeId')
      expect(await paper('conditions')).to.match(/fresh the caller signed in at most .* \(assumed not to hold\)/)
      expect(await page.locator('.paper .blocked').count()).to.equal(0)
    })
  })
})

const PEOPLE = [
  { name: 'Zoe', id: 'u1', roles: ['member'], grants: [], disabled: false },
  { name: 'Max', id: 'u2', roles: ['member'], grants: [], disabled: true },
]

/** A name that would be markup, and long ones that need a break. */
const HOSTILE = `<img src=x onerror="document.title='taken'">'&amp;`
const LONG = 'somebody-with-a-long-name'.repeat(6)

const ACCESS: AccessReport = {
  at: '2026-11-21T06:00:00.000Z',
  revision: 'a4f428488d58fdf7',
  digest: '0'.repeat(64),
  rows: [HOSTILE, LONG].flatMap((subject) =>
    ['list', 'update'].map((action) => ({
      resource: subject === LONG ? 'tasks' : HOSTILE,
      subject,
      key: null,
      roles: ['member', LONG],
      action,
      when: ['office+fresh', '!office+fresh'],
      objects: 1234,
      byValues: 5,
      fields: [{ names: ['id', 'title', LONG], objects: 12 }],
    })),
  ),
  findings: [{ code: 'key-never-used', about: HOSTILE, message: `the key ${HOSTILE} ${LONG} was never used` }],
  leftOut: ['system/health', HOSTILE],
  undecided: [{ subject: HOSTILE, resource: 'tasks', action: 'list', why: LONG }],
}

/** Of a log without records, but for what is hard to show. */
async function usagePage(loaded: LoadedPolicy, resources: Resources): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
  try {
    const log = join(folder, 'decisions.log')
    await writeFile(log, '')
    const window = { since: NOW - 86_400_000, until: NOW, maxSilence: 86_400_000 }
    const usage = await usageOf({ loaded, resources, files: [log], window, onProgress: () => undefined })
    const keys = [{ key: HOSTILE, requests: 3, last: NOW }]
    const undecidable = new Map([[`it names ${LONG}`, 2]])
    return USAGE_FORMATS.html({ usage: { ...usage, keys, undecidable, otherLines: 1 }, stale: [] })
  } finally {
    await removeFolder(folder)
  }
}

function withoutResults(loaded: LoadedPolicy): LoadedPolicy {
  const rules = loaded.policy.rules.filter(({ after }) => after === undefined)
  return { ...loaded, policy: { ...loaded.policy, rules } }
}

/** Two that differ only at their ends. */
function withLongPaths(matrix: Matrix): Matrix {
  const long = `/a-long-prefix/of-some-api/v1/organisations/{id}/departments`
  const rows = matrix.rows.map((row, i) => ({ ...row, path: `${long}${row.path}/${i % 2 === 0 ? 'open' : 'done'}` }))
  return { ...matrix, rows }
}

const RUN = {
  url: undefined,
  startedAt: '2026-11-21T06:00:00.000Z',
  milliseconds: 1500,
  remarks: ['the schema `tasks` has no `examples`'],
  results: (['passed', 'failed', 'impossible', 'left-out', 'failed'] as const).map(resultOf),
}

function resultOf(outcome: Result['outcome'], i: number): Result {
  const place = { file: 'test/matrix/a-file-with-a-long-name.csv', line: i + 2, column: 9 }
  const path = '/api/v1/organisations/{id}/departments/{department}'
  return {
    kind: 'cell',
    title: `GET ${path} (none) as member is 403`,
    place,
    outcome,
    why: 'expected 403, got 200; `policy.csv:29` allows it',
    exchanges: [{ request: { method: 'GET', url: `http://127.0.0.1${path.repeat(4)}`, headers: {} } }],
    milliseconds: 1,
    status: outcome === 'failed' ? 200 + i : 403,
    expectation: {
      place,
      method: 'GET',
      path,
      object: { kind: 'none' },
      column: { kind: 'roles', roles: ['member'] },
      expected: { status: 403 },
    },
  }
}

const CELL = { resource: 'notes', method: 'GET', path: '/api/v1/notes/{id}', object: 'own', column: 'member' } as const
const PART = {
  place: 'policy.csv:27',
  text: 'p, member, notes, list|read|create|replace|update|delete, owner+draft, *, allow',
}
const COVERAGE = {
  cells: [
    { ...CELL, covered: true, answer: '200' },
    { ...CELL, column: 'admin', covered: false, answer: '403' },
  ],
  unasked: [{ ...CELL, why: 'the smallest valid body is not known: add `examples` to `name`' }],
  rules: [{ ...PART, covered: false }],
  terms: [],
  results: [],
  relations: [],
  views: [],
  mistakes: [{ ...PART, operators: ['widen-fields', 'drop-term'] }],
  unmet: 0,
  unpredictable: 0,
}

/** Words: what leaves its cell, is cut, or lies upon its neighbour; the page itself has no horizontal scroll bar. */
const FAULTS = `(() => {
  const told = (fault, node) => fault + ': ' + node.className + ' ' + node.textContent.trim().slice(0, 40)
  const width = document.documentElement.clientWidth
  const wide = document.documentElement.scrollWidth > width ? ['the page is wider than the window'] : []
  const isScrolled = (node) => node.closest('.scroll, .wide, .panel, caption') !== null
  const beyond = [...document.querySelectorAll('body *')].filter((node) => {
    const box = node.getBoundingClientRect()
    return box.width > 0 && box.height > 0 && !isScrolled(node) && (box.left < -0.5 || box.right > width + 0.5)
  }).map((node) => told('wider than the window', node))
  const parts = [...document.querySelectorAll('.lead > *, td > a, .key, .parts td, .parts th')].filter((node) => node.offsetWidth > 0)
  const leaves = parts.filter((node) => {
    const [inner, outer] = [node, node.closest('th, td, li, main')].map((one) => one.getBoundingClientRect())
    return inner.right > outer.right + 0.5 || inner.left < outer.left - 0.5
  }).map((node) => told('leaves its cell', node))
  const cut = [...document.querySelectorAll('.m, .p, .r, td, li, pre, .key, h1, h2, dd, dt')].filter((node) => {
    return node.clientWidth > 0 && node.scrollWidth > node.clientWidth + 1
  }).map((node) => told('cut', node))
  const upon = [...document.querySelectorAll('.lead')].flatMap((lead) => {
    const boxes = [...lead.children].map((node) => ({ node, at: node.getBoundingClientRect() })).filter(({ at }) => at.width > 0)
    return boxes.filter(({ at }, i) => boxes.slice(i + 1).some((other) =>
      at.left < other.at.right - 0.5 && other.at.left < at.right - 0.5 && at.top < other.at.bottom - 1 && other.at.top < at.bottom - 1
    )).map(({ node }) => told('upon another', node))
  })
  return [...wide, ...beyond, ...leaves, ...cut, ...upon].slice(0, 5)
})()`

/** Of each entry of the legend: its meaning, and what tells it from others without reading. */
const LOOKS = `[...document.querySelectorAll('.legend .key')].filter(({ classList }) => classList.length > 1).map((node) => {
  const { backgroundColor, backgroundImage, outlineStyle } = getComputedStyle(node)
  return [node.classList[1], [backgroundColor, backgroundImage, outlineStyle].join()]
})`
