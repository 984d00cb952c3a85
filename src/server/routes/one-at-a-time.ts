/**
 * Work that has a name, one at a time within this process: what comes second is refused (`InFlight`) or waits
 * (`Queues`).
 */
import { Problem } from '../../base/problems/problem.ts'

export class InFlight {
  readonly #names = new Set<string>()

  /** Throws Problem idempotency-in-flight while the same name is at work, or what the work throws. */
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
  /** By the name: the work that was the last to come. */
  readonly #last = new Map<string, Promise<unknown>>()

  /** Resolves and rejects as the work does, which begins when all work of this name that came before has ended. */
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
