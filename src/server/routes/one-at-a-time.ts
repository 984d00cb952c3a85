/**
 * Runs work with the same name one at a time within this process: the second work is refused (`InFlight`) or waits
 * (`Queues`).
 */
import { Problem } from '../../base/problems/problem.ts'

export class InFlight {
  readonly #names = new Set<string>()

  /** Throws Problem idempotency-in-flight while work of the same name runs, or what the work throws. */
  async only<T>(name: string, work: () => Promise<T>): Promise<T> {
    if (this.#names.has(name)) throw inFlight()
    this.#names.add(name)
    try {
      return await work()
    } finally {
      this.#names.delete(name)
    }
  }
}

/** First come, first served. */
export class Queues {
  /** The last work that was added, by name. */
  readonly #last = new Map<string, Promise<unknown>>()

  /** Starts the work when all earlier work of this name has ended. Resolves and rejects as the work does. */
  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name) ?? Promise.resolve()
    const turn = before.then(work, work)
    this.#last.set(name, turn)
    try {
      return await turn
    } finally {
      if (this.#last.get(name) === turn) this.#last.delete(name)
    }
  }
}

function inFlight(): Problem {
  const detail = 'The first request with this idempotency key is not answered yet; repeat it later.'
  return new Problem('idempotency-in-flight', detail, { headers: { 'Retry-After': '1' } })
}
