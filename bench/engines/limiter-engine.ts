/** What a limiter under measurement is given and gives back; the peers' `limiters.mjs --extra` has the same form. */

export interface LimiterOptions {
  /** Of Redis on this machine. */
  readonly port: number
  /** Requests that a window admits. */
  readonly points: number
  /** Of the window, in seconds. */
  readonly duration: number
  readonly prefix: string
}

export interface LimiterEngine {
  /** `at`: when it was admitted, in microseconds; by Redis's clock where the limiter tells, else when the answer came. */
  consume(key: string): Promise<{ readonly ok: boolean; readonly at: number }>
  close(): void
}

export type CreateLimiter = (options: LimiterOptions) => Promise<LimiterEngine>
