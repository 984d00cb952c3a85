/** Which plots are made of which part. */
import { drawCurves } from './curve.ts'
import { growthOf } from './fit.ts'
import { drawPlot, type Plot } from './plot.ts'
import type { PartResult, Row } from './result.ts'
import { median } from './statistics.ts'

interface PlotFile {
  /** Without its ending. */
  readonly name: string
  readonly title: string
  /** As SVG. */
  draw(): string
}

const CPU = ['CPU us/req', 'PostgreSQL CPU us/req']

type Named = { readonly name: string; readonly plot: Plot }
type Draw = (part: PartResult) => readonly Named[]

const DRAW: Readonly<Record<string, Draw>> = {
  'guarded-get': (part) => [{ name: part.id, plot: perSecond('Guarded GET, requests per second', part.rows, 0.4) }],
  'redis-limits': (part) => [
    { name: part.id, plot: perSecond('Guarded GET with limits in Redis, requests per second', part.rows, 0.3) },
  ],
  budget: (part) => [
    { name: part.id, plot: linear('Where the time of a guarded GET goes, us of CPU', part.rows, ['us/req']) },
  ],
  store: storePlots,
  postgres: (part) => [{ name: part.id, plot: linear('On PostgreSQL, us of CPU', part.rows, CPU) }],
  decisions: (part) => [
    { name: part.id, plot: { ...log('A decision, us', part.rows, / us$/), bound: { value: 0.3, label: '0.3 us' } } },
  ],
  limiters: (part) => [
    { name: part.id, plot: linear('Limiter on Redis, operations per second', part.rows, ['ops/s']) },
  ],
  reload: (part) => [{ name: part.id, plot: log('Reload under load, ms', part.rows, /^(ms|longest)/) }],
  start: (part) => [
    { name: part.id, plot: linear('Start, ms to the first answer', part.rows, ['ms to first answer']) },
    { name: 'memory', plot: linear('Resident memory, MiB', part.rows, ['RSS MiB, started', 'RSS MiB, after load']) },
  ],
}

export function plotsOf(part: PartResult): readonly PlotFile[] {
  const drawable = { ...part, rows: part.rows.filter(({ quantities }) => Object.keys(quantities).length > 0) }
  if (drawable.rows.length === 0) return []
  const plots = DRAW[part.id]?.(drawable) ?? []
  return [...plots.map(({ name, plot }) => ({ name, title: plot.title, draw: () => drawPlot(plot) })), ...curves(part)]
}

/** One for each thing that grows. */
function curves({ id, rows }: PartResult): readonly PlotFile[] {
  return [...Map.groupBy(growthOf(rows), ({ of }) => of)].map(([of, growths]) => {
    const title = `Cost by number of ${of}, as a multiple of the cost at the least number`
    return { name: `${id}-${of}`, title, draw: () => drawCurves(title, growths) }
  })
}

/** With the target as a share of the first line, which is the bare server. */
function perSecond(title: string, rows: readonly Row[], share: number): Plot {
  const value = median(rows[0]?.quantities['req/s'] ?? []) * share
  return { ...linear(title, rows, ['req/s']), bound: { value, label: `${share} of bare` } }
}

function storePlots({ rows }: PartResult): readonly Named[] {
  const isCreate = ({ subject }: Row) => subject.startsWith('create')
  const others = rows.filter((row) => !isCreate(row))
  return [
    { name: 'lists', plot: linear('Out of 1,000,000 notes, requests per second', others, ['req/s']) },
    { name: 'creates', plot: linear('Durable creates per second', rows.filter(isCreate), ['req/s']) },
  ]
}

function linear(title: string, rows: readonly Row[], series: readonly string[]): Plot {
  return { title, scale: 'linear', series, lines: linesOf(rows, series) }
}

function log(title: string, rows: readonly Row[], wanted: RegExp): Plot {
  const series = [...new Set(rows.flatMap(({ quantities }) => Object.keys(quantities)))].filter((name) =>
    wanted.test(name),
  )
  return { title, scale: 'log', series, lines: linesOf(rows, series) }
}

function linesOf(rows: readonly Row[], series: readonly string[]): Plot['lines'] {
  return rows.map(({ subject, quantities }) => ({
    label: subject,
    samples: series.map((name) => quantities[name] ?? []),
  }))
}
