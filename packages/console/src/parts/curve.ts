/** Draws a curve over time with uPlot, in the colours of the page. */
import Plot from 'uplot'

export interface CurveData {
  /** Since 1970, of each value. */
  readonly seconds: readonly number[]
  readonly values: readonly number[]
}

const HEIGHT = 140

/** Returns what removes it. */
export function drawCurve(place: HTMLElement, { seconds, values }: CurveData): () => void {
  const { color } = getComputedStyle(place)
  const axis = { stroke: color, grid: { show: false }, ticks: { show: false } }
  const plot = new Plot(
    {
      width: place.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      cursor: { show: false },
      scales: { y: { range: (_plot, _least, most) => [0, Math.max(1, most)] } },
      axes: [axis, { ...axis, size: 40 }],
      series: [{}, { stroke: color, fill: 'rgb(200 60 50 / 20%)', width: 2, points: { show: false } }],
    },
    [[...seconds], [...values]],
    place,
  )
  const watch = new ResizeObserver(() => plot.setSize({ width: place.clientWidth, height: HEIGHT }))
  watch.observe(place)
  return () => {
    watch.disconnect()
    plot.destroy()
  }
}
