/**
 * The work of statements that may look at many rows: each row that they look at is a step, and a step can end the
 * statement. SQLite's driver has no other way to end one.
 */
import type { DatabaseSync } from 'node:sqlite'
import { NumbersSeen } from '../../lists/numbers-seen.ts'

/** A call takes longer than a row of an index, so one row of so many makes as many steps at once. */
const AT_ONCE = 16

/**
 * A term of `where` that is true, and a step for each row. The rows that make the steps are chosen by bits of a product
 * that look random (Knuth's multiplicative hash), so that no order of the rows avoids them.
 */
export function stepOfRow(prefix: string): string {
  return `((${prefix}rowid * 2654435769 >> 28) & ${AT_ONCE - 1} or sallyport_step(${AT_ONCE}))`
}

/** A step for each element of a list; `element`: its table. SQLite calls it for each, as it isn't deterministic. */
export function stepOfElement(element: string): string {
  return `sallyport_step(1 + 0 * ${element}.id)`
}

/** An argument of `count`: called for each row that is counted. */
export const FOUND = 'sallyport_found()'

export interface WorkBound {
  readonly ms?: number
  readonly steps?: number
  readonly isStopped?: () => boolean
}

/** A statement has taken more steps, or more time, than its bound. */
export class PastBound extends Error {
  readonly of: 'steps' | 'time'

  constructor(of: 'steps' | 'time') {
    super('the statement is past its bound')
    this.name = 'PastBound'
    this.of = of
  }
}

const ALL = new WeakMap<DatabaseSync, BoundedWork>()

export function workOf(database: DatabaseSync): BoundedWork {
  return ALL.getOrInsertComputed(database, () => new BoundedWork(database))
}

class BoundedWork {
  /** The rows that statements have counted, also those that ended before their end. */
  found = 0
  #left = Number.POSITIVE_INFINITY
  #until = Number.POSITIVE_INFINITY
  #isStopped: (() => boolean) | undefined

  constructor(database: DatabaseSync) {
    database.function('sallyport_step', (steps) => this.step(Number(steps)))
    database.aggregate('sallyport_numbers', {
      // The types of Node say that such a state is a value of SQL; it may be anything.
      start: () => new NumbersSeen() as never,
      step: (seen, value) => (seen as unknown as NumbersSeen).add(value) as never,
      result: (seen) => JSON.stringify((seen as unknown as NumbersSeen).found),
    })
    database.function('sallyport_found', () => {
      this.found += 1
      return 1
    })
  }

  /** Runs statements within the bound, and within those around it. Throws PastBound, and what the work throws. */
  within<T>({ ms, steps, isStopped }: WorkBound, work: () => T): T {
    const [left, until, wasStopped] = [this.#left, this.#until, this.#isStopped]
    if (steps !== undefined) this.#left = Math.min(left, steps)
    if (ms !== undefined) this.#until = Math.min(until, performance.now() + ms)
    this.#isStopped = isStopped ?? wasStopped
    try {
      return work()
    } finally {
      this.#left = left
      this.#until = until
      this.#isStopped = wasStopped
    }
  }

  /** Throws PastBound. */
  step(steps = 1): 1 {
    this.#left -= steps
    if (this.#left < 0) throw new PastBound('steps')
    if (this.#until < Number.POSITIVE_INFINITY && performance.now() >= this.#until) throw new PastBound('time')
    if (this.#isStopped?.()) throw new PastBound('time')
    return 1
  }
}
