/** Coverage for people: what nothing is said about, then the figures. */
import { leftOutLines } from '../left-out.ts'
import { type Coverage, type CoverageCell, type CoveredPart, percentOf } from './coverage.ts'

export function formatText(coverage: Coverage): string {
  const { cells, rules, relations, views } = coverage
  return [
    ...cellLines(cells),
    ...partLines('Rules that no expectation depends on', rules),
    ...partLines('Relations that no expectation depends on', relations),
    ...partLines('Views that no expectation depends on', views),
    ...leftOutLines(coverage),
    figure('cells', cells),
    figure('rules', rules),
    figure('relations', relations),
    figure('views', views),
    '',
  ].join('\n')
}

function cellLines(cells: readonly CoverageCell[]): readonly string[] {
  const missing = cells.filter(({ covered }) => !covered)
  if (missing.length === 0) return []
  const rows = Map.groupBy(missing, ({ method, path, object }) => `${method} ${path} (${object})`)
  const lines = [...rows].map(([row, some]) => `  ${row}: ${some.map(({ column }) => column).join(', ')}`)
  return ['Cells without an expectation', ...lines, '']
}

function partLines(title: string, parts: readonly CoveredPart[]): readonly string[] {
  const missing = parts.filter(({ covered }) => !covered)
  if (missing.length === 0) return []
  return [title, ...missing.map(({ place, text }) => `  ${place}  ${text}`), '']
}

function figure(name: string, parts: readonly { readonly covered: boolean }[]): string {
  const covered = parts.filter((part) => part.covered).length
  // Never rounded up to a threshold that isn't reached.
  const percent = Math.floor(percentOf(parts) * 10) / 10
  return `${name.padEnd(10)} ${String(percent).padStart(5)} %  ${covered} of ${parts.length}`
}
