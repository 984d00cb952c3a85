/** Failed sign-ins in a store: counters by key, shared by all instances and kept over a restart. */

export interface Counter {
  readonly failures: number
  /** The time of the last failure; milliseconds since the epoch. */
  readonly at: number
  /** The counter ends at this time. */
  readonly expiresAt: number
}

export type Counters = ReadonlyMap<string, Counter>

export interface JudgedAttempts<T> {
  readonly verdict: T
  /** The new values of counters; undefined deletes a counter, an absent key doesn't change one. */
  readonly changes?: ReadonlyMap<string, Counter | undefined>
}

/** Throws StoreUnavailable. */
export interface Attempts {
  /**
   * One transaction: `judge` gets the counters that exist, and returns their new values. It may be called more than
   * once. Keys are opaque.
   */
  count<T>(keys: readonly string[], judge: (counters: Counters) => JudgedAttempts<T>): Promise<T>
}
