/** The bounds of lists and counts that may look at many objects (docs/decisions/0091). */
import type { Most } from '../../base/under-way.ts'

export interface ReadBounds {
  /** How long an engine may hold up the thread that answers requests, before it reads on beside it. */
  readonly hereMs: number
  /**
   * A list by related objects is read in the order of an index for so long, and then the other way (PostgreSQL). Of a
   * table with more than `sortedSoon` objects, the other way may take seconds, so the order has four times as long.
   */
  readonly inOrderMs: number
  readonly sortedSoon: number
  /** A list that takes longer fails. */
  readonly listMs: number
  /** A count that takes longer says how many it has found so far. */
  readonly countMs: number
  /** SQLite: reads beside the thread, under way or waiting. PostgreSQL: pages that are read together. */
  readonly most: Most
}

export const READ_BOUNDS: ReadBounds = {
  hereMs: 5,
  inOrderMs: 60,
  sortedSoon: 400_000,
  listMs: 10_000,
  countMs: 2000,
  most: { ofCaller: 32, ofAll: 128 },
}

/**
 * The most objects that a climb may meet for one question, each as often as it is met: some 5 ms, so that ten of them at
 * a time keep nobody waiting for long. A climb by a field with one value meets eight at most; with lists, whoever fills
 * them decides.
 */
export const MOST_CLIMBED = 3000
