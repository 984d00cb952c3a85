/** docs/performance.md is made from docs/performance/results.json, and says what that says. */
import { readdirSync, readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { BenchFailure } from '../../bench/failure.ts'
import { PARTS } from '../../bench/parts/parts.ts'
import { fillPage } from '../../bench/report/page.ts'
import { drawPlot, type Plot } from '../../bench/report/plot.ts'
import { plotsOf } from '../../bench/report/plots.ts'
import type { RunResult } from '../../bench/report/result.ts'

const DOCS = new URL('../../docs/', import.meta.url)

function read(name: string): string {
  return readFileSync(new URL(name, DOCS), 'utf8')
}

const RUN: RunResult = JSON.parse(read('performance/results.json'))

const PLOT: Plot = {
  title: 'a < b & "c"',
  scale: 'linear',
  series: ['req/s'],
  lines: [{ label: '<ours>', samples: [[1, 2, 3]] }],
  bound: { value: 4, label: 'target' },
}

describe('docs/performance.md', () => {
  it('is what its results say, plots too', () => {
    const page = read('performance.md')
    expect(fillPage(page, RUN)).to.equal(page)
    for (const { name, plot } of RUN.parts.flatMap(plotsOf)) {
      expect(read(`performance/${name}.svg`), name).to.equal(drawPlot(plot))
      expect(page).to.include(`(performance/${name}.svg)`)
    }
  })

  it('has results of every part, in the documented shape, and no plot that nothing shows', () => {
    const fits = new Ajv2020({ formats: { 'date-time': true } }).compile(JSON.parse(read('schemas/bench.schema.json')))
    expect(fits(RUN), JSON.stringify(fits.errors)).to.equal(true)
    expect(RUN.parts.map(({ id }) => id)).to.deep.equal(PARTS.map(({ id }) => id))
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

describe('the opening of docs/performance.md', () => {
  it('has only figures of the run below it', () => {
    const [opening = ''] = read('performance.md').split('## What the peers are')
    const results = fillPage(`<!-- bench: targets -->\n<!-- end -->\n${RUN.parts.map(markOf).join('\n')}`, RUN)
    const figures = opening.match(/(?<![\d.,=])\d[\d,]*(?:\.\d+)?(?= us| ms| MiB| by| \|| reads|\.\n)/g) ?? []
    expect(figures).to.have.length.at.least(18)
    expect(figures.filter((figure) => !measured(results).has(figure))).to.deep.equal([])
    expect(measured(results).has('16,043')).to.equal(false)
  })

  function markOf({ id }: { readonly id: string }): string {
    return `<!-- bench: ${id} -->\n<!-- end -->`
  }

  function measured(text: string): ReadonlySet<string> {
    return new Set(text.match(/\d[\d,]*(?:\.\d+)?/g))
  }
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

  it('refuses a run without a part that the page shows, and a page without marks', () => {
    expect(() => fillPage(page, { ...RUN, parts: [] })).to.throw(BenchFailure, 'no part `start`')
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
