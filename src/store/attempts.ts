/** What a store keeps of sign-ins that failed: counters by key, shared by all instances and kept over a restart. */

export interface Counter {
  readonly failures: number
  /** Of the last one; milliseconds since the epoch. */
  readonly at: number
  /** From then on there is no such counter. */
  readonly expiresAt: number
}

export type Counters = ReadonlyMap<string, Counter>

export interface JudgedAttempts<T> {
  readonly verdict: T
  /** Counters that take the place of those there; undefined for one that goes. Absent: nothing changes. */
  readonly changes?: ReadonlyMap<string, Counter | undefined>
}

/** Throws StoreUnavailable. */
export interface Attempts {
  /**
   * One transaction: `judge` is shown those of the counters that are there, and says what becomes of them. It may be called
   * more than once. Keys are opaque.
   */
  count<T>(keys: readonly string[], judge: (counters: Counters) => JudgedAttempts<T>): Promise<T>
}
