/** The limiter of a single process: windows by key, in memory. sliding-window.ts defines what a window counts. */
import { createHash, randomBytes } from 'node:crypto'
import { monotonicMs } from '../base/time.ts'
import type { Admission, Limiter, Quota } from './limiter.ts'
import { describeAdmission, SlidingWindow, stepMicros } from './sliding-window.ts'

/**
 * Each request checks this many stored keys and drops those that no longer count, so that keys are dropped faster than
 * they are added.
 */
const SWEPT_PER_KEY = 2

/** Each takes some 400 bytes. */
const MOST_KEYS = 200_000

/** The windows for keys beyond those, of each limit. */
const SHARED_WINDOWS = 4096

export interface MemoryLimiter extends Limiter {
  admit(quotas: readonly Quota[]): Admission
  /** The number of stored keys: those that count, and at most about as many that wait to be dropped. */
  keys(): number
}

interface MemoryOptions {
  /** Milliseconds, 0 or more; monotonic. */
  readonly now?: () => number
  readonly mostKeys?: number
}

/**
 * Each key takes a constant amount of memory, and a key that no longer counts is dropped. While too many count, new keys
 * share windows: some of them are refused early, none is admitted more often. The keys of one call must differ, and so
 * must the names of its limits.
 */
export function createMemoryLimiter({ now = monotonicMs, mostKeys = MOST_KEYS }: MemoryOptions = {}): MemoryLimiter {
  const windows = new Map<string, SlidingWindow>()
  const sweep = createSweep(windows)

  function admit(quotas: readonly Quota[]): Admission {
    const nowMicros = Math.floor(now() * 1000)
    const asked: { quota: Quota; key: string; window: SlidingWindow }[] = []
    let admitted = true
    for (const quota of quotas) {
      const key = windows.size < mostKeys || windows.has(quota.key) ? quota.key : sharedKey(quota)
      const window = present(windows, quota, { key, nowMicros })
      asked.push({ quota, key, window })
      admitted &&= window.used < quota.allow
    }
    if (admitted) {
      for (const { key, window } of asked) {
        window.count()
        windows.set(key, window)
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

interface KeyNow {
  readonly key: string
  readonly nowMicros: number
}

function present(windows: ReadonlyMap<string, SlidingWindow>, quota: Quota, { key, nowMicros }: KeyNow): SlidingWindow {
  const step = stepMicros(quota)
  const known = windows.get(key)
  known?.moveTo(step, nowMicros)
  if (known) return known
  const made = new SlidingWindow(step, nowMicros)
  // What the key may have used of a shared window still counts.
  const shared = key === quota.key ? windows.get(sharedKey(quota)) : undefined
  shared?.moveTo(step, nowMicros)
  if (shared) made.count(shared.used)
  return made
}

/** Nobody outside can choose keys that meet in one window. */
const SEED = randomBytes(16)

function sharedKey({ name, key }: Quota): string {
  return `shared ${createHash('sha256').update(SEED).update(key).digest().readUInt16BE() % SHARED_WINDOWS} ${name}`
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
