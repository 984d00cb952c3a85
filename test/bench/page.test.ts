/** docs/performance.md is made from docs/performance/results.json, and says what that says. */
import { readdirSync, readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { BenchFailure } from '../../bench/failure.ts'
import { PARTS } from '../../bench/parts/parts.ts'
import { fillPage } from '../../bench/report/page.ts'
import { drawPlot, type Plot } from '../../bench/report/plot.ts'
import { plotsOf } from '../../bench/report/plots.ts'
import type { PartResult, Row, RunResult } from '../../bench/report/result.ts'
import { summaryText } from '../../bench/report/summary.ts'

const DOCS = new URL('../../docs/', import.meta.url)

function read(name: string): string {
  return readFileSync(new URL(name, DOCS), 'utf8')
}

const RUN: RunResult = JSON.parse(read('performance/results.json'))

const PAGES = ['performance.md', 'performance/measurements.md', 'performance/size.md']

const PLOT: Plot = {
  title: 'a < b & "c"',
  scale: 'linear',
  series: ['req/s'],
  lines: [{ label: '<ours>', samples: [[1, 2, 3]] }],
  bound: { value: 4, label: 'target' },
}

describe('docs/performance.md', () => {
  it('is what its results say, with the measurements and plots beside it', () => {
    for (const page of PAGES.map(read)) expect(fillPage(page, RUN)).to.equal(page)
    for (const { name, draw } of RUN.parts.flatMap(plotsOf)) {
      expect(read(`performance/${name}.svg`), name).to.equal(draw())
      expect(PAGES.map(read).join('')).to.include(`(${name}.svg)`)
    }
  })

  it('has a place for every part, results in the documented shape, and no plot that nothing shows', () => {
    const fits = new Ajv2020({ formats: { 'date-time': true } }).compile(JSON.parse(read('schemas/bench.schema.json')))
    expect(fits(RUN), JSON.stringify(fits.errors)).to.equal(true)
    const places = [
      ...PAGES.map(read)
        .join('')
        .matchAll(/<!-- bench: ([a-z-]+) -->/g),
    ].map(([, name]) => name)
    const ids = PARTS.map(({ id }) => id)
    expect(places).to.include.members([...ids, 'run', 'summary', 'targets'])
    expect(ids).to.include.members(RUN.parts.map(({ id }) => id))
    expect(RUN.settings.small).to.equal(false)
    expect(RUN.command, 'folders of one machine').not.to.match(/ \//)
    const plots = RUN.parts.flatMap(plotsOf).map(({ name }) => `${name}.svg`)
    const files = readdirSync(new URL('performance', DOCS)).filter((name) => name.endsWith('.svg'))
    expect(files.toSorted()).to.deep.equal(plots.toSorted())
  })

  it('would be found out with another figure in it', () => {
    const page = read('performance.md')
    const doctored = page.replace(' at least 0.4 |', ' at least 0.2 |')
    expect(doctored).to.not.equal(page)
    expect(fillPage(doctored, RUN)).to.equal(page)
  })
})

describe('the prose of docs/performance.md', () => {
  /** Without what is filled in, and without what others published. */
  const proseOf = (page: string) =>
    page.replace(/<!-- bench: [\s\S]*?<!-- end -->/g, '').replace(/### Published figures[\s\S]*$/, '')
  const FIGURE = /\d[\d,.]* (?:us|ms|s|MiB|times|reads|requests|a second|in a second)\b/g

  it('states no figure that another run would contradict', () => {
    for (const page of PAGES) expect(proseOf(read(page)).match(FIGURE) ?? [], page).to.deep.equal([])
  })

  it('would be found out with a figure in it', () => {
    const doctored = read('performance.md').replace(
      'Nothing is switched off',
      'A read takes 62 us. Nothing is switched off',
    )
    expect(proseOf(doctored).match(FIGURE)).to.deep.equal(['62 us'])
  })
})

describe('the first screen of docs/performance.md', () => {
  const row = (subject: string, ...rates: number[]): Row => ({
    subject,
    quantities: { 'req/s': rates, 'CPU us/req': rates.map((rate) => 1e6 / rate) },
  })
  const partOf = (id: string, rows: readonly Row[]): PartResult => ({
    ...{ id, title: id, method: '', rows, targets: [], leftOut: [] },
  })

  it('tells the cost of a read, and how often as fast it is as what one would write, within each round', () => {
    const rows = [row('Koa by hand', 5000, 1000), row('ours', 10_000, 4000)]
    const text = summaryText({ ...RUN, parts: [partOf('guarded-get', rows)] })
    expect(text).to.include('A read of one object takes 175 us of one CPU')
    expect(text).to.include('The rate of reads is 3 times that of Koa with well-known packages by hand.')
    expect(text).to.match(/^\| \*\*Sallyport\*\*, with everything on +\| +7,000 \| +175 \| +1 \|$/m)
    expect(text).to.match(/^\| Koa with well-known packages, by hand +\| +3,000 \| +600 \| +3 \(2 - 4\) \|$/m)
  })

  it('says that nothing is measured yet, and leaves out what was not', () => {
    expect(summaryText({ ...RUN, parts: [] })).to.equal('Not measured yet.')
    const text = summaryText({ ...RUN, parts: [partOf('guarded-get', [row('ours', 10_000)])] })
    expect(text).not.to.match(/NaN|Koa|undefined/)
  })
})

describe('the page of a run', () => {
  const page = 'Before.\n<!-- bench: start -->\nstale\n<!-- end -->\nAfter.\n'

  it('keeps what people wrote around the marks', () => {
    const filled = fillPage(page, RUN)
    expect(filled)
      .to.match(/^Before\.\n<!-- bench: start -->\n/)
      .and.to.match(/\n<!-- end -->\nAfter\.\n$/)
    expect(filled).to.include('ms to first answer').and.not.to.include('stale')
  })

  it('says what is not measured yet, and refuses a page without marks', () => {
    expect(fillPage(page, { ...RUN, parts: [] })).to.include('-->\nNot measured yet.\n<!-- end')
    expect(() => fillPage('nothing', RUN)).to.throw(BenchFailure, 'no marks')
  })

  it('says when the machine was busy before', () => {
    const mark = '<!-- bench: run -->\n<!-- end -->'
    const filled = (loadBefore: number) => fillPage(mark, { ...RUN, machine: { ...RUN.machine, loadBefore } })
    expect(filled(3)).to.include('The machine was busy before the run')
    expect(filled(0.2)).not.to.include('busy before')
  })
})

describe('a plot of the bench', () => {
  it('is an image whose texts are texts', () => {
    const drawn = drawPlot(PLOT)
    expect(drawn).to.include('&#60;ours&#62;').and.to.include('a &#60; b &#38; &#34;c&#34;')
    expect(drawn).not.to.match(/NaN|undefined|Infinity/)
  })

  it('can be drawn of a subject that was not measured, and without a bound', () => {
    const { bound: _, ...rest } = PLOT
    const lines = [...PLOT.lines, { label: 'not measured', samples: [[]] }]
    expect(drawPlot({ ...rest, lines })).not.to.match(/NaN|undefined|Infinity/)
    expect(drawPlot({ ...rest, scale: 'log', lines })).not.to.match(/NaN|undefined|Infinity/)
  })

  it('can be read in the light and in the dark', () => {
    expect(drawPlot(PLOT)).to.include('prefers-color-scheme: dark')
  })
})
