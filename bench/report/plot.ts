/** One plot: a line a subject, with a bar (or, where sizes differ by orders of magnitude, a dot) for each series. */
import type { Sample } from './result.ts'
import { least, median, most } from './statistics.ts'
import { bar, dot, line, svg, text, widthOf } from './svg.ts'

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
const RIGHT = 110
const THICK = 14
const LEGEND_TOP = 38
const LEGEND_STEP = 18

/** Where the bars are: right of the longest label, and below the legend, which takes as many lines as it needs. */
interface Frame {
  readonly left: number
  readonly top: number
  readonly legend: readonly LegendEntry[]
}

interface LegendEntry {
  readonly name: string
  readonly x: number
  readonly line: number
}

interface Axis {
  readonly ticks: readonly number[]
  at(value: number): number
}

export function drawPlot(plot: Plot): string {
  const frame = frameOf(plot)
  const axis = plot.scale === 'linear' ? linearAxis(plot, frame) : logAxis(plot, frame)
  const step = plot.series.length * THICK + 10
  const bottom = frame.top + plot.lines.length * step
  const marks = plot.lines.flatMap((one, i) => drawLine(plot, one, { axis, frame, top: frame.top + i * step }))
  const around = [text(8, 20, plot.title, { style: 'title' }), ...drawLegend(frame), ...grid(axis, frame, bottom)]
  return svg(WIDTH, bottom + 28, plot.title, [...around, ...marks, ...boundMark(plot, { axis, frame, bottom })])
}

function frameOf({ series, lines }: Plot): Frame {
  const left = Math.ceil(Math.max(...lines.map(({ label }) => widthOf(label)))) + 18
  const legend = series.length < 2 ? [] : legendEntries(series)
  return { left, top: 56 + ((legend.at(-1)?.line ?? -1) + 1) * LEGEND_STEP, legend }
}

/** Left to right, on the next line where the canvas ends. */
function legendEntries(series: readonly string[]): readonly LegendEntry[] {
  const entries: LegendEntry[] = []
  let [x, line] = [12, 0]
  for (const name of series) {
    const width = widthOf(name) + 30
    if (x > 12 && x + width > WIDTH) [x, line] = [12, line + 1]
    entries.push({ name, x, line })
    x += width
  }
  return entries
}

function drawLegend({ legend }: Frame): readonly string[] {
  return legend.flatMap(({ name, x, line: place }, i) => {
    const y = LEGEND_TOP + place * LEGEND_STEP
    return [dot(x, y, i), text(x + 10, y + 4, name)]
  })
}

function grid({ ticks, at }: Axis, { top }: Frame, bottom: number): readonly string[] {
  return ticks.flatMap((tick) => [
    line([at(tick), top - 6], [at(tick), bottom], 'grid'),
    text(at(tick), bottom + 18, figure(tick), { anchor: 'middle', style: 'quiet' }),
  ])
}

interface LinePlace {
  readonly axis: Axis
  readonly frame: Frame
  readonly top: number
}

function drawLine(plot: Plot, { label, samples }: PlotLine, place: LinePlace): readonly string[] {
  const middle = place.top + (plot.series.length * THICK) / 2
  const marks = samples.flatMap((sample, i) =>
    sample.length === 0 ? [] : mark(plot, sample, { ...place, top: place.top + i * THICK }, i),
  )
  return [text(place.frame.left - 10, middle + 4, label, { anchor: 'end' }), ...marks]
}

/** The median, the least and the most of the rounds, and the median as a number. */
function mark({ scale }: Plot, sample: Sample, { axis, frame, top }: LinePlace, series: number): readonly string[] {
  const [x, from, to] = [median(sample), least(sample), most(sample)].map((value) => axis.at(value))
  if (x === undefined || from === undefined || to === undefined) return []
  const y = top + THICK / 2
  const shape = scale === 'linear' ? bar(frame.left, top + 1, x - frame.left, THICK - 3, series) : dot(x, y, series)
  const number = text(Math.max(to, x) + 8, y + 4, figure(median(sample)), { style: 'quiet' })
  return [shape, line([from, y], [to, y], 'spread'), number]
}

interface BoundPlace {
  readonly axis: Axis
  readonly frame: Frame
  readonly bottom: number
}

function boundMark({ bound }: Plot, { axis, frame: { top }, bottom }: BoundPlace): readonly string[] {
  if (!bound || !Number.isFinite(bound.value)) return []
  const x = axis.at(bound.value)
  return [
    line([x, top - 8], [x, bottom], 'bound'),
    text(x, top - 12, bound.label, { anchor: 'middle', style: 'boundText' }),
  ]
}

function linearAxis(plot: Plot, { left }: Frame): Axis {
  const highest = most(valuesOf(plot))
  const rough = highest / 5
  const size = 10 ** Math.floor(Math.log10(rough))
  const step = ([1, 2, 5, 10].find((factor) => factor * size >= rough) ?? 10) * size
  const ticks = Array.from({ length: Math.floor(highest / step) + 1 }, (_, i) => i * step)
  return { ticks, at: (value) => left + (value / highest) * (WIDTH - left - RIGHT) }
}

function logAxis(plot: Plot, { left }: Frame): Axis {
  const values = valuesOf(plot).filter((value) => value > 0)
  const first = Math.floor(Math.log10(least(values)))
  const last = Math.max(first + 1, Math.ceil(Math.log10(most(values))))
  const ticks = Array.from({ length: last - first + 1 }, (_, i) => 10 ** (first + i))
  const share = (value: number) => (Math.log10(Math.max(value, 10 ** first)) - first) / (last - first)
  return { ticks, at: (value) => left + share(value) * (WIDTH - left - RIGHT) }
}

function valuesOf({ lines, bound }: Plot): readonly number[] {
  const values = lines.flatMap(({ samples }) => samples.flat())
  return bound && Number.isFinite(bound.value) ? [...values, bound.value] : values
}

function figure(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)))
}
