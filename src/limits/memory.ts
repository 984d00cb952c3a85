/** The limiter of a single process: windows by key, in memory. sliding-window.ts defines what a window counts. */
import type { Admission, Limiter, Quota } from './limiter.ts'
import { describeAdmission, SlidingWindow, stepMicros } from './sliding-window.ts'

/**
 * Each request checks this many stored keys and drops those that no longer count, so that keys are dropped faster than
 * they are added.
 */
const SWEPT_PER_KEY = 2

export interface MemoryLimiter extends Limiter {
  admit(quotas: readonly Quota[]): Admission
  /** The number of stored keys: those that count, and at most about as many that wait to be dropped. */
  keys(): number
}

interface MemoryOptions {
  /** Milliseconds, 0 or more; monotonic. */
  readonly now?: () => number
}

/**
 * Each key takes a constant amount of memory, and a key that no longer counts is dropped. The keys of one call must
 * differ.
 */
export function createMemoryLimiter({ now = () => performance.now() }: MemoryOptions = {}): MemoryLimiter {
  const windows = new Map<string, SlidingWindow>()
  const sweep = createSweep(windows)

  function admit(quotas: readonly Quota[]): Admission {
    const nowMicros = Math.floor(now() * 1000)
    const asked = quotas.map((quota) => ({ quota, window: present(windows, quota, nowMicros) }))
    const admitted = asked.every(({ quota, window }) => window.used < quota.allow)
    if (admitted) {
      for (const { quota, window } of asked) {
        window.count()
        windows.set(quota.key, window)
      }
    }
    sweep(quotas.length * SWEPT_PER_KEY, nowMicros)
    const usages = asked.map(({ quota, window }) => {
      return { quota, used: window.used, freesAtMicros: window.freesAtMicros(quota.allow) }
    })
    return describeAdmission(admitted, nowMicros, usages)
  }

  return {
    admit,
    keys: () => windows.size,
    state: () => 'ok',
    close: async () => windows.clear(),
  }
}

function present(windows: ReadonlyMap<string, SlidingWindow>, quota: Quota, nowMicros: number): SlidingWindow {
  const known = windows.get(quota.key)
  if (known === undefined) return new SlidingWindow(stepMicros(quota), nowMicros)
  known.moveTo(stepMicros(quota), nowMicros)
  return known
}

/** Iterates over the windows again and again, a few for each call, so that no request waits for a long sweep. */
function createSweep(windows: Map<string, SlidingWindow>): (looks: number, nowMicros: number) => void {
  let round = windows.entries()

  return (looks, nowMicros) => {
    for (let look = 0; look < looks; look++) {
      const next = round.next()
      if (next.done) {
        round = windows.entries()
        return
      }
      const [key, window] = next.value
      if (window.endsAtMicros <= nowMicros) windows.delete(key)
    }
  }
}
