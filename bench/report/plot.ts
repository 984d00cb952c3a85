/** One plot: a line a subject, with a bar (or, where sizes differ by orders of magnitude, a dot) for each series. */
import type { Sample } from './result.ts'
import { least, median, most } from './statistics.ts'
import { bar, dot, line, svg, text } from './svg.ts'

export interface Plot {
  readonly title: string
  /** `log` draws dots, because a bar has no beginning there. */
  readonly scale: 'linear' | 'log'
  readonly series: readonly string[]
  readonly lines: readonly PlotLine[]
  /** A target, as a dashed line. */
  readonly bound?: { readonly value: number; readonly label: string } | undefined
}

interface PlotLine {
  readonly label: string
  /** In the order of the series; empty where nothing was measured. */
  readonly samples: readonly Sample[]
}

const WIDTH = 860
const LEFT = 260
const RIGHT = 110
const TOP = 74
const THICK = 14

interface Axis {
  readonly ticks: readonly number[]
  at(value: number): number
}

export function drawPlot(plot: Plot): string {
  const axis = plot.scale === 'linear' ? linearAxis(plot) : logAxis(plot)
  const step = plot.series.length * THICK + 10
  const bottom = TOP + plot.lines.length * step
  const marks = plot.lines.flatMap((one, i) => drawLine(plot, one, axis, TOP + i * step))
  const frame = [text(8, 20, plot.title, { style: 'title' }), ...legend(plot.series), ...grid(axis, bottom)]
  return svg(WIDTH, bottom + 28, plot.title, [...frame, ...marks, ...boundMark(plot, axis, bottom)])
}

function legend(series: readonly string[]): readonly string[] {
  if (series.length < 2) return []
  return series.flatMap((name, i) => [dot(LEFT + i * 190, 38, i), text(LEFT + i * 190 + 10, 42, name)])
}

function grid({ ticks, at }: Axis, bottom: number): readonly string[] {
  return ticks.flatMap((tick) => [
    line([at(tick), TOP - 6], [at(tick), bottom], 'grid'),
    text(at(tick), bottom + 18, figure(tick), { anchor: 'middle', style: 'quiet' }),
  ])
}

function drawLine(plot: Plot, { label, samples }: PlotLine, axis: Axis, top: number): readonly string[] {
  const middle = top + (plot.series.length * THICK) / 2
  const marks = samples.flatMap((sample, i) =>
    sample.length === 0 ? [] : mark(plot, axis, sample, top + i * THICK, i),
  )
  return [text(LEFT - 10, middle + 4, label, { anchor: 'end' }), ...marks]
}

/** The median, the least and the most of the rounds, and the median as a number. */
function mark({ scale }: Plot, axis: Axis, sample: Sample, top: number, series: number): readonly string[] {
  const [x, from, to] = [median(sample), least(sample), most(sample)].map((value) => axis.at(value))
  if (x === undefined || from === undefined || to === undefined) return []
  const y = top + THICK / 2
  const shape = scale === 'linear' ? bar(LEFT, top + 1, x - LEFT, THICK - 3, series) : dot(x, y, series)
  const number = text(Math.max(to, x) + 8, y + 4, figure(median(sample)), { style: 'quiet' })
  return [shape, line([from, y], [to, y], 'spread'), number]
}

function boundMark({ bound }: Plot, axis: Axis, bottom: number): readonly string[] {
  if (!bound || !Number.isFinite(bound.value)) return []
  const x = axis.at(bound.value)
  return [
    line([x, TOP - 8], [x, bottom], 'bound'),
    text(x, TOP - 12, bound.label, { anchor: 'middle', style: 'boundText' }),
  ]
}

function linearAxis(plot: Plot): Axis {
  const highest = most(valuesOf(plot))
  const rough = highest / 5
  const size = 10 ** Math.floor(Math.log10(rough))
  const step = ([1, 2, 5, 10].find((factor) => factor * size >= rough) ?? 10) * size
  const ticks = Array.from({ length: Math.floor(highest / step) + 1 }, (_, i) => i * step)
  return { ticks, at: (value) => LEFT + (value / highest) * (WIDTH - LEFT - RIGHT) }
}

function logAxis(plot: Plot): Axis {
  const values = valuesOf(plot).filter((value) => value > 0)
  const first = Math.floor(Math.log10(least(values)))
  const last = Math.max(first + 1, Math.ceil(Math.log10(most(values))))
  const ticks = Array.from({ length: last - first + 1 }, (_, i) => 10 ** (first + i))
  const share = (value: number) => (Math.log10(Math.max(value, 10 ** first)) - first) / (last - first)
  return { ticks, at: (value) => LEFT + share(value) * (WIDTH - LEFT - RIGHT) }
}

function valuesOf({ lines, bound }: Plot): readonly number[] {
  const values = lines.flatMap(({ samples }) => samples.flat())
  return bound && Number.isFinite(bound.value) ? [...values, bound.value] : values
}

function figure(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)))
}
