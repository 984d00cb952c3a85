/** Results as Markdown tables, which read as well on a terminal. */
import { type Growth, growthOf } from './fit.ts'
import type { PartResult, Row, Sample, Target } from './result.ts'
import { judge, least, median, most, quantile } from './statistics.ts'

export function partText(part: PartResult): string {
  return blocksText([...measuredTables(part), targetsTable(part.targets), ...leftOutLines(part)])
}

/** Without the targets, which stand on a page of their own. */
export function measuredText(part: PartResult): string {
  return blocksText([...measuredTables(part), ...leftOutLines(part)])
}

function measuredTables({ rows }: PartResult): readonly string[] {
  return [rowsTable(rows), growthTable(growthOf(rows))]
}

function leftOutLines({ leftOut }: PartResult): readonly string[] {
  return leftOut.map((line) => `Left out: ${line}`)
}

function blocksText(blocks: readonly string[]): string {
  return blocks.filter((block) => block !== '').join('\n\n')
}

/** From fewer rounds, quartiles say nothing. */
const FEWEST_FOR_QUARTILES = 4

/** A column a quantity that some row has: median (first quartile - third), of few rounds median (least - most). */
export function rowsTable(rows: readonly Row[]): string {
  const quantities = [...new Set(rows.flatMap((row) => Object.keys(row.quantities)))]
  const lines = rows.map((row) => [row.subject, ...quantities.map((name) => cell(row.quantities[name] ?? []))])
  return table(['', ...quantities], lines)
}

export function targetsTable(targets: readonly Target[]): string {
  const lines = targets.map((target) => {
    const { met, missedBy } = judge(target)
    const bound = target.atLeast === undefined ? `at most ${target.atMost}` : `at least ${target.atLeast}`
    const { values } = target
    return [target.what, bound, cell(values), rangeOf(values), met ? 'met' : missed(missedBy)]
  })
  return table(['target', 'bound', 'measured', 'range', 'verdict'], lines)
}

/** How each quantity grows with what. */
export function growthTable(growths: readonly Growth[]): string {
  const lines = growths.map(({ of, quantity, points, fit }) => {
    const [first, last] = [points[0], points.at(-1)]
    const sizes = `${first?.size.toLocaleString('en')} to ${last?.size.toLocaleString('en')}`
    return [
      `${quantity}, by ${of}`,
      sizes,
      number((last?.value ?? Number.NaN) / (first?.value ?? 0)),
      exponentText(fit),
    ]
  })
  return table(['grows', 'sizes', 'last / first', 'exponent (95 %)'], lines)
}

/** A wider interval has no growth in it and growth in proportion, so the exponent says nothing. */
const WIDEST = 0.5
const NO_FIT = 'no fit'

/** As a formula, for a plot. */
export function powerText(fit: Growth['fit']): string {
  const exponent = exponentText(fit)
  return exponent === NO_FIT ? NO_FIT : `size ^ ${exponent}`
}

function exponentText(fit: Growth['fit']): string {
  if (!fit) return '-'
  if ((fit.uncertainty ?? 0) > WIDEST) return NO_FIT
  const exponent = fit.exponent.toFixed(3)
  return fit.uncertainty === undefined ? exponent : `${exponent} ± ${fit.uncertainty.toFixed(3)}`
}

function missed(share: number): string {
  if (!Number.isFinite(share)) return 'without a value'
  return share < 1 ? `missed by ${(share * 100).toPrecision(2)} %` : `missed: ${number(share + 1)} times the bound`
}

export function cell(sample: Sample): string {
  if (sample.length === 0) return '-'
  if (sample.length === 1) return number(median(sample))
  const few = sample.length < FEWEST_FOR_QUARTILES
  const [from, to] = few ? [least(sample), most(sample)] : [quantile(sample, 0.25), quantile(sample, 0.75)]
  return `${number(median(sample))} (${number(from)} - ${number(to)})`
}

function rangeOf(sample: Sample): string {
  return sample.length < 2 ? '-' : `${number(least(sample))} - ${number(most(sample))}`
}

/** Three digits that count. */
export function number(value: number): string {
  if (!Number.isFinite(value)) return '-'
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)))
}

export function table(heads: readonly string[], lines: readonly (readonly string[])[]): string {
  if (lines.length === 0) return ''
  const widths = heads.map((head, i) => Math.max(head.length, ...lines.map((line) => line[i]?.length ?? 0), 3))
  const row = (cells: readonly string[]) =>
    `| ${cells.map((text, i) => (i === 0 ? text.padEnd(widths[i] ?? 0) : text.padStart(widths[i] ?? 0))).join(' | ')} |`
  const rule = `|${widths.map((width, i) => (i === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`
  return [row(heads), rule, ...lines.map(row)].join('\n')
}
