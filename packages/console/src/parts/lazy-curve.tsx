/** A curve over time, and its figures for those who don't see it. uPlot loads with the first one. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { CurveData } from './curve.ts'

export function LazyCurve({ label, seconds, values }: CurveData & { readonly label: string }) {
  const place = useRef<HTMLDivElement>(null)
  const [isLost, setLost] = useState(false)
  useEffect(() => {
    const into = place.current
    if (!into) return
    let remove = () => {}
    let isGone = false
    import('./curve.ts').then(
      ({ drawCurve }) => {
        if (!isGone) remove = drawCurve(into, { seconds, values })
      },
      () => setLost(true),
    )
    return () => {
      isGone = true
      remove()
    }
  }, [JSON.stringify(values)])
  const most = Math.max(0, ...values)
  return (
    <figure class="curve" aria-label={`${label}: at most ${most} in a minute`}>
      <div ref={place} aria-hidden="true" />
      {isLost && <figcaption>The curve can't be loaded; reload.</figcaption>}
    </figure>
  )
}
