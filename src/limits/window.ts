/**
 * The window arithmetic that every backend keeps to, in whole microseconds. It counts nothing itself.
 *
 * A window is cut into SUB_WINDOWS sub-windows of `step` microseconds; time t lies in the sub-window numbered
 * floor(t / step). A request is counted in the sub-window of its admission, and a sub-window counts as long as the
 * present one is at most SUB_WINDOWS further on. So a request counts for at least the window (closed at both ends) and
 * for at most one sub-window longer: refusals may come that much early, admissions never.
 *
 * When the clock reads the sub-window before the newest count, that newest one stays the present one. When it stepped
 * back further, or the length of the window has changed, all that is counted is folded into the present sub-window:
 * nothing is forgotten too soon, and at most a window and a sub-window from then on is lost.
 */
import type { Admission, Quota, QuotaState } from './limiter.ts'

export const SUB_WINDOWS = 20

/** Sub-windows that count at a time: the present one and SUB_WINDOWS before it. */
export const COUNTED = SUB_WINDOWS + 1

/** Length of a sub-window in microseconds: whole, because a window is whole milliseconds. */
export function stepMicros({ windowMs }: Quota): number {
  return (windowMs * 1000) / SUB_WINDOWS
}

/** What a backend knows of one quota once it has decided. */
export interface Usage {
  readonly quota: Quota
  /** Requests that count now. */
  readonly used: number
  /** When one more than now would be admitted, in microseconds of the backend's clock; 0 if nothing counts. */
  readonly freesAtMicros: number
}

/** The answer in the limiter's terms. */
export function describeAdmission(admitted: boolean, nowMicros: number, usages: readonly Usage[]): Admission {
  const quotas = usages.map((usage) => describeQuota(admitted, nowMicros, usage))
  return { admitted, quotas, retryAfterMs: Math.max(0, ...quotas.map(waitMs)) }
}

function describeQuota(admitted: boolean, nowMicros: number, { quota, used, freesAtMicros }: Usage): QuotaState {
  return {
    name: quota.name,
    remaining: Math.max(0, quota.allow - used),
    resetMs: Math.max(0, Math.ceil((freesAtMicros - nowMicros) / 1000)),
    exceeded: !admitted && used >= quota.allow,
  }
}

function waitMs({ exceeded, resetMs }: QuotaState): number {
  return exceeded ? resetMs : 0
}
