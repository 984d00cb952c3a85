/** Results as Markdown tables, which read as well on a terminal. */
import type { PartResult, Row, Sample, Target } from './result.ts'
import { judge, least, median, most } from './statistics.ts'

export function partText(part: PartResult): string {
  const blocks = [rowsTable(part.rows), targetsTable(part.targets), ...part.leftOut.map((line) => `Left out: ${line}`)]
  return blocks.filter((block) => block !== '').join('\n\n')
}

/** A column a quantity that some row has; median (least - most). */
export function rowsTable(rows: readonly Row[]): string {
  const quantities = [...new Set(rows.flatMap((row) => Object.keys(row.quantities)))]
  const lines = rows.map((row) => [row.subject, ...quantities.map((name) => cell(row.quantities[name] ?? []))])
  return table(['', ...quantities], lines)
}

export function targetsTable(targets: readonly Target[]): string {
  const lines = targets.map((target) => {
    const { met, missedBy } = judge(target)
    const bound = target.atLeast === undefined ? `at most ${target.atMost}` : `at least ${target.atLeast}`
    return [target.what, bound, cell(target.values), met ? 'met' : missed(missedBy)]
  })
  return table(['target', 'bound', 'measured', 'verdict'], lines)
}

function missed(share: number): string {
  if (!Number.isFinite(share)) return 'without a value'
  return share < 1 ? `missed by ${(share * 100).toPrecision(2)} %` : `missed: ${number(share + 1)} times the bound`
}

function cell(sample: Sample): string {
  if (sample.length === 0) return '-'
  if (sample.length === 1) return number(median(sample))
  return `${number(median(sample))} (${number(least(sample))} - ${number(most(sample))})`
}

/** Three digits that count. */
function number(value: number): string {
  if (!Number.isFinite(value)) return '-'
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)))
}

function table(heads: readonly string[], lines: readonly (readonly string[])[]): string {
  if (lines.length === 0) return ''
  const widths = heads.map((head, i) => Math.max(head.length, ...lines.map((line) => line[i]?.length ?? 0), 3))
  const row = (cells: readonly string[]) =>
    `| ${cells.map((text, i) => (i === 0 ? text.padEnd(widths[i] ?? 0) : text.padStart(widths[i] ?? 0))).join(' | ')} |`
  const rule = `|${widths.map((width, i) => (i === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`
  return [row(heads), rule, ...lines.map(row)].join('\n')
}
