/** Coverage as text, JSON and a page. */
import { jsonText, percentText } from '../../../present/text.ts'
import type { CoverageCell, UnaskedCell } from '../cells/survey.ts'
import { leftOutLines } from '../predict/expectations-met.ts'
import { type Coverage, type CoveredPart, percentOf, type UnseenMistakes } from './coverage.ts'
import { coveragePage } from './page.ts'

export const COVERAGE_FORMATS = { text: toText, json: toJson, html: coveragePage } as const

/** First the parts without an expectation, then the figures. */
function toText(coverage: Coverage): string {
  const { cells, unasked, rules, terms, results, relations, views } = coverage
  return [
    ...cellLines(cells),
    ...unaskedLines(unasked),
    ...partLines('Rules that no expectation depends on', rules),
    ...partLines('Terms that no expectations show both ways', terms),
    ...partLines('Right sides that no expectations show both ways', results),
    ...partLines('Relations that no expectation depends on', relations),
    ...partLines('Views that no expectation depends on', views),
    ...mistakeLines(coverage.mistakes),
    ...leftOutLines({ ...coverage, unasked: 0 }),
    `${figure('cells', cells)}${unasked.length > 0 ? `, and ${unasked.length} that can't be asked` : ''}`,
    figure('rules', rules),
    figure('terms', terms),
    figure('right sides', results),
    figure('relations', relations),
    figure('views', views),
    '',
  ].join('\n')
}

function cellLines(cells: readonly CoverageCell[]): readonly string[] {
  const missing = cells.filter(({ covered }) => !covered)
  return missing.length === 0 ? [] : ['Cells without an expectation', ...rowLines(missing), '']
}

/** Once for each reason. */
function unaskedLines(cells: readonly UnaskedCell[]): readonly string[] {
  if (cells.length === 0) return []
  const reasons = [...Map.groupBy(cells, ({ why }) => why)]
  const lines = reasons.flatMap(([why, some]) => [...rowLines(some), `    ${why}`])
  return ["Cells that can't be asked", ...lines, '']
}

function rowLines(cells: readonly Omit<CoverageCell, 'covered' | 'answer'>[]): readonly string[] {
  const rows = Map.groupBy(cells, ({ method, path, object }) => `${method} ${path} (${object})`)
  return [...rows].map(([row, some]) => `  ${row}: ${some.map(({ column }) => column).join(', ')}`)
}

function partLines(title: string, parts: readonly CoveredPart[]): readonly string[] {
  const missing = parts.filter(({ covered }) => !covered)
  if (missing.length === 0) return []
  return [title, ...missing.map(({ place, text }) => `  ${place}  ${text}`), '']
}

function mistakeLines(mistakes: readonly UnseenMistakes[]): readonly string[] {
  if (mistakes.length === 0) return []
  const title = 'Rules in which a mistake changes a decision, and no expectation notices it'
  return [title, ...mistakes.map(({ place, text, operators }) => `  ${place}  ${text}: ${operators.join(', ')}`), '']
}

function figure(name: string, parts: readonly { readonly covered: boolean }[]): string {
  const covered = parts.filter((part) => part.covered).length
  return `${name.padEnd(11)} ${percentText(percentOf(parts)).padStart(5)} %  ${covered} of ${parts.length}`
}

/** The shape is in docs/schemas/matrix-coverage.schema.json. */
function toJson({ cells, rules, terms, results, relations, views, ...rest }: Coverage): string {
  const { unasked, mistakes, unmet, unpredictable } = rest
  return jsonText({
    cells: measured(cells),
    unasked,
    rules: measured(rules),
    terms: measured(terms),
    results: measured(results),
    relations: measured(relations),
    views: measured(views),
    mistakes,
    unmet,
    unpredictable,
  })
}

function measured<T extends { readonly covered: boolean }>(parts: readonly T[]) {
  const missing = parts.filter(({ covered }) => !covered).map(({ covered, ...part }) => part)
  return { total: parts.length, covered: parts.length - missing.length, percent: percentOf(parts), missing }
}
