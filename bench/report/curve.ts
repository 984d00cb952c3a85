/** One plot of cost against size: how many times dearer than at the least size, on logarithmic axes, a line a quantity. */
import type { Growth } from './fit.ts'
import { dot, line, svg, text } from './svg.ts'
import { powerText } from './table.ts'

const WIDTH = 860
const HEIGHT = 420
const [LEFT, RIGHT, BOTTOM] = [70, 45, 50]

interface Scale {
  readonly ticks: readonly number[]
  at(value: number): number
}

export function drawCurves(title: string, growths: readonly Growth[]): string {
  const top = 44 + growths.length * 18
  const lines = growths.map(({ points }) => {
    const [first] = points
    return points.map(({ size, value }) => ({ size, times: value / (first?.value ?? value) }))
  })
  const all = lines.flat()
  const x = scaleOf(
    all.map(({ size }) => size),
    LEFT,
    WIDTH - RIGHT,
  )
  const y = scaleOf([1, ...all.map(({ times }) => times)], HEIGHT - BOTTOM, top)
  const grid = [
    ...x.ticks.flatMap((tick) => [
      line([x.at(tick), top], [x.at(tick), HEIGHT - BOTTOM], 'grid'),
      text(x.at(tick), HEIGHT - BOTTOM + 18, tick.toLocaleString('en'), { anchor: 'middle', style: 'quiet' }),
    ]),
    ...y.ticks.flatMap((tick) => [
      line([LEFT, y.at(tick)], [WIDTH - RIGHT, y.at(tick)], 'grid'),
      text(LEFT - 8, y.at(tick) + 4, `${tick} x`, { anchor: 'end', style: 'quiet' }),
    ]),
  ]
  const legend = growths.flatMap(({ quantity, fit }, i) => [
    dot(LEFT + 6, 40 + i * 18, i),
    text(LEFT + 18, 44 + i * 18, `${quantity}: ${powerText(fit)}`),
  ])
  const curves = lines.flatMap((points, series) =>
    points.flatMap(({ size, times }, i) => {
      const [at, before] = [[x.at(size), y.at(times)] as const, points[i - 1]]
      const from = before && ([x.at(before.size), y.at(before.times)] as const)
      return [...(from ? [line(from, at, `line${series}`)] : []), dot(at[0], at[1], series)]
    }),
  )
  const axis = text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, growths[0]?.of ?? '', { anchor: 'middle' })
  return svg(WIDTH, HEIGHT, title, [text(8, 20, title, { style: 'title' }), ...grid, ...legend, ...curves, axis])
}

/** Powers of ten around the values, at least two of them; pixels grow from `from` to `to`. */
function scaleOf(values: readonly number[], from: number, to: number): Scale {
  const first = Math.floor(Math.log10(Math.min(...values)) + 1e-9)
  const last = Math.max(first + 1, Math.ceil(Math.log10(Math.max(...values)) - 1e-9))
  const ticks = Array.from({ length: last - first + 1 }, (_, i) => Number((10 ** (first + i)).toPrecision(1)))
  return { ticks, at: (value) => from + ((Math.log10(value) - first) / (last - first)) * (to - from) }
}
