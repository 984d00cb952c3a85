/** The plots of docs/performance.md, in a real browser: their words stay on the canvas and apart. */
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { drawPlot, type Plot } from '../../bench/report/plot.ts'
import { plotsOf } from '../../bench/report/plots.ts'
import type { RunResult } from '../../bench/report/result.ts'
import results from '../../docs/performance/results.json' with { type: 'json' }
import { startChromium } from '../chromium.ts'

const LONG: Plot = {
  title: 'long words',
  scale: 'log',
  series: Array.from({ length: 7 }, (_, i) => `a series with a name of many words, number ${i}`),
  lines: [
    { label: 'guarded GET of each of the many objects of the caller, beside creates', samples: [[1], [20], [300]] },
  ],
}

describe('a plot', () => {
  let browser: Browser
  let page: Page
  before(async () => {
    browser = await startChromium()
    page = await browser.newPage()
  })
  after(() => browser.close())

  const faultsOf = async (svg: string) => {
    await page.setContent(svg)
    return page.evaluate<readonly string[]>(FAULTS)
  }

  it('has all its words on the canvas, and none upon another', async () => {
    for (const { name, draw } of (results as unknown as RunResult).parts.flatMap(plotsOf)) {
      expect(await faultsOf(draw()), name).to.deep.equal([])
    }
    expect(await faultsOf(drawPlot(LONG)), 'long words').to.deep.equal([])
  })

  it('would be found out with a word outside, or upon another', async () => {
    const svg = drawPlot(LONG)
    const moved = (x: number) => svg.replace(/<text x="[\d.]+" y="42"/, `<text x="${x}" y="42"`)
    expect((await faultsOf(moved(800))).join()).to.match(/outside/)
    expect((await faultsOf(moved(420))).join()).to.match(/ upon /)
  })
})

/** Numbers beside bars may touch a line of the grid, but no other words. */
const FAULTS = `(() => {
  const canvas = document.querySelector('svg').getBoundingClientRect()
  const words = [...document.querySelectorAll('text')].map((node) => ({ text: node.textContent, at: node.getBoundingClientRect() }))
  const out = words.filter(({ at }) => at.left < canvas.left || at.right > canvas.right || at.top < canvas.top || at.bottom > canvas.bottom)
  const upon = words.flatMap((one, i) => words.slice(i + 1).filter(({ at }) =>
    at.left < one.at.right && one.at.left < at.right && at.top + 2 < one.at.bottom - 2 && one.at.top + 2 < at.bottom - 2
  ).map((other) => other.text + ' upon ' + one.text))
  return [...out.map(({ text }) => text + ' outside'), ...upon]
})()`
