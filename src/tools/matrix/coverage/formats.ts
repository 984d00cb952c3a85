/** Coverage as a report: first what has no expectation, then the figures. */
import { formatsOf, type Paragraph, section } from '../../../present/report.ts'
import { percentText } from '../../../present/text.ts'
import type { CoverageCell, UnaskedCell } from '../cells/survey.ts'
import { leftOutLines } from '../predict/expectations-met.ts'
import { type Coverage, type CoveredPart, percentOf } from './coverage.ts'
import { coveragePage, type Figure, type MissingParts } from './page.ts'

const DEPENDS = { all: 'an expectation depends on each', missing: 'that no expectation depends on' }
const SHOWS = { all: 'expectations show each both ways', missing: 'that no expectations show both ways' }

/** The parts of a policy that an expectation can depend on, with what is said of covered ones and of the others. */
const PARTS = [
  { key: 'rules', name: 'Rules', said: DEPENDS },
  { key: 'terms', name: 'Terms', said: SHOWS },
  { key: 'results', name: 'Right sides', said: SHOWS },
  { key: 'relations', name: 'Relations', said: DEPENDS },
  { key: 'views', name: 'Views', said: DEPENDS },
] as const

export const COVERAGE_FORMATS = formatsOf((coverage: Coverage) => {
  const { cells, unasked, mistakes, unmet, unpredictable } = coverage
  const missing = PARTS.map(({ key, name, said }): MissingParts => {
    const rows = missingOf(coverage[key]).map(({ place, text }) => [place, text])
    return { title: `${name} ${said.missing}`, all: `${name}: ${said.all}.`, rows }
  })
  const unseen: MissingParts = {
    title: 'Rules in which a mistake changes a decision, and no expectation notices it',
    rows: mistakes.map(({ place, text, operators }) => [place, text, operators.join(', ')]),
  }
  const parts = [...missing, unseen]
  const figures = [{ key: 'cells', name: 'Cells' } as const, ...PARTS].map(({ key, name }) => {
    return figureOf(name.toLowerCase(), coverage[key])
  })
  return {
    text: () => [
      section('Cells without an expectation', rowLines(missingOf(cells))),
      section("Cells that can't be asked", unaskedLines(unasked)),
      ...parts.map(({ title, rows }) => section(title, rows.map(partLine))),
      leftOutLines({ ...coverage, unasked: 0 }),
      figureLines(figures, unasked.length),
    ],
    /** The shape is in docs/schemas/matrix-coverage.schema.json. */
    json: () => {
      const measures = PARTS.map(({ key }) => [key, measured<CoveredPart>(coverage[key])])
      return { cells: measured(cells), unasked, ...Object.fromEntries(measures), mistakes, unmet, unpredictable }
    },
    html: () => coveragePage(coverage, figures, parts),
  }
})

function missingOf<T extends { readonly covered: boolean }>(parts: readonly T[]): readonly T[] {
  return parts.filter(({ covered }) => !covered)
}

function figureOf(name: string, parts: readonly { readonly covered: boolean }[]): Figure {
  const share = `${parts.length - missingOf(parts).length} of ${parts.length}`
  return { name, percent: percentText(percentOf(parts)), share }
}

function figureLines(figures: readonly Figure[], unasked: number): Paragraph {
  const more = unasked > 0 ? `, and ${unasked} that can't be asked` : ''
  return figures.map(({ name, percent, share }, i) => {
    return `${name.padEnd(11)} ${percent.padStart(5)} %  ${share}${i === 0 ? more : ''}`
  })
}

function partLine([place, text, operators]: readonly string[]): string {
  return `${place}  ${text}${operators === undefined ? '' : `: ${operators}`}`
}

/** Once for each reason. */
function unaskedLines(cells: readonly UnaskedCell[]): readonly string[] {
  return [...Map.groupBy(cells, ({ why }) => why)].flatMap(([why, some]) => [...rowLines(some), `  ${why}`])
}

function rowLines(cells: readonly Omit<CoverageCell, 'covered' | 'answer'>[]): readonly string[] {
  const rows = Map.groupBy(cells, ({ method, path, object }) => `${method} ${path} (${object})`)
  return [...rows].map(([row, some]) => `${row}: ${some.map(({ column }) => column).join(', ')}`)
}

function measured<T extends { readonly covered: boolean }>(parts: readonly T[]) {
  const missing = missingOf(parts).map(({ covered, ...part }) => part)
  return { total: parts.length, covered: parts.length - missing.length, percent: percentOf(parts), missing }
}
