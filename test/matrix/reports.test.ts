/** The reports of a run: what they say, that they keep their shape, and that nothing in a matrix runs in them. */
import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { REPORTS } from '../../src/tools/matrix/report/reports.ts'
import { exchangeOf, isGreen, type Result, type Run } from '../../src/tools/matrix/run/result.ts'
import { startChromium } from '../chromium.ts'
import { openPage } from '../review/matrix/open-page.ts'

const { html: toHtml, text: toText, json: toJson, junit: toJunit } = REPORTS

const HOSTILE = `"><script>document.title='ran'</script><img src=x onerror="document.title='ran'">]]>\u0001\u202e`

const schema = JSON.parse(readFileSync(new URL('../../docs/schemas/matrix-test.schema.json', import.meta.url), 'utf8'))
const ajv = new Ajv2020({ allErrors: true })
addFormats.default(ajv)
const fitsSchema = ajv.compile(schema)

describe('the reports of a run', () => {
  it('as text: what is red, a line a file, and one line for all', () => {
    expect(toText(runOf([cell('passed', 2), cell('failed', 3), cell('impossible', 4)]))).to.equal(`notes.csv:3:9  cell 3
  expected 403, got 200
  why: npm run -s sallyport -- policy explain GET /a

notes.csv:4:9  cell 4
  can't be tried: no reason

file       as expected  wrong  can't be tried
notes.csv            1      1               1

one remark

1 of 3 cells are as expected, 1 wrong, 1 can't be tried (1.5 s, in this process).
`)
    expect(toText(runOf([cell('passed', 2)]))).to.match(/The only cell is as expected \(/)
  })

  it('tell many cells of one cause together, by the line of the policy that is behind them', () => {
    const because = (line: number, cause: string) => ({ ...cell('failed', line), cause })
    const wide = [3, 4, 5].map((line) => because(line, 'policy.csv:29 allows it'))
    const narrow = [6, 7].map((line) => because(line, 'policy.csv:8 denies it'))
    const untried = [cell('impossible', 8), cell('impossible', 9)]
    const text = toText(runOf([...untried, ...wide, ...narrow]))
    expect(text.split('\n\n').slice(0, 3)).to.deep.equal([
      `policy.csv:8 denies it: 2 wrong, expected 403, got 200
  notes.csv:6:9  cell 6
  notes.csv:7:9  cell 7
  why: npm run -s sallyport -- policy explain GET /a`,
      `policy.csv:29 allows it: 3 wrong, expected 403, got 200
  notes.csv:3:9  cell 3
  notes.csv:4:9  cell 4
  notes.csv:5:9  cell 5
  why: npm run -s sallyport -- policy explain GET /a`,
      `2 can't be tried: no reason
  notes.csv:8:9  cell 8
  notes.csv:9:9  cell 9`,
    ])
    expect(text).to.include("0 of 7 cells are as expected, 5 wrong, 2 can't be tried")
    expect(JSON.parse(toJson(runOf(wide))).results[0].cause).to.equal('policy.csv:29 allows it')
  })

  it('are green only when all cells passed: what could not be tried or had no turn is no pass', () => {
    expect(isGreen(runOf([cell('passed', 2)]))).to.equal(true)
    for (const outcome of ['failed', 'impossible', 'left-out'] as const) {
      expect(isGreen(runOf([cell('passed', 2), cell(outcome, 3)])), outcome).to.equal(false)
    }
  })

  it('as JSON: in the shape that docs/schemas promises', () => {
    const outcomes = ['passed', 'failed', 'impossible', 'left-out'] as const
    const document = JSON.parse(toJson(runOf(outcomes.map((outcome, i) => cell(outcome, i + 2, HOSTILE)))))
    fitsSchema(document)
    expect(fitsSchema.errors).to.equal(null)
    expect(document.counts).to.deep.equal({ passed: 1, failed: 1, impossible: 1, 'left-out': 1 })
    document.results[0].outcome = 'fine'
    expect(fitsSchema(document)).to.equal(false)
  })

  it('hold no token, even where a server repeats it', () => {
    const request = { method: 'GET', url: 'http://127.0.0.1/', token: 'secret.token.here' }
    const answer = {
      status: 200,
      headers: { echo: 'x secret.token.here' },
      text: '"secret.token.here"',
      json: undefined,
    }
    expect(JSON.stringify(exchangeOf(request, answer))).not.to.contain('secret')
  })

  it('as JUnit: a suite a file, a test a cell, and text that XML can say', () => {
    const xml = toJunit(
      runOf([cell('passed', 2), cell('failed', 3, HOSTILE), cell('impossible', 4), cell('left-out', 5)]),
    )
    expect(xml).to.match(/<testsuite name="notes.csv" [^>]*tests="4" failures="1" errors="1" skipped="1"/)
    expect(xml).to.contain('expected 403, got 200')
    expect(xml).not.to.contain('<script>')
    expect(xml).not.to.contain('\u0001')
  })

  describe('as a page', () => {
    let browser: Browser
    before(async () => {
      browser = await startChromium()
    })
    after(() => browser.close())

    it('shows what is as expected and what is wrong, and a wrong cell leads to its request from the keyboard', async () => {
      const { page, requests, troubles, close } = await openPage(
        browser,
        toHtml(runOf([cell('passed', 2), cell('failed', 3)])),
      )
      expect(await page.locator('td.expected').innerText()).to.equal('403')
      expect(await page.locator('td.wrong').innerText()).to.equal('403 not 200')
      await page.keyboard.press('Tab')
      await page.keyboard.press('w')
      expect(await page.locator('tr.row:visible').count()).to.equal(1)
      await page.keyboard.press('Tab')
      await page.keyboard.press('Enter')
      const detail = await page.locator('article:target').innerText()
      expect(detail).to.contain('expected 403, got 200').and.to.contain('authorization: Bearer ***')
      expect(detail).to.contain('"title": "x"')
      expect({ requests: requests.length, troubles }).to.deep.equal({ requests: 1, troubles: [] })
      await close()
    })

    it('says first how many are wrong, and tells the cells of one line together', async () => {
      const wrong = [3, 4].map((line) => ({
        ...cell('failed', line),
        cause: 'policy.csv:29 allows it',
      }))
      const { page, close } = await openPage(browser, toHtml(runOf([cell('passed', 2), ...wrong])))
      expect(await page.locator('h1').innerText()).to.equal('2 wrong; 1 of 3 as expected')
      const [cause, grid] = [page.locator('section.cause'), page.locator('table')]
      expect(await cause.locator('h2').innerText()).to.equal('policy.csv:29 allows it: 2 wrong, expected 403, got 200')
      const heights = await Promise.all([cause, grid].map(async (part) => (await part.boundingBox())?.y ?? 0))
      expect(heights[0]).to.be.lessThan(heights[1] ?? 0)
      expect(await page.locator('article:visible').count()).to.equal(0)
      await page.locator('td.wrong a').last().click()
      expect(await page.locator('article:target').innerText()).to.contain('expected 403')
      await close()
    })

    it('counts in its legend the cells that it shows, and shows those of one outcome alone', async () => {
      const { expectation: _, ...aCase } = { ...cell('passed', 7), kind: 'case' as const }
      const both = (['GET', 'HEAD'] as const).map((method, i) => {
        const one = cell(i === 0 ? 'passed' : 'failed', 2)
        return one.expectation ? { ...one, expectation: { ...one.expectation, method } } : one
      })
      const cells = [...both, cell('failed', 3), cell('impossible', 4), cell('left-out', 5), cell('passed', 6)]
      const { page, close } = await openPage(browser, toHtml(runOf([...cells, aCase])))
      const counted = { expected: 3, wrong: 2, untried: 1, 'left-out': 1 }
      for (const [meaning, count] of Object.entries(counted)) {
        expect(await page.locator(`.legend li:has(.${meaning}) .count`).innerText(), meaning).to.equal(String(count))
        expect(await page.locator(`:is(td, li.row > .key).${meaning}`).count(), meaning).to.equal(count)
      }
      expect(await page.locator('.legend').innerText()).not.to.match(/403, got/)
      for (const [chosen, rows, causes] of [
        ['wrong', 2, 1],
        ['untried', 1, 1],
        ['all', 7, 2],
      ] as const) {
        await page.getByLabel('Show').selectOption(chosen)
        expect(await page.locator('.row:visible').count(), chosen).to.equal(rows)
        expect(await page.locator('.cause:visible').count(), chosen).to.equal(causes)
      }
      await close()
    })

    it('runs nothing of what a matrix or a server says', async () => {
      const { page, requests, troubles, close } = await openPage(browser, toHtml(runOf([cell('failed', 2, HOSTILE)])))
      expect(await page.title()).to.match(/^Red: matrix test/)
      expect(await page.locator('script').count()).to.equal(0)
      expect(await page.locator('article h3').innerText()).to.contain('<script>')
      expect({ requests: requests.length, troubles }).to.deep.equal({ requests: 1, troubles: [] })
      await close()
    })

    it('is dark where dark is asked for, and prints wrong cells with their words', async () => {
      const { page, close } = await openPage(browser, toHtml(runOf([cell('failed', 2)])))
      const background = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
      const light = await background()
      await page.emulateMedia({ colorScheme: 'dark' })
      expect(await background()).not.to.equal(light)
      await page.emulateMedia({ media: 'print' })
      expect(await page.getByLabel('Show').isVisible()).to.equal(false)
      expect(await page.locator('td.wrong').innerText()).to.equal('403 not 200')
      await close()
    })
  })
})

function runOf(results: readonly Result[]): Run {
  const remarks = results.length > 1 ? ['one remark'] : []
  return { url: undefined, startedAt: '2026-11-21T06:00:00.000Z', milliseconds: 1500, results, remarks }
}

function cell(outcome: Result['outcome'], line: number, words = ''): Result {
  const place = { file: 'notes.csv', line, column: 9 }
  const request = { method: 'GET', url: `http://127.0.0.1/a${words}`, headers: { authorization: 'Bearer ***' } }
  const answer = { status: 200, headers: { x: words }, text: words === '' ? '{"title":"x"}' : words }
  const failed = {
    why: `expected 403, got 200${words}`,
    exchanges: [{ request, answer }],
    status: 200,
  }
  return {
    kind: 'cell',
    title: `cell ${line}${words}`,
    place,
    outcome,
    ...(outcome === 'failed'
      ? { ...failed, explain: 'npm run -s sallyport -- policy explain GET /a' }
      : { exchanges: [] }),
    ...(outcome === 'impossible' ? { why: "can't be tried: no reason" } : {}),
    milliseconds: 1,
    expectation: {
      place,
      method: 'GET',
      path: `/a${words}`,
      object: { kind: 'none' },
      column: { kind: 'roles', roles: [`member${words}`] },
      note: words,
      expected: { status: 403 },
    },
  }
}
