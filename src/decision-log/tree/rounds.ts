/** Work that a server does again and again beside its requests, one round at a time, and once more at its end. */

interface RoundsOptions {
  /** Must end when the signal says so. */
  readonly round: (signal: AbortSignal) => Promise<void>
  readonly failed: (error: unknown) => void
  readonly everyMs: number
}

/** Soon after the start, when the first records are signed. */
const FIRST_MS = 5000
const LONGEST_MS = 30_000
/** A server that stops doesn't wait long for others. */
const LAST_MS = 3000

export function startRounds({ round, failed, everyMs }: RoundsOptions): { close(): Promise<void> } {
  const stopping = new AbortController()
  let running = Promise.resolve()
  const next = () => {
    running = round(AbortSignal.any([stopping.signal, AbortSignal.timeout(LONGEST_MS)])).then(
      () => later(everyMs),
      (error: unknown) => {
        if (!stopping.signal.aborted) failed(error)
        later(everyMs)
      },
    )
  }
  let timer: NodeJS.Timeout | undefined
  const later = (ms: number) => {
    if (!stopping.signal.aborted) timer = setTimeout(next, ms).unref()
  }
  later(Math.min(FIRST_MS, everyMs))
  return {
    async close() {
      stopping.abort()
      clearTimeout(timer)
      await running
      await round(AbortSignal.timeout(LAST_MS)).catch(failed)
    },
  }
}
