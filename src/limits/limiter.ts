/**
 * The promise of a rate limiter: no window of the given length admits more than `allow` requests. The window is cut
 * into sub-windows and the oldest is counted whole, so a limiter may refuse up to one sub-window early, never late.
 */

export interface Quota {
  /** The limit's name in limits.yaml. */
  readonly name: string
  /** The key of a count: unique for each limit and caller. */
  readonly key: string
  /** Who is counted. Counts of one caller lie together in a Redis Cluster. */
  readonly caller?: string
  /** The most requests admitted in any window. */
  readonly allow: number
  readonly windowMs: number
}

export interface QuotaState {
  readonly name: string
  /** Requests that would be admitted now, after this one. */
  readonly remaining: number
  /** Milliseconds until some requests stop counting, so that more are admitted. */
  readonly resetMs: number
  /** This quota refused the request. */
  readonly exceeded: boolean
}

export interface Admission {
  readonly admitted: boolean
  /** In the order of the requested quotas. */
  readonly quotas: readonly QuotaState[]
  /** Milliseconds after which the request could be admitted, if nobody else asks; 0 when admitted. */
  readonly retryAfterMs: number
}

export interface Limiter {
  /** Counts the request against every quota when all admit it, and against none when one refuses. Never rejects. */
  admit(quotas: readonly Quota[]): Admission | Promise<Admission>
  /** `degraded`: the shared counts are out of reach and each instance counts its share for itself. */
  state(): 'ok' | 'degraded'
  close(): Promise<void>
}

/** What should keep shared counts answers, but can't keep them: the message says what to set. */
export class UnusableCounts extends Error {}

/** Why shared counts are out of reach, for a reader of the log. */
export function whyLost(cause: unknown): string {
  if (cause instanceof UnusableCounts) return cause.message
  const isRefused = cause instanceof Error && /^(?:NOAUTH|WRONGPASS) /.test(cause.message)
  return isRefused ? 'Redis refuses the user or the password of REDIS_URL' : 'Redis does not answer'
}
