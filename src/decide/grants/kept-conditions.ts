/**
 * The conditions of lists that a snapshot keeps, of all its tables together: those asked for last. What callers compare
 * may be told by somebody else, and so be ever new and long.
 */
import { LRUCache } from 'lru-cache'
import type { Condition } from '../conditions/condition.ts'

/** In characters of the keys; with the conditions, some tens of megabytes at most. */
const MOST_KEPT = 8_000_000
const LONGEST_KEPT = 4096

/** A condition takes this much memory at least, so that 20,000 of them are kept at most. */
const LEAST = 400

export class KeptConditions {
  #tables = 0
  readonly #kept = new LRUCache<string, Condition>({
    // A cache with `max` would allocate its memory at once, and tools make many snapshots.
    maxSize: MOST_KEPT,
    maxEntrySize: LONGEST_KEPT,
    sizeCalculation: (_, key) => Math.max(LEAST, key.length),
  })

  /** A place of its own for a table, whose keys are those of no other. */
  ofTable(): (key: string, make: () => Condition) => Condition {
    this.#tables += 1
    const table = this.#tables
    return (key, make) => {
      const whole = `${table} ${key}`
      const known = this.#kept.get(whole)
      if (known) return known
      const made = make()
      this.#kept.set(whole, made)
      return made
    }
  }

  /** In characters of the keys, as they are counted. */
  get size(): number {
    return this.#kept.calculatedSize
  }
}
