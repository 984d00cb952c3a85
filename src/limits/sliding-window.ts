/** The counts of one key in memory, as a ring of sub-windows. Times are whole microseconds. */
import type { Admission, Quota } from './limiter.ts'

export class SlidingWindow {
  private step: number
  /** The number of the current sub-window. */
  private index: number
  /** Requests admitted in sub-window i at i modulo COUNTED. */
  private readonly counts: number[] = new Array<number>(COUNTED).fill(0)
  /** Requests that count at the time of the last `moveTo`. Only the window itself changes it. */
  used = 0

  constructor(step: number, nowMicros: number) {
    this.step = step
    this.index = Math.floor(nowMicros / step)
  }

  /** Nothing counts from this time on. */
  get endsAtMicros(): number {
    return (this.index + COUNTED) * this.step
  }

  moveTo(step: number, nowMicros: number): void {
    const passed = Math.floor(nowMicros / this.step) - this.index
    if (passed > 0) this.advance(passed)
    if (step !== this.step || passed < -1) this.fold(step, Math.floor(nowMicros / step))
  }

  /** Counts one more request, or so many bytes, in the current sub-window. */
  count(more = 1): void {
    this.counts[this.index % COUNTED] = this.at(this.index) + more
    this.used += more
  }

  /** The time at which one more request would be admitted than now; 0 if nothing counts. */
  freesAtMicros(allow: number): number {
    let excess = Math.max(0, this.used - Math.max(1, allow))
    for (let index = Math.max(0, this.index - SUB_WINDOWS); index <= this.index; index++) {
      excess -= this.at(index)
      if (excess < 0) return (index + COUNTED) * this.step
    }
    return 0
  }

  private fold(step: number, index: number): void {
    const { used } = this
    this.step = step
    this.index = index
    this.used = 0
    this.counts.fill(0)
    this.count(used)
  }

  private advance(passed: number): void {
    const present = this.index + passed
    for (let next = Math.max(this.index + 1, present - SUB_WINDOWS); next <= present; next++) {
      this.used -= this.at(next)
      this.counts[next % COUNTED] = 0
    }
    this.index = present
  }

  private at(index: number): number {
    return this.counts[index % COUNTED] ?? 0
  }
}

/**
 * The window arithmetic that every backend follows, in whole microseconds.
 *
 * A window is cut into SUB_WINDOWS sub-windows of `step` microseconds; time t lies in the sub-window numbered floor(t /
 * step). A request is counted in the sub-window of its admission, and a sub-window counts as long as the current one is
 * at most SUB_WINDOWS later. So a request counts for at least the window (closed at both ends) and for at most one
 * sub-window longer: refusals may come that much early, admissions never.
 *
 * If the clock steps back into the sub-window before the newest count, the newest sub-window stays the current one. If
 * it steps back further, or the length of the window has changed, all counts are added to the current sub-window: no
 * count ends too early, and all end after at most a window and a sub-window.
 */
export const SUB_WINDOWS = 20

/** The number of sub-windows that count at a time: the current one and SUB_WINDOWS before it. */
export const COUNTED = SUB_WINDOWS + 1

/** Length of a sub-window in microseconds: whole, because a window is whole milliseconds. */
export function stepMicros({ windowMs }: Pick<Quota, 'windowMs'>): number {
  return (windowMs * 1000) / SUB_WINDOWS
}

/** The state of one quota after a backend has decided. */
export interface QuotaUsage {
  readonly quota: Quota
  /** Requests that count now. */
  readonly used: number
  /**
   * The time at which one more request would be admitted than now, in microseconds of the backend's clock; 0 if nothing
   * counts.
   */
  readonly freesAtMicros: number
}

/** The answer in the limiter's terms. */
export function describeAdmission(admitted: boolean, nowMicros: number, usages: readonly QuotaUsage[]): Admission {
  const quotas = usages.map(({ quota: { name, allow }, used, freesAtMicros }) => {
    const resetMs = Math.max(0, Math.ceil((freesAtMicros - nowMicros) / 1000))
    const exceeded = !admitted && used >= allow
    return { name, remaining: Math.max(0, allow - used), resetMs, exceeded }
  })
  let retryAfterMs = 0
  for (const { exceeded, resetMs } of quotas) if (exceeded) retryAfterMs = Math.max(retryAfterMs, resetMs)
  return { admitted, quotas, retryAfterMs }
}
